from __future__ import annotations

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


def test_a_zero_real_part_stays_zero_and_has_a_gradient() -> None:
    q = torch.zeros(1, 8, 1, dtype=torch.float64, requires_grad=True)
    normalise_dual(q).sum().backward()
    assert torch.isfinite(q.grad).all()
