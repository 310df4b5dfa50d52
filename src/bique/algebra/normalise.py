"""The two normalisations of Appendix C, with a finite answer and a finite gradient for every finite biquaternion."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bique.algebra.biquaternion import ROUNDINGS, basis_like, imaginary_part, multiply, real_part, vector_norm
from bique.algebra.scale import take_out_scale
from bique.shapes import Bool, Complex, Float, Inexact


def normalise_vector(q: Inexact[Tensor, "*n 4 units"]) -> Inexact[Tensor, "*n 4 units"]:
    """q / ‖q‖_v: the 8 reals (4 for a quaternion) of every unit get length 1. Zero becomes 1, with gradient 0.

    Zero is what is so short (1e-36 in float32, 1e-306 in float64) that the slope 1/‖q‖_v would overflow.
    """
    zero = _is_shorter(q, 64 * torch.finfo(q.dtype).tiny)
    p, _ = take_out_scale(torch.where(zero, basis_like(q)[0], q))
    return p / vector_norm(p).unsqueeze(-2)


def normalise_unit(q: Complex[Tensor, "*n 4 units"]) -> Complex[Tensor, "*n 4 units"]:
    """√2·q₁′/‖q₁′‖ + 𝐈·q₂/‖q₂‖, a unit biquaternion, where q = q₁ + q₂𝐈 and q₁′ is what of q₁ is orthogonal to q₂.

    So ‖q_r‖² = 2 and ‖q_i‖² = 1 always, and with them the rapidity: arcsinh 1. Where the formula divides by zero,
    directions are put in: 1 for q₁ = 0, iq₁ for q₂ = 0, and iq₂ for q₁′ = 0 (ip is orthogonal to every p). Parts
    shorter than 1e-31 (1e-292 in float64) are zero here: the slope is up to 1/eps steeper than that of one part.
    """
    q_r, q_i = real_part(q), imaginary_part(q)
    shortest = torch.finfo(q.dtype).tiny / torch.finfo(q.dtype).eps
    real = torch.where(_is_shorter(q_r, shortest), basis_like(q_r)[0], normalise_vector(q_r))
    imaginary = torch.where(_is_shorter(q_i, shortest), _times_i(real), normalise_vector(q_i))
    return torch.complex(math.sqrt(2) * _made_orthogonal(real, imaginary), imaginary)


def _made_orthogonal(p: Float[Tensor, "*n 4 units"], q: Float[Tensor, "*n 4 units"]) -> Float[Tensor, "*n 4 units"]:
    """The direction of p without its component along q (both of length 1), or iq where nothing is left."""
    rest = _without(p, q)
    parallel = vector_norm(rest).unsqueeze(-2) <= ROUNDINGS * torch.finfo(p.dtype).eps
    rest = normalise_vector(torch.where(parallel, _times_i(q), rest))
    # once more: nearly parallel p and q leave mostly rounding, which need not be orthogonal to q
    return normalise_vector(_without(rest, q))


def _without(p: Float[Tensor, "*n 4 units"], q: Float[Tensor, "*n 4 units"]) -> Float[Tensor, "*n 4 units"]:
    return p - (p * q).sum(-2, keepdim=True) * q


def _is_shorter(q: Inexact[Tensor, "*n 4 units"], length: float) -> Bool[Tensor, "*n 1 units"]:
    return vector_norm(q.detach()).unsqueeze(-2) < length


def _times_i(q: Float[Tensor, "*n 4 units"]) -> Float[Tensor, "*n 4 units"]:
    """iq, from the left."""
    _, i, _, _ = basis_like(q)
    return multiply(i, q)
