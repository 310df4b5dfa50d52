"""Appendix B: circular and hyperbolic rotations in two dimensions, q = w + xi."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from bique.algebra import (
    decompose,
    imaginary_part,
    multiply,
    real_part,
    right_matrix,
    squared_norm,
    vector_norm,
)

NUMBERS = st.floats(-4, 4, allow_subnormal=False)
ANGLES = st.floats(-3, 3, allow_subnormal=False)


def assert_equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


def well_conditioned(q):
    return bool(vector_norm(q) > 0.1 and squared_norm(q).abs() > 0.05 * vector_norm(q) ** 2)


def in_two_dimensions(w, x):
    return torch.tensor([[w], [x], [0], [0]], dtype=torch.complex128)


PLANE = st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS).map(
    lambda n: in_two_dimensions(complex(n[0], n[1]), complex(n[2], n[3]))
)


@given(q=PLANE)
def test_axes_in_two_dimensions_are_plus_or_minus_i_appendix_b(q):
    """The text says = 1; the sign is that of x_r, and of the boost."""
    assume(well_conditioned(q))
    found = decompose(q)
    for axis in (found.circular_axis, found.hyperbolic_axis, found.hyperbolic_axis_first):
        assert axis[0].abs().item() == pytest.approx(1) or torch.all(axis == 0)
        assert torch.all(axis[1:] == 0)


def test_both_signs_of_the_axes_happen_appendix_b():
    for sign in (1, -1):
        found = decompose(in_two_dimensions(1.25 * 0.6 - 1j * sign * 0.75 * 0.8, sign * 1.25 * 0.8 + 1j * 0.75 * 0.6))
        assert_equal(found.circular_axis.flatten(), torch.tensor([sign, 0, 0], dtype=torch.float64))
    for sign in (1, -1):
        found = decompose(in_two_dimensions(1.25, 0.75j * sign))
        assert_equal(found.hyperbolic_axis.flatten(), torch.tensor([sign, 0, 0], dtype=torch.float64))


@given(p=PLANE, angle=ANGLES)
def test_circular_rotation_turns_real_and_imaginary_parts_apart_appendix_b(p, angle):
    u = in_two_dimensions(math.cos(angle), math.sin(angle))
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], dtype=torch.float64)
    assert_equal(right_matrix(u)[0, :2, :2], turn.to(torch.complex128))
    turned = multiply(p, u)
    assert_equal(real_part(turned)[:2], turn @ real_part(p)[:2])
    assert_equal(imaginary_part(turned)[:2], turn @ imaginary_part(p)[:2])


@given(p=PLANE, rapidity=ANGLES)
def test_hyperbolic_rotation_mixes_real_and_imaginary_parts_appendix_b(p, rapidity):
    cosh, sinh = math.cosh(rapidity), math.sinh(rapidity)
    h = in_two_dimensions(cosh, 1j * sinh)
    assert_equal(right_matrix(h)[0, :2, :2], torch.tensor([[cosh, -1j * sinh], [1j * sinh, cosh]], dtype=p.dtype))
    (w, x), moved = p[:2, 0].tolist(), multiply(p, h)
    point = torch.tensor([[cosh], [sinh]], dtype=torch.float64)
    real = torch.tensor([[w.real, x.imag], [x.real, -w.imag]], dtype=torch.float64) @ point
    imaginary = torch.tensor([[w.imag, -x.real], [x.imag, w.real]], dtype=torch.float64) @ point
    assert_equal(real_part(moved)[:2], real)
    assert_equal(imaginary_part(moved)[:2], imaginary)


@given(rapidity=ANGLES)
def test_the_worked_example_moves_along_two_hyperbolas_appendix_b(rapidity):
    """w = 1 + 2𝐈, x = 3 + 4𝐈: the conics through (1, 3) and (2, 4) have a positive discriminant B² - 4AC."""
    p = in_two_dimensions(1 + 2j, 3 + 4j)
    moved = multiply(p, in_two_dimensions(math.cosh(rapidity), 1j * math.sinh(rapidity)))
    a, b = real_part(moved)[:2, 0].tolist()
    c, d = imaginary_part(moved)[:2, 0].tolist()
    # cosh² φ - sinh² φ = 1, with cosh φ and sinh φ solved from the two printed equations
    assert (2 * a + 4 * b) ** 2 - (3 * a - b) ** 2 == pytest.approx(14**2, rel=1e-9)
    assert (c + 3 * d) ** 2 - (2 * d - 4 * c) ** 2 == pytest.approx(14**2, rel=1e-9)
    if rapidity == 0:
        assert (a, b, c, d) == (1, 3, 2, 4)
