"""Appendix C: the real length, the biquaternion norm and the two normalisations made from them."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from bique.algebra import (
    as_biquaternion,
    as_reals,
    basis_like,
    decompose,
    imaginary_part,
    is_unit,
    multiply,
    normalise_unit,
    normalise_vector,
    real_part,
    squared_norm,
    vector_norm,
)

BIQUATERNIONS = st.lists(st.floats(-4, 4, allow_subnormal=False), min_size=8, max_size=8).map(
    lambda reals: as_biquaternion(torch.tensor(reals, dtype=torch.float64))
)
ONE, I, J, K = basis_like(torch.zeros(4, 1, dtype=torch.complex128))  # noqa: E741
PRECISIONS = pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])


def assert_equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


def parts_differ(q):
    """Both parts are there and not nearly parallel, so the printed formula keeps its digits."""
    real, imaginary = real_part(q), imaginary_part(q)
    sizes = vector_norm(real) * vector_norm(imaginary)
    return bool(sizes > 0.01 and (real * imaginary).sum(-2).abs() < 0.99 * sizes)


@given(q=BIQUATERNIONS)
def test_both_norms_are_sums_over_the_reals_appendix_c(q):
    a = sum(number**2 for number in real_part(q).flatten().tolist())
    b = sum(number**2 for number in imaginary_part(q).flatten().tolist())
    between = sum(
        r * i for r, i in zip(real_part(q).flatten().tolist(), imaginary_part(q).flatten().tolist(), strict=True)
    )
    assert (vector_norm(q) ** 2).item() == pytest.approx(a + b, abs=1e-12)
    assert squared_norm(q).item() == pytest.approx(complex(a - b, 2 * between), abs=1e-12)


@given(q=BIQUATERNIONS)
def test_vector_normalisation_gives_length_one_and_keeps_the_direction_appendix_c(q):
    normal = normalise_vector(q)
    assert_equal(vector_norm(normal), torch.ones(1, dtype=torch.float64))
    assume(vector_norm(q) > 1e-9)
    assert_equal(normal * vector_norm(q), q)


@given(q=BIQUATERNIONS)
def test_every_unit_is_normalised_by_itself(q):
    both = torch.cat([q, 3 * ONE], dim=-1)
    for normalise in (normalise_vector, normalise_unit):
        assert torch.equal(normalise(both)[:, :1], normalise(q))
        assert torch.equal(normalise(both)[:, 1:], normalise(3 * ONE))


@given(q=BIQUATERNIONS)
def test_unit_normalisation_is_gram_schmidt_as_printed_appendix_c(q):
    assume(parts_differ(q))
    q1, q2 = real_part(q).flatten(), imaginary_part(q).flatten()
    rest = q1 - (q1 @ q2) / (q2 @ q2) * q2
    expected = torch.complex(math.sqrt(2) * rest / rest.norm(), q2 / q2.norm()).unsqueeze(-1)
    assert_equal(normalise_unit(q), expected)


@given(q=BIQUATERNIONS)
def test_unit_normalisation_always_gives_a_unit_with_parts_two_and_one_appendix_c(q):
    unit = normalise_unit(q)
    assert is_unit(unit).all()
    assert (vector_norm(real_part(unit)) ** 2).item() == pytest.approx(2)
    assert (vector_norm(imaginary_part(unit)) ** 2).item() == pytest.approx(1)


@given(q=BIQUATERNIONS)
def test_unit_normalisation_leaves_every_biquaternion_the_same_rapidity_appendix_c(q):
    assert decompose(normalise_unit(q)).rapidity.item() == pytest.approx(math.asinh(1), abs=1e-12)


@given(q=BIQUATERNIONS)
def test_normalising_twice_is_normalising_once(q):
    for normalise in (normalise_vector, normalise_unit):
        assert_equal(normalise(normalise(q)), normalise(q))


@PRECISIONS
@pytest.mark.parametrize("nearness", [0, 1e-20, 1e-16, 1e-12, 1e-8, 1e-7, 1e-6, 1e-4, 1e-2])
def test_nearly_parallel_parts_still_give_a_unit(dtype, nearness):
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(200, 8 * 16, generator=generator, dtype=dtype.to_real())
    q = as_biquaternion(rows)
    nearly_parallel = torch.complex(real_part(q), 3 * real_part(q) + nearness * imaginary_part(q))
    assert is_unit(normalise_unit(nearly_parallel)).all()


@PRECISIONS
def test_directions_are_put_in_where_the_formula_divides_by_zero(dtype):
    one, i, j, _ = basis_like(torch.zeros(4, 1, dtype=dtype))
    root = math.sqrt(2)
    cases = [
        (0 * one, root * one + 1j * i),  # nothing there: q₁ is read as 1, q₂ as iq₁
        (3 * one, root * one + 1j * i),  # q₂ = 0 is read as iq₁
        (3j * j, root * one + 1j * j),  # q₁ = 0 is read as 1
        ((2 + 3j) * j, root * multiply(i, j) + 1j * j),  # parallel: q₁ is read as iq₂
        (3j * one, root * i + 1j * one),  # q₁ = 0, read as 1, is parallel
    ]
    for q, expected in cases:
        torch.testing.assert_close(normalise_unit(q), expected)


@PRECISIONS
def test_zero_has_the_direction_of_one(dtype):
    zero = torch.zeros(2, 4, 3, dtype=dtype)
    assert torch.equal(normalise_vector(zero), basis_like(zero)[0].expand(2, 4, 3))
    assert torch.equal(as_reals(normalise_vector(zero)).sum(-1), torch.full((2,), 3.0, dtype=dtype.to_real()))
