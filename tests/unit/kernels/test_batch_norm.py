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
@pytest.mark.parametrize(
    ("channels", "affine", "tile"), [(1, False, 64), (3, True, 512), (32, True, 512), (300, True, 2048)]
)
@pytest.mark.parametrize("programs", [1000, 4], ids=["a tile each", "several tiles each"])
def test_kernels_do_what_torch_does(
    channels: int,
    affine: bool,
    tile: int,
    relu: bool,
    programs: int,
    kernel_device: torch.device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch_norm, "TILE", tile)  # few rows are several tiles, the last one not full
    monkeypatch.setattr(batch_norm, "PROGRAMS", programs)
    mine = taught(BatchNorm(channels, affine=affine, relu=relu), kernel_device)
    its = taught(nn.BatchNorm2d(channels, affine=affine), torch.device("cpu")).double()
    for batch in (21, 4):  # running statistics of two batches
        given = maps(batch, channels, kernel_device).requires_grad_()
        exact = given.detach().cpu().double().requires_grad_()
        found, expected = mine(given), its(exact)
        assert by_kernels(found)
        slopes = drawn(*given.shape, seed=6, device=kernel_device)
        if relu:
            slopes[expected.abs() < 1e-3] = 0  # rounding may decide which side of the ReLU it is on
            expected = functional.relu(expected)
        torch.testing.assert_close(found.cpu().double(), expected, rtol=1e-4, atol=2e-4)
        gradients = torch.autograd.grad(found, [given, *mine.parameters()], slopes)
        wanted = torch.autograd.grad(expected, [exact, *its.parameters()], slopes.cpu().double())
        for one, other in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(one.cpu().double(), other, rtol=1e-3, atol=1e-2 if one.ndim == 1 else 1e-3)
    for name, one in mine.state_dict().items():
        torch.testing.assert_close(one.cpu().double(), its.state_dict()[name].double(), rtol=1e-4, atol=1e-4)


def by_kernels(found: Tensor) -> bool:
    """Whether the way back is ours, behind the permutation."""
    assert found.grad_fn is not None
    return "_Trained" in type(found.grad_fn.next_functions[0][0]).__name__


def test_a_first_row_that_is_far_out_does_not_cost_the_variance(kernel_device: torch.device) -> None:
    given = drawn(20_000, 1, 1, 1, seed=7, device=kernel_device)
    given[0] = 1000.0
    mine = BatchNorm(1, affine=False).to(kernel_device)
    mine(given.requires_grad_())
    assert mine.running_var is not None
    expected = 0.9 + 0.1 * given.detach().double().var().item()
    assert mine.running_var.item() == pytest.approx(expected, rel=1e-5)


def test_a_constant_channel_is_its_bias_and_teaches_nothing(kernel_device: torch.device) -> None:
    mine, given = BatchNorm(2, relu=True).to(kernel_device), torch.full((3, 2, 2, 2), 5.0, device=kernel_device)
    given = given.to(memory_format=torch.channels_last).requires_grad_()
    found = mine(given)
    assert by_kernels(found)
    assert (found == 0).all()
    gradients = torch.autograd.grad(found.sum(), [given, *mine.parameters()])
    assert all((one == 0).all() for one in gradients), "the ReLU has no slope at 0"


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_is_not_hidden(bad: float, kernel_device: torch.device) -> None:
    """A GPU's maximum of NaN and 0 is 0; the interpreter's is not, so only a CUDA device can fail here."""
    given = maps(3, 2, kernel_device).clone(memory_format=torch.preserve_format)
    given[1, 0, 0, 0] = bad
    mine = BatchNorm(2, relu=True).to(kernel_device)
    found = mine(given.requires_grad_())
    assert by_kernels(found)
    assert found[:, 0].isnan().all()
    assert found[:, 1].isfinite().all()
    assert mine.running_var is not None
    assert mine.running_var.isfinite().tolist() == [False, True]


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


@pytest.mark.parametrize("shape", [(1, 4, 1, 1), (5, 3, 1, 1)], ids=["one row", "too few channels"])
def test_maps_that_have_no_statistics_are_refused(shape: tuple[int, ...], kernel_device: torch.device) -> None:
    with pytest.raises(AssertionError):
        BatchNorm(4).to(kernel_device)(torch.zeros(shape, device=kernel_device))
