"""The cast of edge values: every function has a finite answer with a finite gradient, or a clear error, for each."""

from __future__ import annotations

import math

import pytest
import torch

from bique.algebra import (
    Decomposition,
    as_reals,
    complex_conjugate,
    conjugate,
    decompose,
    dot,
    from_polar,
    hermitian,
    imaginary_part,
    inverse,
    is_null,
    is_unit,
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

# name: (w, x, y, z), to be multiplied by HUGE or TINY where the name says so
CAST = {
    "generic": (1 + 2j, 3 - 1j, 0.5, 2j),
    "zero": (0, 0, 0, 0),
    "one": (1, 0, 0, 0),
    "complex unit": (1j, 0, 0, 0),
    "minus complex unit": (-1j, 0, 0, 0),
    "minus one": (-1, 0, 0, 0),
    "quaternion, q_i = 0": (1, 2, -1, 0.5),
    "q_r = 0": (1j, 2j, -1j, 0.5j),
    "pure": (0, 2, -1, 0.5),
    "scalar, v(q) = 0": (2 + 1j, 0, 0, 0),
    "v(q_r) = 0": (1.25, 0.75j, 0, 0),
    "v(q_r) = 0, w < 0": (-1.25, 0.75j, 0, 0),
    "parallel parts": (1 + 2j, 2 + 4j, -3 - 6j, 4 + 8j),
    "null": (1, 1j, 0, 0),
    "null product": (1 + 2j, -2 + 1j, 3 - 4j, 4 + 3j),
    "null vector part": (1, 1, 1j, 0),
    "huge": (1 + 2j, 3 - 1j, 0.5, 2j),
    "huge quaternion": (1, 2, -1, 0.5),
    "huge null": (1, 1j, 0, 0),
    "tiny": (1 + 2j, 3 - 1j, 0.5, 2j),
    "tiny quaternion": (1, 2, -1, 0.5),
    "tiny null": (1, 1j, 0, 0),
    "imaginary part tiny": (1, 0, 1e-30j, 0),
}
NULL = {"zero", "null", "null product", "huge null", "tiny null"}
DTYPES = pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=["float32", "float64"])
HUGE = {torch.complex64: 1e30, torch.complex128: 1e300}


def member(name, dtype):
    size = {"huge": HUGE[dtype], "tiny": 1 / HUGE[dtype]}.get(name.split()[0], 1)
    return torch.tensor(CAST[name], dtype=dtype).unsqueeze(-1) * size


def fields(found: Decomposition):
    return tuple(value for name, value in vars(found).items() if name != "exists")


def partner(q):
    return torch.tensor([1, 2, 3, 4], dtype=q.dtype).unsqueeze(-1)


FUNCTIONS = {
    "as_reals": as_reals,
    "multiply": lambda q: (multiply(q, partner(q)), multiply(partner(q), q)),
    "conjugate": conjugate,
    "complex_conjugate": complex_conjugate,
    "hermitian": hermitian,
    "scalar_part": scalar_part,
    "vector_part": vector_part,
    "real_part": real_part,
    "imaginary_part": imaginary_part,
    "dot": lambda q: dot(q, partner(q)),
    "squared_norm": squared_norm,
    "norm": norm,
    "vector_norm": vector_norm,
    "inverse": inverse,
    "polar_form": polar_form,
    "from_polar": lambda q: from_polar(*polar_form(q)),
    "right_matrix": right_matrix,
    "matrix_to_biquaternion": lambda q: matrix_to_biquaternion(right_matrix(q)),
    "normalise_vector": normalise_vector,
    "normalise_unit": normalise_unit,
    "decompose": lambda q: fields(decompose(q)),
    "decompose with a mask": lambda q: fields(decompose(q, null="mask")),
    "compose": lambda q: decompose(q).compose(),
    "compose_hyperbolic_first": lambda q: decompose(q).compose_hyperbolic_first(),
}
REFUSED = {
    "inverse": NULL,
    "decompose": NULL,
    "compose": NULL,
    "compose_hyperbolic_first": NULL,
    "polar_form": NULL | {"null vector part"},
    "from_polar": NULL | {"null vector part"},
}
# numbers that no float of that size can hold: (1e30)² in float32, and the slope (1e-30)⁻² of the inverse
VALUE_TOO_LARGE = {"squared_norm": {"huge", "huge quaternion"}}
GRADIENT_TOO_LARGE = {"inverse": {"tiny", "tiny quaternion"}}


