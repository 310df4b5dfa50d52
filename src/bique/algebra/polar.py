"""The polar form q = ‖q‖(cos θ + u sin θ), with a complex angle θ."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from bique.algebra.biquaternion import from_parts, is_null, norm, refuse, scalar_part, vector_norm, vector_part
from bique.algebra.scale import take_out_scale
from bique.shapes import Complex


class Polar(NamedTuple):
    """‖q‖, θ and the coefficients of u, where u² = -1."""

    norm: Complex[Tensor, "*n units"]
    angle: Complex[Tensor, "*n units"]
    axis: Complex[Tensor, "*n 3 units"]


def polar_form(q: Complex[Tensor, "*n 4 units"]) -> Polar:
    """θ = arccos(w/‖q‖) with Re θ in [0, π], and u = ±v(q)/‖v(q)‖ with the sign that gives q back.

    Where v(q) = 0 the axis is 0. There is no polar form when q is null, or when v(q) ≠ 0 is null (then sin θ = 0
    although v(q) is not, as in 1 + i + 𝐈j): ZeroDivisionError.
    """
    vector_is_lost = is_null(vector_part(q)) & (vector_norm(vector_part(q)) > 0)
    refuse(is_null(q) | vector_is_lost, "biquaternions have no polar form (q or v(q) has norm 0)")
    p, scale = take_out_scale(q)
    length, vector_length = norm(p), norm(vector_part(p))
    angle = _angle(scalar_part(p) / length, vector_length / length)
    sign = torch.where(angle.real < 0, -1, 1)
    has_axis = vector_length != 0
    axis = vector_part(p) / torch.where(has_axis, vector_length * sign, 1).unsqueeze(-2)
    return Polar(length * scale, angle * sign, axis)


def from_polar(
    norm: Complex[Tensor, "*n units"], angle: Complex[Tensor, "*n units"], axis: Complex[Tensor, "*n 3 units"]
) -> Complex[Tensor, "*n 4 units"]:
    """‖q‖(cos θ + u sin θ), so that `from_polar(*polar_form(q))` is q."""
    return from_parts(norm * angle.cos(), (norm * angle.sin()).unsqueeze(-2) * axis)


def _angle(cosine: Complex[Tensor, "*n units"], sine: Complex[Tensor, "*n units"]) -> Complex[Tensor, "*n units"]:
    """θ from its cosine and sine by e^{𝐈θ} = cos θ + 𝐈 sin θ, exact also near θ = 0 where arccos is not."""
    forward, backward = cosine + 1j * sine, cosine - 1j * sine
    # their product is 1: the larger of the two did not cancel
    grows = backward.abs() > forward.abs()
    turn = torch.where(grows, backward, forward).log()
    return torch.where(grows, 1j * turn, -1j * turn)
