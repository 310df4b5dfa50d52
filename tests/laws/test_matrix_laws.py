"""Section 3 and Theorem A.1: the matrix of multiplication from the right."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from bique.algebra import (
    as_biquaternion,
    as_reals,
    basis_like,
    complex_conjugate,
    conjugate,
    hermitian,
    inverse,
    matrix_to_biquaternion,
    multiply,
    right_matrix,
    squared_norm,
    vector_norm,
)

BIQUATERNIONS = st.lists(st.floats(-4, 4, allow_subnormal=False), min_size=8, max_size=8).map(
    lambda reals: as_biquaternion(torch.tensor(reals, dtype=torch.float64))
)
ONE, I, J, K = basis_like(torch.zeros(4, 1, dtype=torch.complex128))  # noqa: E741


def assert_equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


def column(q):
    """V(q) = (w, x, y, z)ᵀ for each unit."""
    return q.mT.unsqueeze(-1)


@given(q=BIQUATERNIONS)
def test_right_matrix_is_printed_so_equation_4(q):
    w, x, y, z = q[:, 0].tolist()
    printed = [[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]]
    assert torch.equal(right_matrix(q), torch.tensor([printed], dtype=torch.complex128))


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_hamilton_product_is_matrix_vector_product_equation_6(p, q):
    assert_equal(column(multiply(p, q)), right_matrix(q) @ column(p))


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_matrix_of_product_reverses_order_equation_7(p, q):
    assert_equal(right_matrix(multiply(p, q)), right_matrix(q) @ right_matrix(p))


def test_matrix_of_product_in_the_same_order_would_be_wrong():
    assert not torch.allclose(right_matrix(multiply(I, J)), right_matrix(I) @ right_matrix(J))


@given(q=BIQUATERNIONS)
def test_matrix_of_conjugate_is_transpose(q):
    assert torch.equal(right_matrix(conjugate(q)), right_matrix(q).mT)


@given(q=BIQUATERNIONS)
def test_matrix_of_complex_conjugate_is_complex_conjugate_of_matrix(q):
    assert torch.equal(right_matrix(complex_conjugate(q)), right_matrix(q).conj())


@given(q=BIQUATERNIONS)
def test_matrix_of_hermitian_is_conjugate_transpose(q):
    assert torch.equal(right_matrix(hermitian(q)), right_matrix(q).mH)


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_matrix_is_linear_and_the_matrix_of_one_is_the_identity(p, q):
    assert_equal(right_matrix(p + (2 - 1j) * q), right_matrix(p) + (2 - 1j) * right_matrix(q))
    assert torch.equal(right_matrix(ONE), torch.eye(4, dtype=torch.complex128).unsqueeze(0))


@given(q=BIQUATERNIONS)
def test_determinant_is_the_fourth_power_of_the_norm_theorem_a_1(q):
    size = max(1.0, vector_norm(q).item() ** 4)
    error = torch.linalg.det(right_matrix(q)) - squared_norm(q) ** 2
    assert error.abs().item() < 1e-12 * size


@given(q=BIQUATERNIONS)
def test_matrix_of_inverse_is_inverse_of_matrix(q):
    assume(vector_norm(q) > 0.1 and squared_norm(q).abs() > 0.05 * vector_norm(q) ** 2)
    identity = torch.eye(4, dtype=torch.complex128).unsqueeze(0)
    assert_equal(right_matrix(inverse(q)) @ right_matrix(q), identity)


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_matrix_gives_its_biquaternion_back(p, q):
    assert torch.equal(matrix_to_biquaternion(right_matrix(q)), q)
    assume(vector_norm(multiply(p, q)) > 0.1 * vector_norm(p) * vector_norm(q))
    assert_equal(matrix_to_biquaternion(right_matrix(q) @ right_matrix(p)), multiply(p, q))


def test_shapes_of_batches_and_units_survive_the_matrix():
    q = torch.randn(2, 3, 4, 5, dtype=torch.complex128)
    matrix = right_matrix(q)
    assert matrix.shape == (2, 3, 5, 4, 4)
    assert torch.equal(matrix[1, 2, 4], right_matrix(q[1, 2, :, 4:])[0])
    assert torch.equal(matrix_to_biquaternion(matrix), q)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_matrix_of_no_biquaternion_is_refused_with_its_place(dtype):
    matrix = right_matrix(torch.ones(2, 4, 3, dtype=dtype))
    matrix[1, 2] = torch.diag(torch.tensor([1, 1, 1, -1], dtype=dtype))
    with pytest.raises(ValueError, match=r"1 of 6 matrices are not M\(q\) of any biquaternion; .* at \(1, 2\)"):
        matrix_to_biquaternion(matrix)


@given(p=BIQUATERNIONS, q=BIQUATERNIONS)
def test_matrix_of_a_null_biquaternion_has_rank_two(p, q):
    assume(vector_norm(p) > 0.1 and squared_norm(p).abs() > 0.05 * vector_norm(p) ** 2)
    assume(vector_norm(q) > 0.1 and squared_norm(q).abs() > 0.05 * vector_norm(q) ** 2)
    null = multiply(multiply(p, ONE + 1j * I), q)
    assert torch.linalg.matrix_rank(right_matrix(null), rtol=1e-9).item() == 2


@given(q=BIQUATERNIONS)
def test_matrix_on_the_eight_reals_is_multiplication_of_the_reals(q):
    """As a map of ℝ⁸ the complex matrix has the same singular values, each twice."""
    images = as_reals(multiply(as_biquaternion(torch.eye(8, dtype=torch.float64)), q))
    assert_equal(
        torch.linalg.svdvals(images),
        torch.linalg.svdvals(right_matrix(q)[0]).repeat_interleave(2).sort().values.flip(0),
    )
