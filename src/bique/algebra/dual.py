"""Dual quaternions a + εb with ε² = 0: tensors (…, 8, units), the four coefficients of a, then those of b."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.algebra.biquaternion import multiply
from bique.shapes import Float


def multiply_dual(p: Float[Tensor, "*#n 8 #units"], q: Float[Tensor, "*#n 8 #units"]) -> Float[Tensor, "*#n 8 #units"]:
    """(a + εb)(c + εd) = ac + ε(ad + bc)."""
    a, b = p[..., :4, :], p[..., 4:, :]
    c, d = q[..., :4, :], q[..., 4:, :]
    return torch.cat((multiply(a, c), multiply(a, d) + multiply(b, c)), dim=-2)


def normalise_dual(q: Float[Tensor, "*n 8 units"]) -> Float[Tensor, "*n 8 units"]:
    """The real part of length 1, the dual part orthogonal to it: a rigid motion. An all-zero real part stays zero."""
    a, b = q[..., :4, :], q[..., 4:, :]
    square = a.square().sum(-2, keepdim=True)
    safe = torch.where(square == 0, 1, square)
    return torch.cat((a / safe.sqrt(), b - (a * b).sum(-2, keepdim=True) / safe * a), dim=-2)
