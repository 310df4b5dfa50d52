"""What ConvE and its heirs share."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from bique.config import parse_config
from bique.models import MODELS, Size
from bique.models.layers import convolve


@pytest.mark.parametrize(("pictures", "up", "across"), [(1, 3, 3), (1, 4, 4), (3, 5, 5), (1, 2, 5), (2, 3, 6)])
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


def test_dropout_takes_whole_feature_maps() -> None:
    config = parse_config({"dataset": "small", "model": {"name": "conve", "units": 24, "height": 4}}).model
    model: Any = MODELS["conve"](config, Size(5, 4), torch.Generator().manual_seed(0)).train()
    seen: list[torch.Tensor] = []
    model.reader.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    torch.manual_seed(0)
    model.query(torch.arange(5), torch.zeros(5, dtype=torch.int64))
    maps = seen[0].view(5, -1, 32)  # place by place
    gone = (maps == 0).all(1)
    assert 0.05 < gone.double().mean() < 0.5  # a fifth of them
    # relu leaves some places of a map at 0, but hardly any map of 24 places with half of them gone
    assert ((maps != 0).double().mean(1)[~gone] > 0.1).all()
