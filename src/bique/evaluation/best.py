"""The best answers of a question, streamed over tiles: what a predictor shows, and what a report shows of a run."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.errors import DivergedError
from bique.evaluation.ranking import Scorer, make_queries, score_tiles
from bique.kernels.precision import products_in
from bique.shapes import Float, Int

MEMORY = 256 << 20


@torch.no_grad()
def best_entities(
    scorer: Scorer, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"], count: int
) -> tuple[Int[Tensor, "batch best"], Float[Tensor, "batch best"], Float[Tensor, "batch"]]:
    """Ids and scores of each query's best entities, and its logsumexp over all; at most a block of queries.

    The products are those of a ranking, so that answers stand in the order of their ranks. Equal ones stand by id,
    so that neither `count` nor the other queries have a say in it.
    """
    ids: list[Tensor] = []
    scores: list[Tensor] = []
    sums: list[Tensor] = []
    with products_in("fp32", scorer.device):
        for start, tile in score_tiles(scorer, make_queries(scorer, heads, relations), MEMORY):
            refuse_if_not_finite(tile)
            best = _best_of(tile, min(count, tile.shape[1]))
            ids.append(best + start)
            scores.append(tile.gather(1, best))
            sums.append(tile.logsumexp(1))
    every_id, every_score = torch.cat(ids, dim=1), torch.cat(scores, dim=1)
    order = torch.argsort(every_score, dim=1, descending=True, stable=True)[:, :count]
    best_ids, best_scores = every_id.gather(1, order), every_score.gather(1, order)
    return best_ids.cpu(), best_scores.cpu(), torch.stack(sums).logsumexp(0).cpu()


def _best_of(scores: Float[Tensor, "batch tile"], count: int) -> Int[Tensor, "batch count"]:
    """Columns of the best scores, in the order of the columns."""
    best = scores.topk(count, dim=1)
    columns = best.indices
    # topk takes any of those that are as good as its last
    tied = (scores >= best.values[:, -1:]).sum(1) > count
    if bool(tied.any()):
        columns[tied] = scores[tied].sort(dim=1, descending=True, stable=True).indices[:, :count]
    return columns.sort(dim=1).values


def refuse_if_not_finite(scores: Tensor) -> None:
    if not bool(torch.isfinite(scores).all()):
        raise DivergedError("the model gives a score that is not a finite number, so it cannot answer")
