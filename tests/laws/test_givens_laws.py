"""Givens rotations and reflections: lengths stay, rotations add up, a reflection is its own inverse."""

from __future__ import annotations

import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from bique.algebra.givens import reflect, rotate

angles = st.lists(st.floats(-math.pi, math.pi), min_size=1, max_size=4)
lengths = st.floats(1e-3, 1e3)


def towards(turns, length=1.0):
    theta = torch.tensor(turns, dtype=torch.float64)
    return length * torch.stack((theta.cos(), theta.sin()), dim=-1).flatten()


def some_vector(turns):
    return torch.randn(2 * len(turns), dtype=torch.float64, generator=torch.Generator().manual_seed(len(turns)))


def of_pairs(vector):
    return vector.unflatten(-1, (-1, 2)).norm(dim=-1)


@given(angles, lengths)
def test_every_pair_keeps_its_length_however_long_the_vector_that_points_the_way(turns, length):
    vector = some_vector(turns)
    for move in (rotate, reflect):
        assert_close(of_pairs(move(vector, towards(turns, length))), of_pairs(vector))
        assert_close(move(vector, towards(turns, length)), move(vector, towards(turns)))


@given(angles, st.floats(-math.pi, math.pi))
def test_rotations_add_up_and_commute(turns, other):
    vector, second = some_vector(turns), [other] * len(turns)
    both = rotate(rotate(vector, towards(turns)), towards(second))
    assert_close(both, rotate(vector, towards([one + other for one in turns])))
    assert_close(both, rotate(rotate(vector, towards(second)), towards(turns)))


@given(angles)
def test_a_rotation_is_a_product_with_a_complex_number(turns):
    vector = some_vector(turns)
    product = torch.view_as_complex(vector.view(-1, 2)) * torch.view_as_complex(towards(turns).view(-1, 2))
    assert_close(rotate(vector, towards(turns)), torch.view_as_real(product).flatten())


@given(angles, st.floats(-math.pi, math.pi))
def test_a_reflection_is_its_own_inverse_and_two_are_a_rotation_by_the_difference(turns, other):
    vector, second = some_vector(turns), [other] * len(turns)
    assert_close(reflect(reflect(vector, towards(turns)), towards(turns)), vector)
    both = reflect(reflect(vector, towards(turns)), towards(second))
    assert_close(both, rotate(vector, towards([other - one for one in turns])))


@given(angles)
def test_a_mirror_leaves_what_lies_in_it(turns):
    in_the_mirror = towards([one / 2 for one in turns])
    assert_close(reflect(in_the_mirror, towards(turns)), in_the_mirror)


def test_a_vector_that_points_nowhere_makes_zeros_and_no_nan():
    nowhere = torch.zeros(4, requires_grad=True)
    for move in (rotate, reflect):
        moved = move(torch.ones(4), nowhere)
        assert_close(moved, torch.zeros(4))
        (slope,) = torch.autograd.grad(moved.sum(), nowhere)
        assert slope.isfinite().all()


def test_no_vectors_are_no_vectors():
    for move in (rotate, reflect):
        assert move(torch.ones(0, 4), torch.ones(0, 4)).shape == (0, 4)
