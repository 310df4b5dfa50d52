"""The Poincaré ball of curvature −c: points x with c·|x|² < 1, added by Möbius addition.

What a model needs against all candidates is written with inner products alone: one matrix product, then element by
element.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bique.shapes import Float

# points are kept this far inside the ball, where float32 can still tell them apart
EDGE = 1e-5
TINY = 1e-15


def mobius_add(
    x: Float[Tensor, "*#n width"], y: Float[Tensor, "*#n width"], c: Float[Tensor, "*#n 1"]
) -> Float[Tensor, "*#n width"]:
    """x ⊕ y, which is neither commutative nor associative; −x ⊕ (x ⊕ y) = y."""
    x2, y2, xy = x.square().sum(-1, keepdim=True), y.square().sum(-1, keepdim=True), (x * y).sum(-1, keepdim=True)
    above = (1 + 2 * c * xy + c * y2) * x + (1 - c * x2) * y
    return above / (1 + 2 * c * xy + c * c * x2 * y2).clamp(min=TINY)


def exp0(v: Float[Tensor, "*#n width"], c: Float[Tensor, "*#n 1"]) -> Float[Tensor, "*#n width"]:
    """The point reached from 0 along v: tanh(√c|v|) v / (√c|v|)."""
    length = _length(v) * c.sqrt()
    return v * (torch.tanh(length) / length)


def log0(x: Float[Tensor, "*#n width"], c: Float[Tensor, "*#n 1"]) -> Float[Tensor, "*#n width"]:
    """The inverse of `exp0`."""
    length = _length(x) * c.sqrt()
    return x * (torch.atanh(length.clamp(max=1 - EDGE)) / length)


def into_ball(x: Float[Tensor, "*#n width"], c: Float[Tensor, "*#n 1"]) -> Float[Tensor, "*#n width"]:
    """Rounding may put a point onto the edge, where distances are infinite."""
    limit = (1 - EDGE) / c.sqrt()
    length = _length(x)
    return torch.where(length > limit, x / length * limit, x)


def distance(
    x: Float[Tensor, "*#n width"], y: Float[Tensor, "*#n width"], c: Float[Tensor, "*#n 1"]
) -> Float[Tensor, "*#n"]:
    """2/√c · artanh(√c |−x ⊕ y|)."""
    x2, y2, xy = x.square().sum(-1), y.square().sum(-1), (x * y).sum(-1)
    return distance_from_dots(x2, y2, xy, c[..., 0])


def distance_from_dots(
    x2: Float[Tensor, "*#n"], y2: Float[Tensor, "*#n"], xy: Float[Tensor, "*#n"], c: Float[Tensor, "*#n"]
) -> Float[Tensor, "*#n"]:
    """The distance of x and y from |x|², |y|² and ⟨x, y⟩."""
    square = (x2 - 2 * xy + y2) / (1 - 2 * c * xy + c * c * x2 * y2).clamp(min=TINY)
    length = (c * square).clamp(min=TINY).sqrt()
    return 2 / c.sqrt() * torch.atanh(length.clamp(max=1 - EDGE))


def _length(v: Tensor) -> Tensor:
    """|v|, never 0: the ratios above have the limit 1 there, and a gradient."""
    return v.square().sum(-1, keepdim=True).clamp(min=TINY).sqrt()
