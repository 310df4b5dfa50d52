"""Gradients of looked-up rows, summed over the rows that were looked up more than once, always in the same order."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from bique.kernels.backend import can_use_triton, jit, tl
from bique.shapes import Float, Int

# gradients read at once: what keeps a row that half the batch looked up from being summed one by one
AT_ONCE = 8
BLOCK = 512


class Lookups(NamedTuple):
    """Which rows a step looks up, sorted, so that those of one row lie together; one line per batch or several."""

    rows: Int[Tensor, "*batches lookups"]
    order: Int[Tensor, "*batches lookups"]
    """The place of each in the unsorted list."""
    ends: Int[Tensor, "*batches lookups"]
    """Where the run of its row ends."""


def sort_lookups(rows: Int[Tensor, "*batches lookups"]) -> Lookups:
    ordered, order = rows.sort(dim=-1, stable=True)
    ends = torch.searchsorted(ordered.contiguous(), ordered.contiguous(), right=True)
    return Lookups(ordered.int(), order.int(), ends.int())


class RowSums(NamedTuple):
    """`sums[place[row]]` is the gradient of a row, if `rows[place[row]]` is that row; otherwise it has none.

    So `place` never needs to be cleared: what former steps left there points at a row that is not meant.
    """

    sums: Float[Tensor, "lookups width"]
    rows: Int[Tensor, "lookups"]
    place: Int[Tensor, "num_rows"]

    def dense(self) -> Float[Tensor, "num_rows width"]:
        place = self.place.long()
        inside = place < len(self.rows)  # a former, longer batch may have left a place beyond the end
        place = torch.where(inside, place, 0)
        meant = inside & (self.rows[place] == torch.arange(len(place), device=place.device))
        found = self.sums[place]
        return torch.where(meant[:, None], found, torch.zeros_like(found))


@torch.no_grad()
def sum_rows(gradients: Float[Tensor, "lookups width"], lookups: Lookups, place: Int[Tensor, "num_rows"]) -> RowSums:
    """`place` is written where a row was looked up; it may hold the places of former steps, and at first zeros."""
    if not can_use_triton(gradients.device):
        return sum_rows_plain(gradients, lookups, place)
    gradients = gradients.contiguous()  # the kernel reads it as it lies in memory
    sums = torch.empty_like(gradients)
    count, width = gradients.shape
    block = min(BLOCK, 1 << (width - 1).bit_length())
    _sum_rows[(count, -(-width // block))](
        gradients, lookups.rows, lookups.order, lookups.ends, sums, place, width, AT_ONCE=AT_ONCE, BLOCK=block
    )
    return RowSums(sums, lookups.rows, place)


def sum_rows_plain(gradients: Tensor, lookups: Lookups, place: Tensor) -> RowSums:
    first = torch.searchsorted(lookups.rows, lookups.rows)
    sums = torch.zeros_like(gradients).index_add_(0, first, gradients[lookups.order.long()])
    place[lookups.rows.long()] = first.int()
    return RowSums(sums, lookups.rows, place)


@jit
def _sum_rows(gradients, rows, order, ends, sums, place, width, AT_ONCE: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0)
    row = tl.load(rows + first)
    before = tl.load(rows + first - 1, mask=first > 0, other=-1)
    if row != before:
        columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        inside = columns < width
        end = tl.load(ends + first)
        total = tl.zeros([BLOCK], tl.float32)
        for start in range(first, end, AT_ONCE):
            lookup = start + tl.arange(0, AT_ONCE)
            source = tl.load(order + lookup, mask=lookup < end, other=0).to(tl.int64)
            chosen = (lookup < end)[:, None] & inside[None, :]
            total += tl.sum(tl.load(gradients + source[:, None] * width + columns[None, :], mask=chosen, other=0.0), 0)
        tl.store(sums + first.to(tl.int64) * width + columns, total, mask=inside)
        tl.store(place + row, first)