def tensors(answer):
    return (answer,) if isinstance(answer, torch.Tensor) else tuple(answer)


@DTYPES
@pytest.mark.parametrize("name", CAST)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_edge_value_has_a_finite_answer_and_gradient_or_a_clear_error(function, name, dtype):
    q = member(name, dtype).requires_grad_()
    if name in REFUSED.get(function, ()):
        with pytest.raises(ZeroDivisionError, match=r"^1 of 1 biquaternions .*; the first is at \(0,\)$"):
            FUNCTIONS[function](q)
        return
    answers = tensors(FUNCTIONS[function](q))
    parts = [torch.view_as_real(answer) if answer.is_complex() else answer for answer in answers]
    if name in VALUE_TOO_LARGE.get(function, ()):
        assert not any(part.isnan().any() for part in parts)
        assert any(part.isinf().any() for part in parts)
    else:
        assert all(part.isfinite().all() for part in parts)
    (gradient,) = torch.autograd.grad(parts, q, grad_outputs=[torch.ones_like(part) for part in parts])
    if name not in GRADIENT_TOO_LARGE.get(function, ()):
        assert torch.view_as_real(gradient).isfinite().all()


# name: ‖q‖², ‖q‖, ‖q‖_v², is_unit; what is not listed has them from its generic relative below
MEASURES = {
    "zero": (0, 0, 0, False),
    "one": (1, 1, 1, True),
    "complex unit": (-1, 1j, 1, False),
    "minus complex unit": (-1, 1j, 1, False),
    "minus one": (1, 1, 1, True),
    "quaternion, q_i = 0": (6.25, 2.5, 6.25, False),
    "q_r = 0": (-6.25, 2.5j, 6.25, False),
    "scalar, v(q) = 0": (3 + 4j, 2 + 1j, 5, False),
    "v(q_r) = 0": (1, 1, 2.125, True),
    "v(q_r) = 0, w < 0": (1, 1, 2.125, True),
    "parallel parts": (-90 + 120j, math.sqrt(30) * (1 + 2j), 150, False),
    "null": (0, 0, 2, False),
    "null product": (0, 0, 60, False),
    "null vector part": (1, 1, 3, True),
    "huge null": (0, 0, math.inf, False),
    "tiny null": (0, 0, 0, False),
}


@DTYPES
@pytest.mark.parametrize("name", MEASURES)
def test_norms_of_the_cast_are_known(name, dtype):
    q = member(name, dtype)
    square, root, length, unit = MEASURES[name]
    assert squared_norm(q).item() == pytest.approx(square, rel=1e-6)
    assert norm(q).item() == pytest.approx(root, rel=1e-6)
    assert vector_norm(q).square().item() == pytest.approx(length, rel=1e-6)
    assert is_unit(q).item() is unit
    assert is_null(q).item() is (name in NULL)


# degree n: f(sq) = sⁿ f(q) for every positive s
DEGREES = {
    "norm": 1,
    "vector_norm": 1,
    "inverse": -1,
    "normalise_vector": 0,
    "compose": 1,
    "compose_hyperbolic_first": 1,
    "from_polar": 1,
    "right_matrix": 1,
}


@DTYPES
@pytest.mark.parametrize("size", ["huge", "tiny"])
@pytest.mark.parametrize("function", DEGREES)
def test_huge_and_tiny_values_neither_overflow_nor_underflow(function, size, dtype):
    factor = HUGE[dtype] ** (1 if size == "huge" else -1)
    expected = FUNCTIONS[function](member("generic", dtype))
    actual = FUNCTIONS[function](member(size, dtype)) * factor ** -DEGREES[function]
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize(("dtype", "factor"), [(torch.complex64, 1e30), (torch.complex128, 1e290)])
def test_unit_normalisation_does_not_depend_on_the_size(dtype, factor):
    q = member("generic", dtype)
    torch.testing.assert_close(normalise_unit(q * factor), normalise_unit(q))
    torch.testing.assert_close(normalise_unit(q / factor), normalise_unit(q))


