"""Dual quaternions a + εb with ε² = 0: tensors (…, 8, units), the four coefficients of a, then those of b."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.algebra.biquaternion import multiply
from bique.algebra.normalise import normalise_vector
from bique.shapes import Float


def multiply_dual(p: Float[Tensor, "*#n 8 #units"], q: Float[Tensor, "*#n 8 #units"]) -> Float[Tensor, "*#n 8 #units"]:
    """(a + εb)(c + εd) = ac + ε(ad + bc)."""
    a, b = p[..., :4, :], p[..., 4:, :]
    c, d = q[..., :4, :], q[..., 4:, :]
    return torch.cat((multiply(a, c), multiply(a, d) + multiply(b, c)), dim=-2)


def normalise_dual(q: Float[Tensor, "*n 8 units"]) -> Float[Tensor, "*n 8 units"]:
    """The real part of length 1, the dual part orthogonal to it: a rigid motion. An all-zero real part becomes 1.

    By the direction of a, never by |a|²: a penalty makes units as small as 1e-20, where the slope of b/|a|² overflows.
    """
    a, b = normalise_vector(q[..., :4, :]), q[..., 4:, :]
    return torch.cat((a, b - (a * b).sum(-2, keepdim=True) * a), dim=-2)
