"""Dropout, of single numbers."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from bique.shapes import Float

# a number is dropped by 16 random bits, so that its share is the nearest one of these
SHARES = 1 << 16


def dropout(values: Float[Tensor, "*shape"], share: float, training: bool) -> Float[Tensor, "*shape"]:
    """functional.dropout; on a CPU, where torch draws a whole number for each, four share 64 bits (LOG.md)."""
    if not training or share == 0 or values.device.type != "cpu":
        return functional.dropout(values, share, training)
    return values * _kept(values, share)


@torch.no_grad()
def _kept(values: Tensor, share: float) -> Tensor:
    """0 for what is dropped; else what keeps the mean."""
    dropped = min(round(share * SHARES), SHARES - 1)
    bits = torch.empty(-(-values.numel() // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
    kept = torch.empty(values.shape, dtype=values.dtype)
    torch.ge(bits[: values.numel()].view(values.shape), dropped - SHARES // 2, out=kept)
    return kept.mul_(SHARES / (SHARES - dropped))
