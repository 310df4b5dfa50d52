"""Powers of two, taken out before anything is squared: 1e30 and 1e-30 then survive float32 without rounding."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bique.shapes import Float, Inexact


def take_out_scale(
    q: Inexact[Tensor, "*n coefficients units"],
) -> tuple[Inexact[Tensor, "*n coefficients units"], Float[Tensor, "*n units"]]:
    """(p, s) with q = s·p, where s is a power of two and the largest real or imaginary part in p is in [½, 1).

    A zero column has s = 1; only within a few powers of two of the dtype's limits is p larger or smaller. s is a
    constant for autograd.
    """
    largest = _largest_part(q.detach())
    # 2^-limit is the smallest normal number, so both s and 1/s are exact
    limit = 1 - math.frexp(torch.finfo(q.dtype).tiny)[1]
    exponent = torch.frexp(largest).exponent.clamp(-limit, limit)
    one = torch.ones_like(largest)
    return q * torch.ldexp(one, -exponent).unsqueeze(-2), torch.ldexp(one, exponent)


def _largest_part(q: Inexact[Tensor, "*n coefficients units"]) -> Float[Tensor, "*n units"]:
    if not q.is_complex():
        return q.abs().amax(-2)
    # not |q|: the modulus of a complex number overflows before its parts do
    return torch.maximum(q.real.abs(), q.imag.abs()).amax(-2)
