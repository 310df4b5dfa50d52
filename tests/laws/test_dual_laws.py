from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bique.algebra import multiply
from bique.algebra.dual import multiply_dual, normalise_dual

seeds = st.integers(0, 2**31)


def some(seed: int) -> torch.Tensor:
    return torch.randn(3, 5, 8, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(seeds)
def test_the_dual_product_is_associative_and_distributive(seed: int) -> None:
    p, q, r = some(seed)
    torch.testing.assert_close(
        multiply_dual(multiply_dual(p, q), r), multiply_dual(p, multiply_dual(q, r)), rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(multiply_dual(p, q + r), multiply_dual(p, q) + multiply_dual(p, r))


@given(seeds)
def test_real_parts_multiply_as_quaternions_and_dual_parts_vanish_among_themselves(seed: int) -> None:
    p, q, _ = some(seed)
    torch.testing.assert_close(multiply_dual(p, q)[:, :4], multiply(p[:, :4], q[:, :4]))
    p, q = p.clone(), q.clone()
    p[:, :4], q[:, :4] = 0, 0
    assert multiply_dual(p, q).abs().max() == 0


@given(seeds)
def test_normalised_ones_are_unit_and_orthogonal_and_stay_so(seed: int) -> None:
    p, q = (normalise_dual(one) for one in some(seed)[:2])
    for one in (p, q, multiply_dual(p, q)):
        a, b = one[:, :4], one[:, 4:]
        torch.testing.assert_close(a.norm(dim=1), torch.ones(5, 2, dtype=torch.float64))
        torch.testing.assert_close((a * b).sum(1), torch.zeros(5, 2, dtype=torch.float64), rtol=0, atol=1e-9)


def test_the_dual_part_loses_what_is_along_the_real_part() -> None:
    a, b = (torch.randn(5, 4, 2, generator=torch.Generator().manual_seed(3 + i), dtype=torch.float64) for i in range(2))
    along = (a * b).sum(1, keepdim=True) / a.square().sum(1, keepdim=True) * a
    expected = torch.cat((a / a.norm(dim=1, keepdim=True), b - along), dim=1)
    torch.testing.assert_close(normalise_dual(torch.cat((a, b), dim=1)), expected)


@pytest.mark.parametrize("length", [1.0, 1e-10, 1e-15, 1e-19, 1e-20, 1e-25, 1e-30, 1e-38, 0.0])
@pytest.mark.parametrize("dual", [1.0, 0.0])
def test_a_real_part_of_any_length_has_a_direction_and_a_gradient(length: float, dual: float) -> None:
    """In training with a penalty units die away, and pass every length on their way to 0."""
    q = torch.full((1, 8, 1), dual)
    q[:, :4] = length / 2
    q.requires_grad_()
    made = normalise_dual(q)
    torch.testing.assert_close(made[:, :4].norm(dim=1), torch.ones(1, 1))
    made.square().sum().backward()
    assert torch.isfinite(q.grad).all()
