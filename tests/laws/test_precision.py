"""Small angles and rapidities keep their digits where the textbook formulas lose them."""

from __future__ import annotations

import math

import pytest
import torch

from bique.algebra import decompose, polar_form

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
