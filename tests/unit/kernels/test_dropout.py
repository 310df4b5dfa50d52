"""Dropout of our own on a CPU, against the law that torch's follows."""

from __future__ import annotations

import pytest
import torch

from bique.kernels.dropout import dropout

ONES = torch.ones(1000, 1001)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.37, 0.5, 0.9, 0.999])
def test_as_many_are_dropped_as_asked_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(0)
    found = dropout(ONES, share, training=True)
    spread = (share * (1 - share) / ONES.numel()) ** 0.5
    assert abs(float((found == 0).double().mean()) - share) < 4 * spread + 0.5 / 65536
    assert found.unique().tolist() == pytest.approx([0, 1 / (1 - share)], rel=0.01)
    assert float(found.double().mean()) == pytest.approx(1, abs=4 * spread / (1 - share))


def test_numbers_are_dropped_independently_wherever_they_lie() -> None:
    torch.manual_seed(1)
    kept = (dropout(torch.ones(4096, 512), 0.3, training=True) != 0).double() - 0.7
    bound = 4 * 0.21 / kept.numel() ** 0.5
    for apart in (1, 2, 3, 4, 5, 8, 511, 512, 513, 4096):
        flat = kept.flatten()
        assert abs(float((flat[apart:] * flat[:-apart]).mean())) < bound, apart
    assert float((kept.mean(0).abs()).max()) < 5 * (0.21 / 4096) ** 0.5
    assert float((kept.mean(1).abs()).max()) < 5 * (0.21 / 512) ** 0.5


def test_the_gradient_takes_the_way_of_the_values() -> None:
    values = torch.randn(7, 5, 3, dtype=torch.float64, requires_grad=True)
    found = dropout(values.mT, 0.4, training=True)
    (slope,) = torch.autograd.grad(found.sum(), values)
    assert found.dtype == slope.dtype == torch.float64
    torch.testing.assert_close(slope.mT * values.mT, found)
    assert 0 < int((slope == 0).sum()) < slope.numel()
    assert dropout(values.bfloat16(), 0.4, training=True).dtype == torch.bfloat16


@pytest.mark.parametrize("shape", [(0, 3), (1,), (2, 3), ()])
def test_any_shape_will_do(shape: tuple[int, ...]) -> None:
    assert dropout(torch.ones(shape), 0.5, training=True).shape == shape


def test_in_evaluation_and_without_a_share_nothing_is_touched() -> None:
    assert dropout(ONES, 0.5, training=False) is ONES
    assert torch.equal(dropout(ONES, 0.0, training=True), ONES)


def test_one_seed_drops_the_same_numbers() -> None:
    torch.manual_seed(5)
    first = dropout(ONES, 0.5, training=True)
    torch.manual_seed(5)
    assert torch.equal(first, dropout(ONES, 0.5, training=True))
    assert not torch.equal(first, dropout(ONES, 0.5, training=True))
