"""Theorem 4.1, Lemma A.2 and Appendix B: a biquaternion is a scaling, a circular and a hyperbolic rotation."""

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
    decompose,
    hermitian,
    imaginary_part,
    is_unit,
    multiply,
    norm,
    real_part,
    right_matrix,
    scalar_part,
    squared_norm,
    vector_norm,
    vector_part,
)

NUMBERS = st.floats(-4, 4, allow_subnormal=False)
BIQUATERNIONS = st.lists(NUMBERS, min_size=8, max_size=8).map(
    lambda reals: as_biquaternion(torch.tensor(reals, dtype=torch.float64))
)
ANGLES = st.floats(-3, 3, allow_subnormal=False)
ONE, I, J, K = basis_like(torch.zeros(4, 1, dtype=torch.complex128))  # noqa: E741
IDENTITY = torch.eye(4, dtype=torch.complex128).unsqueeze(0)


def assert_equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


def well_conditioned(q):
    return bool(vector_norm(q) > 0.1 and squared_norm(q).abs() > 0.05 * vector_norm(q) ** 2)


REGULAR = BIQUATERNIONS.filter(well_conditioned)
UNITS = REGULAR.map(lambda q: q / norm(q))


def printed(w, x, y, z):
    """The pattern that M(u), M(h) and M(h′) share in the theorem."""
    rows = [[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]]
    return torch.tensor([rows], dtype=torch.complex128)


def printed_hyperbolic(rapidity, axis):
    a, b, c = (1j * number * math.sinh(rapidity) for number in axis)
    return printed(math.cosh(rapidity), a, b, c)


def theorem(q):
    """θ, the circular axis, φ, (a, b, c) and (a′, b′, c′) of a unit q, straight from the text, in Python numbers."""
    q_r, q_i = real_part(q), imaginary_part(q)
    size, imaginary_size = vector_norm(q_r).item(), vector_norm(q_i).item()
    w, *vector = q_r.flatten().tolist()
    axis = [number / math.hypot(*vector) for number in vector]
    after = (multiply(conjugate(q_r), q_i) / (size * imaginary_size)).flatten().tolist()[1:]
    before = (multiply(q_i, conjugate(q_r)) / (size * imaginary_size)).flatten().tolist()[1:]
    return math.acos(w / size), axis, math.acosh(max(1.0, size)), after, before


def theorem_applies(q):
    """Away from the limits, where the text divides zero by zero and arccosh and arccos lose half the digits."""
    q_r = real_part(q)
    return bool(vector_norm(imaginary_part(q)) > 0.01 and vector_norm(vector_part(q_r)) > 0.01 * vector_norm(q_r))


# --- Lemma A.2


@given(q=UNITS)
def test_products_of_the_two_parts_of_a_unit_are_pure_lemma_a_2(q):
    q_r, q_i = real_part(q), imaginary_part(q)
    zero = torch.zeros_like(scalar_part(q_r))
    assert_equal(scalar_part(multiply(conjugate(q_r), q_i)), zero)
    assert_equal(scalar_part(multiply(q_i, conjugate(q_r))), zero)
    assert_equal(multiply(conjugate(q_r), q_i) + multiply(conjugate(q_i), q_r), torch.zeros_like(q_r))


@given(q=UNITS)
def test_parts_of_a_unit_are_a_hyperbolic_cosine_and_sine_lemma_a_2(q):
    real_size, imaginary_size = vector_norm(real_part(q)), vector_norm(imaginary_part(q))
    rapidity = decompose(q).rapidity
    assert_equal(real_size**2 - imaginary_size**2, torch.ones_like(real_size))
    assert_equal(rapidity.cosh(), real_size)
    assert_equal(rapidity.sinh(), imaginary_size)
    assert torch.all(real_size > 1 - 1e-12)


@given(q=BIQUATERNIONS)
def test_squared_norm_is_made_of_the_two_parts_lemma_a_2_proof(q):
    q_r, q_i = real_part(q), imaginary_part(q)
    between = (q_r * q_i).sum(-2)
    assert_equal(squared_norm(q), torch.complex(vector_norm(q_r) ** 2 - vector_norm(q_i) ** 2, 2 * between))


# --- Theorem 4.1


@given(q=UNITS)
def test_matrix_is_hyperbolic_after_circular_rotation_as_printed_theorem_4_1(q):
    assume(theorem_applies(q))
    angle, axis, rapidity, after, _ = theorem(q)
    circular = printed(math.cos(angle), *(number * math.sin(angle) for number in axis))
    hyperbolic = printed_hyperbolic(rapidity, after)
    torch.testing.assert_close(hyperbolic @ circular, right_matrix(q), rtol=1e-8, atol=1e-8)
    found = decompose(q)
    assert_equal(right_matrix(found.circular).to(torch.complex128), circular)
    torch.testing.assert_close(right_matrix(found.hyperbolic), hyperbolic, rtol=1e-8, atol=1e-8)


