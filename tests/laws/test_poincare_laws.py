"""The Poincaré ball: its own laws, and geoopt as an oracle."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bique.algebra.poincare import distance, exp0, into_ball, log0, mobius_add

curvatures = st.floats(0.05, 5.0)
seeds = st.integers(0, 2**31)


def points(seed: int, c: float, count: int = 3) -> tuple[torch.Tensor, ...]:
    """Well inside the ball of curvature −c, and c as a column."""
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(count, 5, 4, generator=generator, dtype=torch.float64)
    radii = 0.9 * torch.rand(count, 5, 1, generator=generator, dtype=torch.float64) / c**0.5
    found = directions / directions.norm(dim=-1, keepdim=True) * radii
    return (*found, torch.full((5, 1), c, dtype=torch.float64))


@given(seeds, curvatures)
def test_left_cancellation(seed: int, c: float) -> None:
    x, y, _, curvature = points(seed, c)
    torch.testing.assert_close(mobius_add(-x, mobius_add(x, y, curvature), curvature), y)


@given(seeds, curvatures)
def test_zero_is_neutral_and_sums_stay_in_the_ball(seed: int, c: float) -> None:
    x, y, _, curvature = points(seed, c)
    torch.testing.assert_close(mobius_add(torch.zeros_like(x), x, curvature), x)
    torch.testing.assert_close(mobius_add(x, torch.zeros_like(x), curvature), x)
    assert (c * mobius_add(x, y, curvature).square().sum(-1) < 1).all()


@given(seeds, curvatures)
def test_translation_from_the_left_keeps_distances(seed: int, c: float) -> None:
    x, y, a, curvature = points(seed, c)
    moved = distance(mobius_add(a, x, curvature), mobius_add(a, y, curvature), curvature)
    torch.testing.assert_close(moved, distance(x, y, curvature), rtol=1e-5, atol=1e-6)


@given(seeds, curvatures)
def test_the_distance_is_a_metric(seed: int, c: float) -> None:
    x, y, z, curvature = points(seed, c)
    xy, yz, xz = distance(x, y, curvature), distance(y, z, curvature), distance(x, z, curvature)
    torch.testing.assert_close(xy, distance(y, x, curvature))
    assert (xz <= xy + yz + 1e-9).all()
    assert distance(x, x, curvature).max() < 1e-6


@given(seeds, curvatures)
def test_exp_and_log_undo_each_other_and_measure_the_way(seed: int, c: float) -> None:
    x, _, _, curvature = points(seed, c)
    torch.testing.assert_close(exp0(log0(x, curvature), curvature), x)
    torch.testing.assert_close(
        distance(torch.zeros_like(x), x, curvature), 2 * log0(x, curvature).norm(dim=-1), rtol=1e-5, atol=1e-6
    )


@given(seeds)
def test_without_curvature_the_ball_is_flat(seed: int) -> None:
    x, y, _, curvature = points(seed, 1e-8)
    x, y = x * 1e-5, y * 1e-5
    torch.testing.assert_close(mobius_add(x, y, curvature), x + y, rtol=1e-5, atol=1e-8)
    torch.testing.assert_close(distance(x, y, curvature), 2 * (x - y).norm(dim=-1), rtol=1e-4, atol=1e-6)


def test_points_outside_are_put_inside_and_gradients_at_zero_exist() -> None:
    one = torch.ones(1, 1, dtype=torch.float64)
    far = into_ball(torch.full((1, 3), 9.0, dtype=torch.float64), one)
    assert far.norm() < 1
    zero = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    (exp0(zero, one).sum() + log0(zero, one).sum() + distance(zero, zero.detach() + 0.1, one).sum()).backward()
    assert torch.isfinite(zero.grad).all()


@pytest.mark.parametrize("length", [4.0, 5.0, 7.0, 50.0])
def test_float32_near_the_edge_tells_points_apart(length: float) -> None:
    """A point is near itself, others are not all at one distance, and there is a gradient."""
    one = torch.ones(1, 1)
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(20, 32, generator=generator)
    v = (v / v.norm(dim=1, keepdim=True) * length).requires_grad_()
    points = into_ball(exp0(v, one), one)
    every = distance(points[:, None], points[None], one[None])
    assert every.diagonal().max() < 0.2
    others = every[~torch.eye(20, dtype=torch.bool)]
    assert len(others.unique()) > 100
    assert others.min() > 2
    (gradient,) = torch.autograd.grad(others.sum(), v)
    assert torch.isfinite(gradient).all()
    assert gradient.abs().max() > 1e-6


@given(seeds, curvatures)
def test_geoopt_says_the_same(seed: int, c: float) -> None:
    geoopt = pytest.importorskip("geoopt")
    ball = geoopt.PoincareBall(c=torch.tensor(c, dtype=torch.float64))
    x, y, _, curvature = points(seed, c)
    torch.testing.assert_close(mobius_add(x, y, curvature), ball.mobius_add(x, y))
    torch.testing.assert_close(exp0(x, curvature), ball.expmap0(x))
    torch.testing.assert_close(log0(x, curvature), ball.logmap0(x))
    torch.testing.assert_close(distance(x, y, curvature), ball.dist(x, y), rtol=1e-6, atol=1e-6)