@DTYPES
@pytest.mark.parametrize("size", ["huge", "tiny"])
def test_angles_and_axes_do_not_depend_on_the_size(size, dtype):
    factor = HUGE[dtype] ** (1 if size == "huge" else -1)
    usual, extreme = decompose(member("generic", dtype)), decompose(member(size, dtype))
    torch.testing.assert_close(extreme.modulus / factor, usual.modulus)
    for name in ("phase", "angle", "circular_axis", "rapidity", "hyperbolic_axis", "hyperbolic_axis_first"):
        torch.testing.assert_close(getattr(extreme, name), getattr(usual, name))
    usual, extreme = polar_form(member("generic", dtype)), polar_form(member(size, dtype))
    torch.testing.assert_close(extreme.angle, usual.angle)
    torch.testing.assert_close(extreme.axis, usual.axis)


@DTYPES
@pytest.mark.parametrize("name", sorted(CAST.keys() - NULL))
def test_the_cast_is_composed_again_to_the_last_digits(name, dtype):
    q = member(name, dtype)
    found = decompose(q)
    allowed = 10 * torch.finfo(dtype).eps * vector_norm(q)
    assert torch.all((found.compose() - q).abs() <= allowed)
    assert torch.all((found.compose_hyperbolic_first() - q).abs() <= allowed)


@DTYPES
def test_limits_of_the_decomposition(dtype):
    quaternion = decompose(member("quaternion, q_i = 0", dtype))
    assert quaternion.rapidity.item() == 0
    assert torch.all(quaternion.hyperbolic_axis == 0)
    assert torch.all(quaternion.hyperbolic_axis_first == 0)
    for name, angle in (("v(q_r) = 0", 0.0), ("v(q_r) = 0, w < 0", math.pi)):
        boost = decompose(member(name, dtype))
        assert torch.all(boost.circular_axis == 0)
        assert boost.angle.item() == pytest.approx(angle)
        assert boost.rapidity.item() == pytest.approx(math.log(2))
    scalar = decompose(member("scalar, v(q) = 0", dtype))
    assert scalar.scale.item() == pytest.approx(2 + 1j)
    assert scalar.rapidity.item() == 0


@DTYPES
def test_limits_of_the_polar_form(dtype):
    for name, angle in (("one", 0.0), ("minus one", math.pi), ("scalar, v(q) = 0", 0.0)):
        found = polar_form(member(name, dtype))
        assert found.angle.item() == pytest.approx(angle)
        assert torch.all(found.axis == 0)


@DTYPES
def test_null_elements_are_masked_and_leave_the_others_alone(dtype):
    names = sorted(CAST)
    q = torch.cat([member(name, dtype) for name in names], dim=-1).expand(2, 4, -1)
    found = decompose(q, null="mask")
    assert found.exists.tolist() == [[name not in NULL for name in names]] * 2
    for field in fields(found):
        assert torch.all(field.movedim(-1, 0)[~found.exists[0]] == 0)
    alone = decompose(member("generic", dtype))
    torch.testing.assert_close(found.rapidity[1, names.index("generic")], alone.rapidity[0])
    assert torch.all(found.compose().mT[~found.exists] == 0)


@DTYPES
def test_decomposition_of_null_elements_says_how_many_and_where(dtype):
    q = torch.ones(3, 4, 2, dtype=dtype)
    q[2, :, 0] = torch.tensor(CAST["null"], dtype=dtype)
    with pytest.raises(ZeroDivisionError, match=r'1 of 6 .*null="mask" leaves them out; the first is at \(2, 0\)'):
        decompose(q)


@DTYPES
def test_gradient_of_the_cubed_length_is_its_closed_form_also_at_zero(dtype):
    q = torch.cat([member(name, dtype) for name in ("zero", "generic", "null")], dim=-1).requires_grad_()
    (gradient,) = torch.autograd.grad((vector_norm(q) ** 3).sum(), q)
    torch.testing.assert_close(gradient, (3 * vector_norm(q) * q).detach())


@DTYPES
def test_numbers_too_small_to_divide_by_count_as_zero(dtype):
    q = torch.full((4, 1), torch.finfo(dtype).tiny / 4, dtype=dtype).requires_grad_()
    for normalise in (normalise_vector, normalise_unit):
        normal = normalise(q)
        assert torch.equal(normal, normalise(torch.zeros_like(q)))
        (gradient,) = torch.autograd.grad(torch.view_as_real(normal).sum(), q)
        assert torch.all(gradient == 0)
    assert torch.all(vector_norm(q) > 0)


def test_tensors_without_any_biquaternion_are_fine():
    q = torch.zeros(0, 4, 1, dtype=torch.complex64)
    for function in FUNCTIONS.values():
        assert all(len(answer) == 0 for answer in tensors(function(q)))
