"""What ConvE and its heirs share."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from bique.models.layers import convolve


@pytest.mark.parametrize(("pictures", "kernel"), [(1, 3), (1, 4), (3, 5)])
def test_a_product_with_patches_is_a_convolution(pictures: int, kernel: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, pictures, 9, 7, dtype=torch.float64, requires_grad=True)
    filters = torch.randn(6, kernel, kernel, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, pictures * 6, 10 - kernel, 8 - kernel, dtype=torch.float64)
    # groups: each picture by itself, the same filters for all
    torchs = functional.conv2d(x, filters[:, None].repeat(pictures, 1, 1, 1), groups=pictures)
    ours = convolve(x, filters)
    torch.testing.assert_close(ours, torchs)
    for one, other in zip(
        *(torch.autograd.grad((y * weights).sum(), (x, filters)) for y in (ours, torchs)), strict=True
    ):
        torch.testing.assert_close(one, other)
