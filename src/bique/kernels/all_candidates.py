"""The loss of queries against every candidate, with the gradients of both: three products and one visit to the scores.

    scores = queries · tableᵀ      slopes = ∂loss/∂scores
    ∂loss/∂queries = slopes · table      ∂loss/∂table = slopesᵀ · queries

Scores and sums are float32, whatever is multiplied. Scores exist for a few queries at a time; when the slopes of all
queries need more than the memory that is set, they are worked on in blocks, too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from bique.kernels.score_slopes import Labels, Loss, score_slopes
from bique.shapes import Float, Int

# of the float32 scores that exist at one time, in bytes
SCORES = 256 << 20
# torch.mm can give a float32 result of bf16 operands on CUDA since 2.8
MM_HAS_OUT_DTYPE = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 8)


class AllCandidates(NamedTuple):
    """`table` is made inside the context `beside`: whoever gave one joins it before reading."""

    losses: Float[Tensor, "queries"]
    """Of each query, its weight in it."""
    queries: Float[Tensor, "queries width"]
    """Gradient of their sum."""
    table: Float[Tensor, "rows width"]
    """Gradient of their sum."""
    slopes: Float[Tensor, "queries rows"] | None
    """Kept, so that their memory is not given to others while `table` is being made."""


class Positives(NamedTuple):
    """Targets of queries that have many: the row of the query, the candidate, and 1. Pairs that fill up to a fixed
    number repeat others and have 0 there."""

    rows: Int[Tensor, "pairs"]
    columns: Int[Tensor, "pairs"]
    valid: Float[Tensor, "pairs"]

    def within(self, part: slice) -> Positives:
        """Of some of the queries. Their number is not known beforehand: a captured step has all queries at once."""
        inside = (self.rows >= part.start) & (self.rows < part.stop)
        return Positives(self.rows[inside] - part.start, self.columns[inside], self.valid[inside])


@torch.no_grad()
def all_candidates(
    queries: Float[Tensor, "queries width"],
    table: Float[Tensor, "rows width"],
    targets: Int[Tensor, "queries"] | Positives,
    weights: Float[Tensor, "queries"],
    *,
    candidates: int,
    loss: Loss = "softmax",
    labels: Labels = Labels(),
    slopes_in: torch.dtype | None = None,
    memory: int = 4 << 30,
    beside: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> AllCandidates:
    """Rows of the table from `candidates` on are padding. See `score_slopes` for the losses; in a softmax, many targets
    of a query share its label. Slopes, and what is multiplied with them, have the dtype of the table or `slopes_in`."""
    slopes_in = slopes_in or table.dtype
    block = max(1, memory // (len(table) * slopes_in.itemsize))
    if block >= len(queries):
        return _whole(queries, table, targets, weights, candidates, loss, labels, slopes_in, beside)
    losses = torch.empty_like(weights)
    to_queries, to_table = (torch.zeros_like(one, dtype=_exact(one.dtype)) for one in (queries, table))
    for part in _parts(len(queries), block):
        mine = queries[part], table, _of(targets, part), weights[part]
        one = _whole(*mine, candidates, loss, labels, slopes_in, nullcontext)
        losses[part], to_queries[part] = one.losses, one.queries
        to_table += one.table
    return AllCandidates(losses, to_queries, to_table, None)


def _whole(
    queries: Tensor,
    table: Tensor,
    targets: Tensor | Positives,
    weights: Tensor,
    candidates: int,
    loss: Loss,
    labels: Labels,
    slopes_in: torch.dtype,
    beside: Callable[[], AbstractContextManager[object]],
) -> AllCandidates:
    slopes = torch.empty(len(queries), len(table), dtype=slopes_in, device=table.device)
    losses = torch.empty_like(weights)
    parts = _parts(len(queries), max(1, SCORES // (4 * len(table))))
    for part in parts:
        scores = exact_product(queries[part], table.T)
        mine = targets if len(parts) == 1 else _of(targets, part)
        if isinstance(mine, Positives):
            losses[part] = _many_targets(scores, mine, weights[part], candidates, loss, labels, slopes[part])
        else:
            losses[part] = score_slopes(scores, mine, weights[part], candidates, loss, labels, slopes[part])
    with beside():
        to_table = slopes.T @ queries.to(slopes_in)
    to_queries = exact_product(slopes, table) if slopes_in == table.dtype else slopes @ table.to(slopes_in)
    return AllCandidates(losses, to_queries.to(_exact(table.dtype)), to_table, slopes)


def _many_targets(
    scores: Tensor, targets: Positives, weights: Tensor, candidates: int, loss: Loss, labels: Labels, slopes: Tensor
) -> Tensor:
    """What every score gives, then the targets' own slopes in its place: a difference of rounded ones would vanish."""
    rows, columns, valid = targets
    score, weight = scores[rows, columns], weights[rows]
    if loss == "softmax":
        count = torch.zeros_like(weights).index_add_(0, rows, valid.to(weights.dtype))
        hit = labels.hit / count[rows]
        likely = torch.exp(score - scores[:, :candidates].logsumexp(1)[rows])
    else:
        hit, likely = labels.hit, torch.sigmoid(score)
    slope = weight * (likely - labels.share - hit)
    losses = score_slopes(scores, None, weights, candidates, loss, labels, slopes)
    slopes.index_put_((rows, columns), slope.to(slopes.dtype))
    return losses.index_add(0, rows, -(weight * valid * hit * score).to(losses.dtype))


def _of(targets: Tensor | Positives, part: slice) -> Tensor | Positives:
    return targets.within(part) if isinstance(targets, Positives) else targets[part]


def exact_product(a: Float[Tensor, "n k"], b: Float[Tensor, "k m"]) -> Float[Tensor, "n m"]:
    """Operands as they are, sums and result in float32 at least: a score rounded to bf16 is off by up to 0.03."""
    if a.dtype == _exact(a.dtype):
        return a @ b
    if a.device.type == "cuda" and MM_HAS_OUT_DTYPE:
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()


def _exact(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def _parts(count: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
