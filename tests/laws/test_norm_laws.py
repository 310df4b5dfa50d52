"""Section 3 of the paper: norms, units, inverses, null elements and the polar form."""

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
    conjugate,
    from_parts,
    from_polar,
    imaginary_part,
    inverse,
    is_null,
    is_unit,
    multiply,
    norm,
    polar_form,
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
# 1 + 𝐈i, and through products with it every null biquaternion
NULL = ONE + 1j * I


def assert_equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10)


def well_conditioned(q):
    """Far enough from null (and from zero) that division keeps ten digits."""
    return bool((vector_norm(q) > 0.1).all() and (squared_norm(q).abs() > 0.05 * vector_norm(q) ** 2).all())


# --- norms


@given(q=BIQUATERNIONS)
def test_squared_norm_is_q_times_its_conjugate_in_either_order(q):
    assert_equal(multiply(q, conjugate(q)), squared_norm(q) * ONE)
    assert_equal(multiply(conjugate(q), q), squared_norm(q) * ONE)


@given(q=BIQUATERNIONS)
def test_norm_is_the_principal_root_of_the_squared_norm(q):
    assert_equal(norm(q) ** 2, squared_norm(q))
    assert torch.all(-math.pi / 2 < norm(q).angle()) and torch.all(norm(q).angle() <= math.pi / 2)  # noqa: PT018


@given(q=BIQUATERNIONS)
def test_norm_of_the_conjugate_is_the_norm(q):
    assert_equal(norm(conjugate(q)), norm(q))


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_norm_of_a_product_is_the_product_of_norms_up_to_the_sign_of_the_root(p, q):
    torch.testing.assert_close(squared_norm(multiply(p, q)), squared_norm(p) * squared_norm(q), rtol=1e-9, atol=1e-9)


@given(q=QUATERNIONS)
def test_norm_of_a_quaternion_is_its_length(q):
    assert_equal(norm(q), vector_norm(q))
    assert_equal(vector_norm(q), torch.tensor([math.hypot(*q.flatten().tolist())], dtype=torch.float64))


@given(q=BIQUATERNIONS)
def test_vector_norm_is_the_length_of_the_eight_reals(q):
    assert_equal(vector_norm(q), torch.tensor([math.hypot(*as_reals(q).tolist())], dtype=torch.float64))


@given(q=BIQUATERNIONS)
def test_norm_does_not_depend_on_the_sign_of_zero(q):
    """A negative square has the roots ±𝐈√; which one must not hang on 0 or -0 in the coefficients."""
    assert torch.equal(norm(-q), norm(q))
    imaginary = imaginary_part(q).abs()
    for zero, sign in ((0.0, 1), (0.0, -1), (-0.0, 1), (-0.0, -1)):
        root = norm(torch.complex(torch.full_like(imaginary, zero), sign * imaginary))
        assert_equal(root, 1j * vector_norm(imaginary))


@given(q=BIQUATERNIONS)
def test_a_biquaternion_divided_by_its_norm_is_a_unit(q):
    assume(well_conditioned(q))
    assert is_unit(q / norm(q), tolerance=1e-12).all()
    assert not is_unit(1.001 * q / norm(q), tolerance=1e-6).any()


@given(q=BIQUATERNIONS)
def test_inverse_undoes_multiplication_from_both_sides(q):
    assume(well_conditioned(q))
    assert_equal(multiply(q, inverse(q)), ONE)
    assert_equal(multiply(inverse(q), q), ONE)


# --- null elements


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_null_biquaternions_are_an_ideal_of_norm_zero_that_divides_zero(p, q):
    null = multiply(multiply(p, NULL), q)
    assert_equal(squared_norm(null), torch.zeros_like(squared_norm(null)))
    assert_equal(multiply(null, conjugate(null)), torch.zeros_like(null))
    assert_equal(multiply(conjugate(null), null), torch.zeros_like(null))


@given(q=BIQUATERNIONS)
def test_a_biquaternion_is_null_whatever_its_size(q):
    assume(well_conditioned(q))
    for scale in (1e-150, 1.0, 1e150):
        assert not is_null(scale * q).any()
        assert is_null(scale * multiply(NULL, q)).all()
    assert is_null(0 * q).all()


@given(q=BIQUATERNIONS)
def test_no_quaternion_but_zero_is_null(q):
    assert torch.equal(is_null(real_part(q)), vector_norm(real_part(q)) == 0)


def test_inverse_of_null_elements_says_how_many_and_where():
    q = ONE.expand(3, 4, 2).clone()
    q[1, :, 1:] = NULL
    q[2, :, :1] = 0
    with pytest.raises(ZeroDivisionError, match=r"2 of 6 biquaternions are null .* first is at \(1, 1\)"):
        inverse(q)


# --- the polar form


@given(q=BIQUATERNIONS)
def test_polar_form_gives_the_biquaternion_back(q):
    assume(well_conditioned(q) and well_conditioned(vector_part(q)))
    assert_equal(from_polar(*polar_form(q)), q)


@given(q=BIQUATERNIONS)
def test_polar_angle_is_the_arc_cosine_and_the_axis_squares_to_minus_one(q):
    assume(well_conditioned(q) and well_conditioned(vector_part(q)))
    length, angle, axis = polar_form(q)
    assert_equal(length, norm(q))
    assert_equal(angle.cos(), scalar_part(q) / norm(q))
    assert torch.all(angle.real >= 0) and torch.all(angle.real <= math.pi)  # noqa: PT018
    pure = from_parts(torch.zeros_like(length), axis)
    assert_equal(multiply(pure, pure), -ONE)
    # u = v(q)/‖v(q)‖, where the root has one sign or the other
    vector, usual = vector_part(q), axis * norm(vector_part(q))
    assert min((usual - vector).abs().max(), (usual + vector).abs().max()) < 1e-10


@given(q=QUATERNIONS)
def test_polar_form_of_a_quaternion_has_a_real_angle_and_the_usual_axis(q):
    assume(vector_norm(q) > 0.1 and vector_norm(vector_part(q)) > 0.1)
    length, angle, axis = polar_form(q.to(torch.complex128))
    assert_equal(length, vector_norm(q).to(torch.complex128))
    assert_equal(angle, torch.acos(scalar_part(q) / vector_norm(q)).to(torch.complex128))
    assert_equal(axis, (vector_part(q) / vector_norm(vector_part(q))).to(torch.complex128))


def test_polar_form_does_not_exist_where_sine_would_have_to_be_zero():
    q = ONE + I + 1j * J
    assert is_unit(q).all()
    with pytest.raises(ZeroDivisionError, match=r"1 of 1 biquaternions have no polar form .* first is at \(0,\)"):
        polar_form(q)
