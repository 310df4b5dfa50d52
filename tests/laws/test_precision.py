"""Small and large angles, and numbers at the ends of a dtype, keep digits that the textbook formulas lose."""

from __future__ import annotations

import math

import pytest
import torch

from bique.algebra import decompose, from_polar, norm, polar_form, vector_norm

DTYPES = pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["float32", "float64"])


@DTYPES
@pytest.mark.parametrize("part", [0.9, 1e-2, 1e-4, 1e-8, 1e-20, 1e-30])
def test_tiny_rapidities_keep_all_their_digits(part, dtype):
    """1 + 𝐈t·j has rapidity artanh t; from ‖q_r‖ = cosh φ nothing would be left of it below √eps."""
    q = torch.tensor([1, 0, 1j * part, 0], dtype=dtype).unsqueeze(-1)
    found = decompose(q)
    assert found.rapidity.item() == pytest.approx(math.atanh(part), rel=2e-6, abs=0)
    assert found.hyperbolic_axis.flatten().tolist() == [0, 1, 0]


@DTYPES
@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-20])
def test_small_angles_keep_all_their_digits(small, dtype):
    q = torch.tensor([1, small, 0, 0], dtype=dtype).unsqueeze(-1)
    assert decompose(q).angle.item() == pytest.approx(math.atan(small), rel=2e-6, abs=0)
    assert polar_form(q).angle.real.item() == pytest.approx(math.atan(small), rel=2e-6, abs=0)


@DTYPES
@pytest.mark.parametrize("imaginary", [5, -5])
def test_polar_form_with_a_strongly_hyperbolic_angle_gives_the_last_digits_back(imaginary, dtype):
    """One of e^{𝐈θ} and e^{-𝐈θ} has cancelled here, and must not be the one that is used."""
    length, axis = torch.ones(1, dtype=dtype), torch.tensor([[0.6], [0], [0.8]], dtype=dtype)
    q = from_polar(length, torch.tensor([1 + 1j * imaginary], dtype=dtype), axis)
    error = vector_norm(from_polar(*polar_form(q)) - q) / vector_norm(q)
    assert error.item() < 30 * torch.finfo(dtype).eps


@pytest.mark.parametrize(("dtype", "least", "most"), [(torch.complex64, -149, 127), (torch.complex128, -1074, 1023)])
def test_norms_are_exact_at_both_ends_of_the_dtype(dtype, least, most):
    """The smallest subnormal number and the largest power of two, in the place of w."""
    for exponent in (least, least + 12, most):
        number = math.ldexp(1.0, exponent)
        q = torch.tensor([number, 0, 0, 0], dtype=dtype).unsqueeze(-1)
        assert vector_norm(q).item() == number
        assert norm(q).item() == number
        assert decompose(q).modulus.item() == number
