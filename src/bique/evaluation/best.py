"""The best answers of a question, streamed over tiles: what a predictor shows, and what a report shows of a run."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.errors import DivergedError
from bique.evaluation.ranking import Scorer, score_tiles
from bique.kernels.precision import products_in
from bique.shapes import Float, Int

MEMORY = 256 << 20


@torch.no_grad()
def best_entities(
    scorer: Scorer, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"], count: int
) -> tuple[Int[Tensor, "batch best"], Float[Tensor, "batch best"], Float[Tensor, "batch"]]:
    """Ids and scores of each query's best entities, and its logsumexp over all; at most a block of queries.

    The products are those of a ranking, so that answers stand in the order of their ranks.
    """
    ids: list[Tensor] = []
    scores: list[Tensor] = []
    sums: list[Tensor] = []
    with products_in("fp32", scorer.device):
        for start, tile in score_tiles(scorer, scorer.query(heads, relations), MEMORY):
            refuse_if_not_finite(tile)
            best = tile.topk(min(count, tile.shape[1]), dim=1)
            ids.append(best.indices + start)
            scores.append(best.values)
            sums.append(tile.logsumexp(1))
    every_id, every_score = torch.cat(ids, dim=1), torch.cat(scores, dim=1)
    order = torch.argsort(every_score, dim=1, descending=True, stable=True)[:, :count]
    best_ids, best_scores = every_id.gather(1, order), every_score.gather(1, order)
    return best_ids.cpu(), best_scores.cpu(), torch.stack(sums).logsumexp(0).cpu()


def refuse_if_not_finite(scores: Tensor) -> None:
    if not bool(torch.isfinite(scores).all()):
        raise DivergedError("the model gives a score that is not a finite number, so it cannot answer")
