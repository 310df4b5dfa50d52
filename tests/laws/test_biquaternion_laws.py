"""Section 3 of the paper: what biquaternions are and how they multiply, conjugate and measure."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bique.algebra import (
    as_biquaternion,
    as_reals,
    basis_like,
    complex_conjugate,
    conjugate,
    dot,
    from_parts,
    hermitian,
    imaginary_part,
    multiply,
    real_part,
    scalar_part,
    squared_norm,
    vector_norm,
    vector_part,
)

NUMBERS = st.floats(-4, 4, allow_subnormal=False)
BIQUATERNIONS = st.lists(NUMBERS, min_size=8, max_size=8).map(
    lambda reals: as_biquaternion(torch.tensor(reals, dtype=torch.float64))
)
QUATERNIONS = BIQUATERNIONS.map(real_part)
ONE, I, J, K = basis_like(torch.zeros(4, 1, dtype=torch.complex128))  # noqa: E741


def assert_equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10)


# --- equations 1 and 2: the forms of a biquaternion


def test_table_rows_are_w_x_y_z_by_unit_by_real_and_imaginary():
    units = 3
    rows = torch.arange(2 * 8 * units, dtype=torch.float32).reshape(2, 8 * units)
    q = as_biquaternion(rows)
    for row in range(2):
        for coefficient in range(4):
            for unit in range(units):
                place = coefficient * units * 2 + unit * 2
                assert q[row, coefficient, unit] == complex(rows[row, place], rows[row, place + 1])


def test_reading_a_table_as_biquaternions_copies_nothing():
    rows = torch.randn(5, 16)
    assert as_biquaternion(rows).data_ptr() == rows.data_ptr()
    assert as_reals(as_biquaternion(rows)).data_ptr() == rows.data_ptr()
    assert torch.equal(as_reals(as_biquaternion(rows)), rows)


def test_rows_whose_width_is_no_multiple_of_eight_are_refused():
    with pytest.raises(AssertionError, match="12 is not a multiple of 8"):
        as_biquaternion(torch.zeros(3, 12))


@given(q=BIQUATERNIONS)
def test_a_biquaternion_is_its_coefficients_times_the_units_equation_1(q):
    w, x, y, z = q.unsqueeze(-2)
    assert_equal(w * ONE + x * I + y * J + z * K, q)


@given(q=BIQUATERNIONS)
def test_a_biquaternion_is_two_quaternions_equation_2(q):
    assert not real_part(q).is_complex()
    assert not imaginary_part(q).is_complex()
    assert_equal(real_part(q) + 1j * imaginary_part(q), q)


@given(q=BIQUATERNIONS)
def test_a_biquaternion_is_its_scalar_part_plus_its_vector_part(q):
    scalar, vector = scalar_part(q), vector_part(q)
    pure = from_parts(torch.zeros_like(scalar), vector)
    assert torch.equal(from_parts(scalar, vector), q)
    assert_equal(scalar * ONE + pure, q)


# --- the multiplication table and the Hamilton product

TABLE = {
    ("1", "1"): "1", ("1", "i"): "i", ("1", "j"): "j", ("1", "k"): "k",
    ("i", "1"): "i", ("i", "i"): "-1", ("i", "j"): "k", ("i", "k"): "-j",
    ("j", "1"): "j", ("j", "i"): "-k", ("j", "j"): "-1", ("j", "k"): "i",
    ("k", "1"): "k", ("k", "i"): "j", ("k", "j"): "-i", ("k", "k"): "-1",
}  # fmt: skip
BY_NAME = {"1": ONE, "i": I, "j": J, "k": K, "-1": -ONE, "-i": -I, "-j": -J, "-k": -K}


@pytest.mark.parametrize(("left", "right"), TABLE)
def test_units_i_j_k_multiply_by_the_table_equation_3(left, right):
    assert torch.equal(multiply(BY_NAME[left], BY_NAME[right]), BY_NAME[TABLE[left, right]])


@pytest.mark.parametrize("unit", [I, J, K])
def test_the_complex_unit_commutes_with_i_j_and_k_equation_3(unit):
    complex_unit = 1j * ONE
    assert torch.equal(multiply(complex_unit, unit), multiply(unit, complex_unit))
    assert torch.equal(multiply(complex_unit, complex_unit), -ONE)


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_hamilton_product_distributes_over_the_units_equation_5(p, q):
    expected = sum(
        p[a] * q[b] * BY_NAME[TABLE[left, right]] for a, left in enumerate("1ijk") for b, right in enumerate("1ijk")
    )
    assert_equal(multiply(p, q), expected)


def two_by_two(q):
    """w + xi + yj + zk as the complex matrix [[w + 𝐈x, y + 𝐈z], [-y + 𝐈z, w - 𝐈x]]."""
    w, x, y, z = q[:, 0]
    return torch.stack([w + 1j * x, y + 1j * z, -y + 1j * z, w - 1j * x]).view(2, 2)


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_biquaternions_are_the_two_by_two_complex_matrices(p, q):
    assert_equal(two_by_two(multiply(p, q)), two_by_two(p) @ two_by_two(q))
    assert_equal(two_by_two(hermitian(q)), two_by_two(q).mH)
    assert_equal(torch.linalg.det(two_by_two(q)), squared_norm(q)[0])


@given(p=BIQUATERNIONS, q=BIQUATERNIONS, r=BIQUATERNIONS)
def test_multiplication_is_associative(p, q, r):
    assert_equal(multiply(multiply(p, q), r), multiply(p, multiply(q, r)))


@given(p=BIQUATERNIONS, q=BIQUATERNIONS, r=BIQUATERNIONS)
def test_multiplication_distributes_over_addition_from_both_sides(p, q, r):
    assert_equal(multiply(p, q + r), multiply(p, q) + multiply(p, r))
    assert_equal(multiply(p + q, r), multiply(p, r) + multiply(q, r))


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_multiplication_is_not_commutative(p, q):
    """pq - qp is twice the cross product of the vector parts, so zero only for parallel ones."""
    cross = 2 * torch.linalg.cross(vector_part(p), vector_part(q), dim=-2)
    assert_equal(multiply(p, q) - multiply(q, p), from_parts(torch.zeros_like(scalar_part(p)), cross))
    assert not torch.equal(multiply(I, J), multiply(J, I))


@given(p=QUATERNIONS, q=QUATERNIONS)
def test_quaternions_are_closed_under_multiplication(p, q):
    assert multiply(p, q).dtype == torch.float64
    among_biquaternions = multiply(p.to(torch.complex128), q.to(torch.complex128))
    assert torch.all(imaginary_part(among_biquaternions) == 0)
    assert_equal(real_part(among_biquaternions), multiply(p, q))


@given(a=NUMBERS, b=NUMBERS, c=NUMBERS, d=NUMBERS)
def test_complex_and_real_numbers_are_biquaternions(a, b, c, d):
    product = complex(a, b) * complex(c, d)
    assert_equal(multiply(complex(a, b) * ONE, complex(c, d) * ONE), product * ONE)


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_product_is_the_same_alone_and_in_a_batch(p, q):
    batch, other = torch.stack([p, q, p + q]), torch.stack([q, p, q])
    wide = torch.cat([p, q], dim=-1)
    assert torch.equal(multiply(batch, other)[1], multiply(q, p))
    assert torch.equal(multiply(batch, q)[0], multiply(p, q))
    assert torch.equal(multiply(wide, wide)[:, 1:], multiply(q, q))


# --- conjugates


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_conjugate_reverses_products(p, q):
    assert_equal(conjugate(multiply(p, q)), multiply(conjugate(q), conjugate(p)))


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_complex_conjugate_keeps_the_order_of_products(p, q):
    assert_equal(complex_conjugate(multiply(p, q)), multiply(complex_conjugate(p), complex_conjugate(q)))


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_hermitian_reverses_products(p, q):
    assert_equal(hermitian(multiply(p, q)), multiply(hermitian(q), hermitian(p)))


@given(q=BIQUATERNIONS)
def test_every_conjugate_undoes_itself(q):
    for conjugation in (conjugate, complex_conjugate, hermitian):
        assert torch.equal(conjugation(conjugation(q)), q)


@given(q=BIQUATERNIONS)
def test_conjugates_are_what_they_say_on_the_parts(q):
    assert torch.equal(scalar_part(conjugate(q)), scalar_part(q))
    assert torch.equal(vector_part(conjugate(q)), -vector_part(q))
    assert torch.equal(real_part(complex_conjugate(q)), real_part(q))
    assert torch.equal(imaginary_part(complex_conjugate(q)), -imaginary_part(q))
    assert torch.equal(as_reals(complex_conjugate(q)), as_reals(q.conj()))


# --- the inner product of the eight reals


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_dot_is_the_sum_of_products_of_the_reals(p, q):
    expected = math.fsum(a * b for a, b in zip(as_reals(p).tolist(), as_reals(q).tolist(), strict=True))
    assert_equal(dot(p, q), torch.tensor(expected, dtype=torch.float64))
    assert_equal(dot(q, q), vector_norm(q)[0] ** 2)


@given(p=BIQUATERNIONS, q=BIQUATERNIONS, t=BIQUATERNIONS)
def test_hermitian_is_the_adjoint_of_multiplication_from_either_side(p, q, t):
    assert_equal(dot(multiply(p, q), t), dot(p, multiply(t, hermitian(q))))
    assert_equal(dot(multiply(p, q), t), dot(q, multiply(hermitian(p), t)))


@given(head=BIQUATERNIONS, plus=BIQUATERNIONS, times=BIQUATERNIONS, tail=BIQUATERNIONS)
def test_translation_is_a_preference_for_tails_that_no_head_changes(head, plus, times, tail):
    with_translation = dot(multiply(head + plus, times), tail)
    assert_equal(with_translation - dot(multiply(head, times), tail), dot(multiply(plus, times), tail))


@given(p=BIQUATERNIONS)
def test_multiplying_by_the_complex_unit_turns_every_coefficient_a_quarter(p):
    assert_equal(multiply(p, 1j * ONE), 1j * p)
    assert_equal(dot(multiply(p, 1j * ONE), p), torch.zeros((), dtype=torch.float64))
