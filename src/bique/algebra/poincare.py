"""The Poincaré ball of curvature −c: points x with c·|x|² < 1, added by Möbius addition.

What a model needs against all candidates is written with inner products alone: one matrix product, then element by
element.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bique.shapes import Float

TINY = 1e-15


def edge(values: Tensor) -> float:
    """How far inside the ball points are kept: near its edge a dtype cannot tell them apart."""
    return 1e-5 if values.dtype == torch.float64 else 4e-3


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
    return x * (torch.atanh(length.clamp(max=1 - edge(x))) / length)


def into_ball(x: Float[Tensor, "*#n width"], c: Float[Tensor, "*#n 1"]) -> Float[Tensor, "*#n width"]:
    """Rounding may put a point onto the edge, where distances are infinite."""
    limit = (1 - edge(x)) / c.sqrt()
    length = _length(x)
    return torch.where(length > limit, x / length * limit, x)


def distance(
    x: Float[Tensor, "*#n width"], y: Float[Tensor, "*#n width"], c: Float[Tensor, "*#n 1"]
) -> Float[Tensor, "*#n"]:
    """2/√c · artanh(√c |−x ⊕ y|), which is 2/√c · arsinh √(c|x − y|² / ((1 − c|x|²)(1 − c|y|²)))."""
    x2, y2, xy = x.square().sum(-1), y.square().sum(-1), (x * y).sum(-1)
    return distance_from_dots(x2, y2, xy, c[..., 0])


def distance_from_dots(
    x2: Float[Tensor, "*#n"], y2: Float[Tensor, "*#n"], xy: Float[Tensor, "*#n"], c: Float[Tensor, "*#n"]
) -> Float[Tensor, "*#n"]:
    """The distance of x and y from |x|², |y|² and ⟨x, y⟩; by arsinh, as the other form cancels at the edge."""
    room = ((1 - c * x2) * (1 - c * y2)).clamp(min=edge(x2) ** 2)
    square = c * (x2 - 2 * xy + y2) / room
    return 2 / c.sqrt() * torch.asinh(square.clamp(min=TINY).sqrt())


def _length(v: Tensor) -> Tensor:
    """|v|, never 0: the ratios above have the limit 1 there, and a gradient."""
    return v.square().sum(-1, keepdim=True).clamp(min=TINY).sqrt()
