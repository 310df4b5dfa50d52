"""The loss of queries against every candidate, with the gradients of both: three products and one visit to the scores.

    scores = queries · tableᵀ      slopes = ∂loss/∂scores (in place)
    ∂loss/∂queries = slopes · table      ∂loss/∂table = slopesᵀ · queries

The products run in the dtype of what is given (bf16 operands, fp32 sums inside). When the scores of all queries need
more than the memory that is set, blocks of queries are worked on in turn: the score matrix is never stored whole.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from bique.kernels.score_slopes import Loss, score_slopes_
from bique.shapes import Float, Int


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


@torch.no_grad()
def all_candidates(
    queries: Float[Tensor, "queries width"],
    table: Float[Tensor, "rows width"],
    targets: Int[Tensor, "queries"],
    weights: Float[Tensor, "queries"],
    *,
    candidates: int,
    loss: Loss = "softmax",
    smoothing: float = 0.0,
    memory: int = 4 << 30,
    beside: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> AllCandidates:
    """Rows of the table from `candidates` on are padding. See `score_slopes` for the losses."""
    block = max(1, memory // (len(table) * table.element_size()))
    if block >= len(queries):
        return _whole(queries, table, targets, weights, candidates, loss, smoothing, beside)
    losses, to_queries = torch.empty_like(weights), torch.empty_like(queries)
    to_table = torch.zeros_like(table, dtype=torch.promote_types(table.dtype, torch.float32))
    for start in range(0, len(queries), block):
        part = slice(start, start + block)
        one = _whole(queries[part], table, targets[part], weights[part], candidates, loss, smoothing, nullcontext)
        losses[part], to_queries[part] = one.losses, one.queries
        to_table += one.table
    return AllCandidates(losses, to_queries, to_table, None)


def _whole(
    queries: Tensor,
    table: Tensor,
    targets: Tensor,
    weights: Tensor,
    candidates: int,
    loss: Loss,
    smoothing: float,
    beside: Callable[[], AbstractContextManager[object]],
) -> AllCandidates:
    slopes = queries @ table.T
    losses = score_slopes_(slopes, targets, weights, candidates, loss, smoothing)
    with beside():
        to_table = slopes.T @ queries
    return AllCandidates(losses, slopes @ table, to_table, slopes)
