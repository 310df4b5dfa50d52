"""Givens rotations and reflections: each pair (x, y) of neighbouring numbers is turned or mirrored by its own angle.

An angle is given by a vector of any length that points there: made a unit vector, it is (cosine, sine). The vector
(0, 0), which points nowhere, makes its pair (0, 0).
"""

from __future__ import annotations

import torch
from torch import Tensor

from bique.shapes import Float


def rotate(vector: Float[Tensor, "*n units"], towards: Float[Tensor, "*n units"]) -> Float[Tensor, "*n units"]:
    """(x cos θ − y sin θ, x sin θ + y cos θ)."""
    x, y = _pairs(vector).unbind(-1)
    cosine, sine = _cosine_and_sine(towards)
    return torch.stack((cosine * x - sine * y, sine * x + cosine * y), dim=-1).flatten(-2)


def reflect(vector: Float[Tensor, "*n units"], towards: Float[Tensor, "*n units"]) -> Float[Tensor, "*n units"]:
    """(x cos φ + y sin φ, x sin φ − y cos φ): the mirror stands at φ/2."""
    x, y = _pairs(vector).unbind(-1)
    cosine, sine = _cosine_and_sine(towards)
    return torch.stack((cosine * x + sine * y, sine * x - cosine * y), dim=-1).flatten(-2)


def _pairs(vector: Float[Tensor, "*n units"]) -> Float[Tensor, "*n pairs 2"]:
    return vector.reshape(*vector.shape[:-1], vector.shape[-1] // 2, 2)


def _cosine_and_sine(towards: Tensor) -> tuple[Tensor, Tensor]:
    pairs = _pairs(towards)
    cosine, sine = (pairs / pairs.square().sum(-1, keepdim=True).clamp(min=1e-15).sqrt()).unbind(-1)
    return cosine, sine
