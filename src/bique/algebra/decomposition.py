"""Theorem 4.1: a biquaternion is a scaling, a circular rotation and a hyperbolic rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bique.algebra.biquaternion import (
    basis_like,
    conjugate,
    from_parts,
    imaginary_part,
    is_null,
    multiply,
    norm,
    real_part,
    refuse,
    scalar_part,
    vector_norm,
    vector_part,
)
from bique.algebra.scale import take_out_scale
from bique.shapes import Bool, Complex, Float


@dataclass(frozen=True, eq=False)
class Decomposition:
    """q = ‖q‖·u·h = ‖q‖·h′·u, so M(q) = ‖q‖·M(h)M(u) = ‖q‖·M(u)M(h′); every field has one number per biquaternion.

    ‖q‖ is complex: it scales by `modulus` and turns the complex plane by `phase`. The axes are unit vectors, or zero
    where there is nothing to turn about: `circular_axis` where v(q_r) = 0, the hyperbolic ones where q_i = 0.
    Where `exists` is false q is null: it has no decomposition, and every other field is 0.
    """

    exists: Bool[Tensor, "*n units"]
    modulus: Float[Tensor, "*n units"]
    """|‖q‖|"""
    phase: Float[Tensor, "*n units"]
    """The argument of ‖q‖, in (-π/2, π/2]."""
    angle: Float[Tensor, "*n units"]
    """θ in [0, π]."""
    circular_axis: Float[Tensor, "*n 3 units"]
    """(x_r, y_r, z_r)/‖v(q_r)‖ of q/‖q‖."""
    rapidity: Float[Tensor, "*n units"]
    """φ ≥ 0."""
    hyperbolic_axis: Float[Tensor, "*n 3 units"]
    """(a, b, c), when M(u) comes first: M(q) = ‖q‖·M(h)M(u)."""
    hyperbolic_axis_first: Float[Tensor, "*n 3 units"]
    """(a′, b′, c′), when the hyperbolic rotation comes first: M(q) = ‖q‖·M(u)M(h′)."""

    @property
    def scale(self) -> Complex[Tensor, "*n units"]:
        """‖q‖."""
        return torch.polar(self.modulus, self.phase)

    @property
    def circular(self) -> Float[Tensor, "*n 4 units"]:
        """u = cos θ + (circular axis) sin θ, a unit quaternion."""
        return from_parts(self.angle.cos(), self.circular_axis * self.angle.sin().unsqueeze(-2))

    @property
    def hyperbolic(self) -> Complex[Tensor, "*n 4 units"]:
        """h = cosh φ + 𝐈(ai + bj + ck) sinh φ, a unit biquaternion."""
        return _hyperbolic(self.rapidity, self.hyperbolic_axis)

    @property
    def hyperbolic_first(self) -> Complex[Tensor, "*n 4 units"]:
        """h′ = cosh φ + 𝐈(a′i + b′j + c′k) sinh φ, a unit biquaternion."""
        return _hyperbolic(self.rapidity, self.hyperbolic_axis_first)

    def compose(self) -> Complex[Tensor, "*n 4 units"]:
        """‖q‖·u·h, which is q again (0 where q was null)."""
        return self.scale.unsqueeze(-2) * multiply(self.circular, self.hyperbolic)

    def compose_hyperbolic_first(self) -> Complex[Tensor, "*n 4 units"]:
        """‖q‖·h′·u, which is q again (0 where q was null)."""
        return self.scale.unsqueeze(-2) * multiply(self.hyperbolic_first, self.circular)


def decompose(q: Complex[Tensor, "*n 4 units"], null: Literal["raise", "mask"] = "raise") -> Decomposition:
    """Theorem 4.1 for any biquaternion but the null ones: ZeroDivisionError, or with null="mask" `exists` is false."""
    exists = ~is_null(q)
    if null != "mask":
        refuse(~exists, 'biquaternions are null (‖q‖ = 0) and have no decomposition; null="mask" leaves them out')
    # 1 stands in for a null element: its angle, phase, rapidity and axes are the zeros promised above
    p, power = take_out_scale(torch.where(exists.unsqueeze(-2), q, basis_like(q)[0]))
    length = norm(p)
    unit = p / length.unsqueeze(-2)
    q_r, q_i = real_part(unit), imaginary_part(unit)
    # these two are pure (Lemma A.2): what their scalar parts hold is rounding
    boost = vector_part(multiply(conjugate(q_r), q_i))
    boost_first = vector_part(multiply(q_i, conjugate(q_r)))
    return Decomposition(
        exists=exists,
        modulus=torch.where(exists, length.abs() * power, 0),
        phase=length.angle(),
        angle=torch.atan2(vector_norm(vector_part(q_r)), scalar_part(q_r)),
        circular_axis=_direction(vector_part(q_r)),
        # sinh φ = ‖q_i‖ also for a tiny φ, which arccosh ‖q_r‖ would lose
        rapidity=torch.asinh(vector_norm(boost) / vector_norm(q_r)),
        hyperbolic_axis=_direction(boost),
        hyperbolic_axis_first=_direction(boost_first),
    )


def _direction(vector: Float[Tensor, "*n 3 units"]) -> Float[Tensor, "*n 3 units"]:
    """vector/‖vector‖, or 0 for 0."""
    length = vector_norm(vector)
    return vector / torch.where(length == 0, 1, length).unsqueeze(-2)


def _hyperbolic(
    rapidity: Float[Tensor, "*n units"], axis: Float[Tensor, "*n 3 units"]
) -> Complex[Tensor, "*n 4 units"]:
    real = from_parts(rapidity.cosh(), torch.zeros_like(axis))
    imaginary = from_parts(torch.zeros_like(rapidity), axis * rapidity.sinh().unsqueeze(-2))
    return torch.complex(real, imaginary)
