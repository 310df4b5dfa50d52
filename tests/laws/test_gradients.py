"""Autograd agrees with finite differences in float64 for every differentiable function of the algebra."""

from __future__ import annotations

import pytest
import torch

from bique.algebra import (
    as_biquaternion,
    as_reals,
    complex_conjugate,
    conjugate,
    decompose,
    dot,
    from_parts,
    from_polar,
    hermitian,
    imaginary_part,
    inverse,
    matrix_to_biquaternion,
    multiply,
    norm,
    normalise_unit,
    normalise_vector,
    polar_form,
    real_part,
    right_matrix,
    scalar_part,
    squared_norm,
    vector_norm,
    vector_part,
)


def random(*shape, dtype=torch.complex128):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(1)).requires_grad_()


def fields(q):
    return tuple(value for name, value in vars(decompose(q)).items() if name != "exists")


OF_ONE = [
    as_reals,
    complex_conjugate,
    conjugate,
    hermitian,
    imaginary_part,
    inverse,
    norm,
    normalise_unit,
    normalise_vector,
    polar_form,
    real_part,
    right_matrix,
    scalar_part,
    squared_norm,
    vector_norm,
    vector_part,
    fields,
]
OF_QUATERNIONS = [conjugate, inverse, norm, normalise_vector, right_matrix, squared_norm, vector_norm]


@pytest.mark.parametrize("function", OF_ONE)
def test_gradient_agrees_with_finite_differences(function):
    assert torch.autograd.gradcheck(function, random(2, 4, 3))


@pytest.mark.parametrize("function", OF_QUATERNIONS)
def test_gradient_for_quaternions_agrees_with_finite_differences(function):
    assert torch.autograd.gradcheck(function, random(2, 4, 3, dtype=torch.float64))


@pytest.mark.parametrize("function", [multiply, dot])
def test_gradient_of_products_agrees_with_finite_differences(function):
    p, q = random(2, 2, 4, 3).detach()
    assert torch.autograd.gradcheck(function, (p.requires_grad_(), q.requires_grad_()))


def test_gradient_of_a_product_with_one_biquaternion_for_all_is_summed():
    assert torch.autograd.gradcheck(multiply, (random(2, 4, 3), random(4, 3)))
    assert torch.autograd.gradcheck(multiply, (random(4, 3), random(2, 4, 3)))


@pytest.mark.parametrize("left", [torch.float64, torch.complex128])
def test_gradient_of_a_product_of_quaternion_and_biquaternion(left):
    assert torch.autograd.gradcheck(multiply, (random(4, 2, dtype=left), random(4, 2)))


def test_gradient_of_the_product_is_its_adjoint():
    p, q, t = random(3, 2, 4, 5).detach()
    p.requires_grad_(), q.requires_grad_()
    toward_p, toward_q = torch.autograd.grad(dot(multiply(p, q), t).sum(), (p, q))
    torch.testing.assert_close(toward_p, multiply(t, hermitian(q)))
    torch.testing.assert_close(toward_q, multiply(hermitian(p), t))


def test_gradients_of_the_ways_back_agree_with_finite_differences():
    assert torch.autograd.gradcheck(as_biquaternion, random(2, 16, dtype=torch.float64))
    assert torch.autograd.gradcheck(from_parts, (random(2, 3), random(2, 3, 3)))
    assert torch.autograd.gradcheck(from_polar, (random(2, 3), random(2, 3), random(2, 3, 3)))
    assert torch.autograd.gradcheck(lambda q: matrix_to_biquaternion(right_matrix(q)), random(2, 4, 3))
    assert torch.autograd.gradcheck(lambda q: decompose(q).compose(), random(2, 4, 3))
    assert torch.autograd.gradcheck(lambda q: decompose(q).compose_hyperbolic_first(), random(2, 4, 3))


def test_gradient_of_a_masked_decomposition_ignores_the_null_elements():
    q = random(2, 4, 3).detach()
    q[0, :, 0] = torch.tensor([1, 1j, 0, 0])
    q.requires_grad_()
    found = decompose(q, null="mask")
    (gradient,) = torch.autograd.grad(found.rapidity.sum() + found.modulus.sum() + found.angle.sum(), q)
    assert torch.all(gradient[0, :, 0] == 0)
    assert torch.all(gradient[0, :, 1:].abs().sum(-2) > 0)


@pytest.mark.parametrize("function", [squared_norm, norm, vector_norm, inverse, multiply])
def test_second_derivatives_agree_with_finite_differences(function):
    arguments = (random(4, 2), random(4, 2)) if function is multiply else (random(4, 2),)
    assert torch.autograd.gradgradcheck(function, arguments)
