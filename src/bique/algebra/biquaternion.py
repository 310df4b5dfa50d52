"""Biquaternions q = w + xi + yj + zk with complex w, x, y, z: tensors (…, 4, units), one biquaternion per unit.

The same functions take quaternions, which are real tensors of the same shape, wherever the formula makes sense for
them. 𝐈 is the complex unit, which commutes with everything; i, j, k are the quaternion units.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bique.algebra.scale import take_out_scale
from bique.shapes import Bool, Complex, Float, Inexact

# ‖q‖² is a sum of four rounded squares; what is smaller than this many roundings of it is not told from zero
ROUNDINGS = 16


def as_biquaternion(rows: Float[Tensor, "*n width"]) -> Complex[Tensor, "*n 4 units"]:
    """A view of table rows of width 8·units, whose layout is (4, units, 2): nothing is copied."""
    width = rows.shape[-1]
    assert width % 8 == 0, f"a biquaternion has 8 reals, and {width} is not a multiple of 8"
    return torch.view_as_complex(rows.view(*rows.shape[:-1], 4, width // 8, 2))


def as_reals(q: Complex[Tensor, "*n 4 units"]) -> Float[Tensor, "*n width"]:
    """The rows that `as_biquaternion` reads, again a view when q is contiguous."""
    return torch.view_as_real(q.resolve_conj()).flatten(-3)


def basis_like(q: Inexact[Tensor, "*n 4 units"]) -> Inexact[Tensor, "4 4 1"]:
    """1, i, j, k in the dtype and on the device of q: `one, i, j, k = basis_like(q)`."""
    return torch.eye(4, dtype=q.dtype, device=q.device).unsqueeze(-1)


def multiply(p: Inexact[Tensor, "*#n 4 #units"], q: Inexact[Tensor, "*#n 4 #units"]) -> Inexact[Tensor, "*#n 4 #units"]:
    """The Hamilton product pq (equation 5 of the paper): associative, not commutative. p and q broadcast."""
    a, b, c, d = p.unbind(-2)
    w, x, y, z = q.unbind(-2)
    return torch.stack(
        (
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ),
        dim=-2,
    )


def conjugate(q: Inexact[Tensor, "*n 4 units"]) -> Inexact[Tensor, "*n 4 units"]:
    """q̄ = w - xi - yj - zk. It reverses products."""
    return torch.cat((q[..., :1, :], -q[..., 1:, :]), dim=-2)


def complex_conjugate(q: Complex[Tensor, "*n 4 units"]) -> Complex[Tensor, "*n 4 units"]:
    """q* = w* + x*i + y*j + z*k. It keeps the order of products."""
    # not the lazy .conj(): its result cannot be viewed as reals or saved
    return q.conj_physical()


def hermitian(q: Complex[Tensor, "*n 4 units"]) -> Complex[Tensor, "*n 4 units"]:
    """q† = both conjugates, the adjoint of multiplication: ⟨pq, t⟩ = ⟨p, t q†⟩ = ⟨q, p† t⟩ with `dot`."""
    return conjugate(complex_conjugate(q))


def scalar_part(q: Inexact[Tensor, "*n 4 units"]) -> Inexact[Tensor, "*n units"]:
    """s(q) = w."""
    return q[..., 0, :]


def vector_part(q: Inexact[Tensor, "*n 4 units"]) -> Inexact[Tensor, "*n 3 units"]:
    """v(q) = xi + yj + zk as its three coefficients."""
    return q[..., 1:, :]


def from_parts(
    scalar: Inexact[Tensor, "*n units"], vector: Inexact[Tensor, "*n 3 units"]
) -> Inexact[Tensor, "*n 4 units"]:
    """s + v."""
    return torch.cat((scalar.unsqueeze(-2), vector), dim=-2)


def real_part(q: Complex[Tensor, "*n 4 units"]) -> Float[Tensor, "*n 4 units"]:
    """The quaternion q_r of q = q_r + q_i𝐈."""
    return q.real


def imaginary_part(q: Complex[Tensor, "*n 4 units"]) -> Float[Tensor, "*n 4 units"]:
    """The quaternion q_i of q = q_r + q_i𝐈."""
    return q.imag


def dot(p: Complex[Tensor, "*#n 4 units"], q: Complex[Tensor, "*#n 4 units"]) -> Float[Tensor, "*#n"]:
    """⟨p, q⟩: the inner product of the 8·units reals, summed over the units."""
    return (as_reals(p) * as_reals(q)).sum(-1)


def squared_norm(q: Inexact[Tensor, "*n coefficients units"]) -> Inexact[Tensor, "*n units"]:
    """‖q‖² = w² + x² + y² + z², a complex number for a biquaternion, which may be zero although q is not.

    Like the square of a real number, a part of it too large for the dtype is ±∞; `norm` has no such limit.
    """
    return _SquaredNorm.apply(q)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def norm(q: Inexact[Tensor, "*n coefficients units"]) -> Inexact[Tensor, "*n units"]:
    """‖q‖ = √(‖q‖²), the complex root with argument in (-π/2, π/2]; its gradient is taken as 0 where ‖q‖ = 0."""
    p, scale = take_out_scale(q)
    # -1 - 0𝐈 would have the root -𝐈, but a sum is never -0
    return _root(squared_norm(p)) * scale


def vector_norm(q: Inexact[Tensor, "*n coefficients units"]) -> Float[Tensor, "*n units"]:
    """‖q‖_v, the length of the 8 reals (4 for a quaternion) of every unit; its gradient is 0, not NaN, at q = 0."""
    p, scale = take_out_scale(q)
    return _root(p.abs().square().sum(-2)) * scale


def is_null(q: Inexact[Tensor, "*n coefficients units"]) -> Bool[Tensor, "*n units"]:
    """Whether ‖q‖ = 0 to the precision of the dtype, measured against ‖q‖_v. So are zero and, say, 1 + 𝐈i.

    A null biquaternion has no inverse, no polar form and no decomposition, and divides zero.
    """
    p, _ = take_out_scale(q)
    return squared_norm(p).abs() <= _rounding(q) * vector_norm(p).square()


def is_unit(q: Inexact[Tensor, "*n 4 units"], tolerance: float | None = None) -> Bool[Tensor, "*n units"]:
    """Whether ‖q‖² = 1 within tolerance·‖q‖_v², the size of what is summed; by default a few roundings of the dtype."""
    p, scale = take_out_scale(q)
    tolerance = _rounding(q) if tolerance is None else tolerance
    near = (squared_norm(p) - 1 / scale / scale).abs() <= tolerance * vector_norm(p).square()
    # a huge null element is near anything, 1 included
    return near & ~is_null(q)


def inverse(q: Inexact[Tensor, "*n 4 units"]) -> Inexact[Tensor, "*n 4 units"]:
    """q⁻¹ = q̄ / ‖q‖². A null biquaternion has none: ZeroDivisionError."""
    refuse(is_null(q), "biquaternions are null (‖q‖ = 0) and have no inverse")
    p, scale = take_out_scale(q)
    return conjugate(p) / squared_norm(p).unsqueeze(-2) / scale.unsqueeze(-2)


def refuse(bad: Bool[Tensor, "*n units"], what: str, error: type[Exception] = ZeroDivisionError) -> None:
    """Raise if any is bad, saying how many are and where the first one is."""
    if bad.any():
        first = tuple(int(index) for index in bad.nonzero()[0])
        raise error(f"{int(bad.sum())} of {bad.numel()} {what}; the first is at {first}")


class _SquaredNorm(torch.autograd.Function):
    """Its gradient 2q is finite where the value is not; autograd's way to it would pass through scale²."""

    @staticmethod
    def forward(ctx: Any, q: Inexact[Tensor, "*n coefficients units"]) -> Inexact[Tensor, "*n units"]:
        ctx.save_for_backward(q)
        p, scale = take_out_scale(q)
        return p.square().sum(-2) * scale * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Inexact[Tensor, "*n units"]) -> Inexact[Tensor, "*n coefficients units"]:
        (q,) = ctx.saved_tensors
        # torch's gradient of an analytic function is the conjugate of its derivative
        return gradients[0].unsqueeze(-2) * 2 * q.conj()


def _root(square: Inexact[Tensor, "*n units"]) -> Inexact[Tensor, "*n units"]:
    """√, with gradient 0 at 0: autograd's is infinite there, and NaN after the chain rule."""
    zero = square == 0
    return torch.where(zero, 0, torch.where(zero, 1, square).sqrt())


def _rounding(q: Inexact[Tensor, "*n coefficients units"]) -> float:
    return ROUNDINGS * torch.finfo(q.dtype).eps
