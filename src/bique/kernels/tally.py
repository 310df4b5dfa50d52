"""A running sum of losses that stays on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.kernels.backend import can_use_triton, jit, tl
from bique.shapes import Float


@torch.no_grad()
def tally_(
    total: Float[Tensor, "1"],
    losses: Float[Tensor, "batch"],
    penalties: Float[Tensor, "batch"],
    size: Float[Tensor, "1"],
) -> None:
    """total += size · Σ (losses + penalties), in float64."""
    if not can_use_triton(total.device):
        total += size * (losses.double() + penalties).sum()
        return
    _tally[(1,)](total, losses, penalties, size, len(losses), BLOCK=1024)


@jit
def _tally(total, losses, penalties, size, count, BLOCK: tl.constexpr):
    found = tl.zeros([BLOCK], tl.float64)
    for start in range(0, count, BLOCK):
        place = start + tl.arange(0, BLOCK)
        found += tl.load(losses + place, mask=place < count, other=0.0).to(tl.float64)
        found += tl.load(penalties + place, mask=place < count, other=0.0).to(tl.float64)
    tl.store(total, tl.load(total) + tl.sum(found, 0) * tl.load(size).to(tl.float64))
