"""What ConvE and its heirs share."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from bique.models.layers import by_channel, convolve


@pytest.mark.parametrize(("pictures", "up", "across"), [(1, 3, 3), (1, 4, 4), (3, 5, 5), (1, 2, 5)])
def test_a_product_with_patches_is_a_convolution(pictures: int, up: int, across: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, pictures, 9, 7, dtype=torch.float64, requires_grad=True)
    filters = torch.randn(6, up, across, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, pictures * 6, 10 - up, 8 - across, dtype=torch.float64)
    # groups: each picture by itself, the same filters for all
    torchs = functional.conv2d(x, filters[:, None].repeat(pictures, 1, 1, 1), groups=pictures)
    ours = convolve(x, filters)
    torch.testing.assert_close(ours, torchs)
    for one, other in zip(
        *(torch.autograd.grad((y * weights).sum(), (x, filters)) for y in (ours, torchs)), strict=True
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("training", [True, False])
def test_a_norm_by_channel_is_torchs(training: bool) -> None:
    torch.manual_seed(0)
    values = torch.randn(4, 3, 5, 2, dtype=torch.float64) * 2 + 1
    ours, torchs = torch.nn.BatchNorm1d(3).double(), torch.nn.BatchNorm2d(3).double()
    for norm in (ours, torchs):
        norm.weight.data = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
        norm.train(training)
    torch.testing.assert_close(by_channel(ours, values), torchs(values))
    torch.testing.assert_close(ours.running_var, torchs.running_var)