@given(q=UNITS)
def test_matrix_is_circular_after_hyperbolic_rotation_as_printed_theorem_4_1(q):
    assume(theorem_applies(q))
    angle, axis, rapidity, _, before = theorem(q)
    circular = printed(math.cos(angle), *(number * math.sin(angle) for number in axis))
    hyperbolic = printed_hyperbolic(rapidity, before)
    torch.testing.assert_close(circular @ hyperbolic, right_matrix(q), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(right_matrix(decompose(q).hyperbolic_first), hyperbolic, rtol=1e-8, atol=1e-8)


@given(q=UNITS)
def test_decomposition_has_the_angles_and_axes_of_the_text_theorem_4_1(q):
    assume(theorem_applies(q))
    angle, axis, rapidity, after, before = theorem(q)
    found = decompose(q)
    assert found.angle.item() == pytest.approx(angle, abs=1e-8)
    assert found.rapidity.item() == pytest.approx(rapidity, abs=1e-8)
    assert found.circular_axis.flatten().tolist() == pytest.approx(axis, abs=1e-8)
    assert found.hyperbolic_axis.flatten().tolist() == pytest.approx(after, abs=1e-8)
    assert found.hyperbolic_axis_first.flatten().tolist() == pytest.approx(before, abs=1e-8)


@given(q=REGULAR)
def test_determinants_are_one_and_matrices_orthogonal_theorem_4_1(q):
    found = decompose(q)
    one = torch.ones(1, dtype=torch.complex128)
    for factor in (found.circular.to(q.dtype), found.hyperbolic, found.hyperbolic_first):
        matrix = right_matrix(factor)
        assert is_unit(factor, tolerance=1e-12).all()
        assert_equal(torch.linalg.det(matrix), one)
        assert_equal(matrix @ matrix.mT, IDENTITY)


@given(rapidity=ANGLES, axis=st.lists(NUMBERS, min_size=3, max_size=3))
def test_hyperbolic_rotation_is_a_rotation_by_an_imaginary_angle(rapidity, axis):
    length = math.hypot(*axis)
    assume(length > 0.1)
    axis = [number / length for number in axis]
    imaginary_angle = torch.tensor(1j * rapidity, dtype=torch.complex128)
    cosine, sine = imaginary_angle.cos().item(), imaginary_angle.sin().item()
    assert_equal(printed(cosine, *(number * sine for number in axis)), printed_hyperbolic(rapidity, axis))


@given(q=REGULAR)
def test_any_biquaternion_but_a_null_one_is_composed_again_in_both_orders(q):
    found = decompose(q)
    assert_equal(found.compose(), q)
    assert_equal(found.compose_hyperbolic_first(), q)
    rotations = right_matrix(found.hyperbolic) @ right_matrix(found.circular.to(q.dtype))
    assert_equal(found.scale * rotations, right_matrix(q))


@given(q=REGULAR)
def test_scale_is_the_complex_norm_as_modulus_and_phase(q):
    found = decompose(q)
    assert_equal(found.scale, norm(q))
    assert_equal(found.modulus, norm(q).abs())
    assert torch.all(found.phase.abs() <= math.pi / 2)


@given(q=REGULAR)
def test_axes_are_unit_vectors_and_angles_keep_their_ranges(q):
    found = decompose(q)
    one = torch.ones_like(found.angle)
    assert 0 <= found.angle.item() <= math.pi
    assert found.rapidity.item() >= 0
    for axis, there in (
        (found.circular_axis, vector_norm(found.circular_axis) > 0),
        (found.hyperbolic_axis, found.rapidity > 0),
        (found.hyperbolic_axis_first, found.rapidity > 0),
    ):
        assert_equal(vector_norm(axis), one * there)


@given(w=NUMBERS, x=NUMBERS, y=NUMBERS, z=NUMBERS)
def test_a_quaternion_has_no_hyperbolic_rotation_the_case_of_quate(w, x, y, z):
    q = torch.tensor([[w], [x], [y], [z]], dtype=torch.complex128)
    assume(vector_norm(q) > 0)
    found = decompose(q)
    assert torch.equal(right_matrix(found.hyperbolic), IDENTITY)
    assert torch.equal(right_matrix(found.hyperbolic_first), IDENTITY)
    assert found.rapidity.item() == 0
    assert torch.all(found.hyperbolic_axis == 0)
    assert_equal(found.modulus.unsqueeze(-2) * found.circular, real_part(q))


# --- what the rotations do to the eight reals


@given(q=REGULAR)
def test_circular_rotation_is_an_isometry_and_hyperbolic_stretches_by_its_rapidity(q):
    found = decompose(q)
    basis = as_biquaternion(torch.eye(8, dtype=torch.float64))
    circular = torch.linalg.svdvals(as_reals(multiply(basis, found.circular)))
    hyperbolic = torch.linalg.svdvals(as_reals(multiply(basis, found.hyperbolic)))
    stretch = found.rapidity.exp().item()
    assert_equal(circular, torch.ones(8, dtype=torch.float64))
    assert_equal(hyperbolic, torch.tensor([stretch] * 4 + [1 / stretch] * 4, dtype=torch.float64))


@given(q=REGULAR)
def test_the_factors_are_a_polar_decomposition(q):
    """u†u = 1 and h† = h: among 2×2 matrices a unitary one and a positive Hermitian one."""
    found = decompose(q)
    circular = found.circular.to(q.dtype)
    assert_equal(multiply(hermitian(circular), circular), ONE)
    assert torch.equal(hermitian(found.hyperbolic), found.hyperbolic)
    assert torch.equal(hermitian(found.hyperbolic_first), found.hyperbolic_first)


def test_the_complex_unit_decomposes_into_a_phase_alone():
    for q in (1j * ONE, -1j * ONE):
        found = decompose(q)
        assert found.modulus.item() == 1
        assert found.phase.item() == pytest.approx(math.pi / 2)
        assert found.rapidity.item() == 0
        assert_equal(found.compose(), q)
    assert decompose(1j * ONE).angle.item() == 0
