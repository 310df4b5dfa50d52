"""Our batch norm is torch's: found, gradients and running statistics."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.kernels import batch_norm
from bique.kernels.batch_norm import BatchNorm


def drawn(*shape: int, seed: int, device: torch.device) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device)


def maps(batch: int, channels: int, device: torch.device) -> Tensor:
    """Far from 0, where sums of squares lose a variance; the channels of a place together in memory."""
    scale, centre = (drawn(channels, seed=seed, device=device) for seed in (1, 2))
    rows = drawn(batch, 3, 5, channels, seed=3, device=device) * (0.5 + scale.abs()) + 100 * centre
    return rows.permute(0, 3, 1, 2)


def taught(norm: nn.BatchNorm2d, device: torch.device) -> nn.BatchNorm2d:
    if norm.affine:
        with torch.no_grad():
            norm.weight.copy_(drawn(norm.num_features, seed=4, device=norm.weight.device))
            norm.bias.copy_(drawn(norm.num_features, seed=5, device=norm.bias.device))
    return norm.to(device)


@pytest.mark.parametrize("relu", [False, True], ids=["plain", "relu"])
@pytest.mark.parametrize(("channels", "affine"), [(1, False), (3, True), (32, True), (300, True)])
@pytest.mark.parametrize("share", ["a tile", "several tiles"])
def test_kernels_do_what_torch_does(
    channels: int, affine: bool, relu: bool, share: str, kernel_device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    # few rows are several tiles, the last one not full; the interpreter is slow where there are many
    monkeypatch.setattr(batch_norm, "TILE", 2048 if channels > 100 else 512)
    if share == "several tiles":
        monkeypatch.setattr(batch_norm, "PROGRAMS", 2)
    mine = taught(BatchNorm(channels, affine=affine, relu=relu), kernel_device)
    its = taught(nn.BatchNorm2d(channels, affine=affine), torch.device("cpu")).double()
    for batch in (21, 4):  # running statistics of two batches
        given = maps(batch, channels, kernel_device).requires_grad_()
        exact = given.detach().cpu().double().requires_grad_()
        slopes = drawn(*given.shape, seed=6, device=kernel_device)
        found, expected = mine(given), its(exact)
        expected = functional.relu(expected) if relu else expected
        torch.testing.assert_close(found.cpu().double(), expected, rtol=1e-4, atol=2e-4)
        gradients = torch.autograd.grad(found, [given, *mine.parameters()], slopes)
        wanted = torch.autograd.grad(expected, [exact, *its.parameters()], slopes.cpu().double())
        for one, other in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(one.cpu().double(), other, rtol=1e-3, atol=1e-2 if one.ndim == 1 else 1e-3)
    for name, one in mine.state_dict().items():
        torch.testing.assert_close(one.cpu().double(), its.state_dict()[name].double(), rtol=1e-4, atol=1e-4)


def test_evaluation_is_torchs(kernel_device: torch.device) -> None:
    mine = taught(BatchNorm(4, relu=True), kernel_device).eval()
    its = taught(nn.BatchNorm2d(4), kernel_device).eval()
    given = maps(2, 4, kernel_device)
    assert torch.equal(mine(given), functional.relu(its(given)))


def test_channels_apart_in_memory_go_through_torch(
    kernel_device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(batch_norm, "_normalise")
    given = maps(2, 4, kernel_device).contiguous()
    torch.testing.assert_close(BatchNorm(4).to(kernel_device)(given), nn.BatchNorm2d(4).to(kernel_device)(given))


def test_one_row_has_no_statistics(kernel_device: torch.device) -> None:
    with pytest.raises((AssertionError, ValueError)):
        BatchNorm(4).to(kernel_device)(torch.zeros(1, 4, 1, 1, device=kernel_device))
