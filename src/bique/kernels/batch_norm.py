"""Batch norm of many rows of few channels and the ReLU behind it, in training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from bique.kernels.backend import have_kernel, jit, tl
from bique.shapes import Float

# numbers of a tile, the most channels of one, and programs that add up rows
TILE, MOST_CHANNELS, PROGRAMS = 4096, 256, 1024


class BatchNorm(nn.BatchNorm2d):
    """`nn.BatchNorm2d`, and ReLU behind it if `relu`.

    Trained by kernels where they can run and the channels of a place lie together in memory; else by torch.
    """

    def __init__(self, channels: int, *, affine: bool = True, relu: bool = False) -> None:
        super().__init__(channels, affine=affine)
        self.relu = relu

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, maps: Float[Tensor, "batch channels up across"]
    ) -> Float[Tensor, "batch channels up across"]:
        rows = maps.permute(0, 2, 3, 1)
        if not (self.training and rows.is_contiguous() and have_kernel(maps)):
            found = super().forward(maps)
            return functional.relu(found) if self.relu else found
        assert rows.shape[-1] == self.num_features, "as many channels as there are statistics"
        assert rows.numel() > self.num_features, "the statistics of a batch need two rows"
        assert self.num_batches_tracked is not None
        self.num_batches_tracked += 1
        return _Trained.apply(rows, self.weight, self.bias, self).permute(0, 3, 1, 2)  # type: ignore[no-any-return]


class _Trained(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor | None, bias: Tensor | None, norm: BatchNorm) -> Tensor:
        moments = _moments(rows, norm)
        ctx.save_for_backward(rows, weight, bias, moments)
        ctx.relu = norm.relu
        found, plan = torch.empty_like(rows), _Plan(rows)
        options = plan.options | {"AFFINE": weight is not None, "RELU": norm.relu}
        affine = (moments, moments) if weight is None else (weight, bias)  # not read without
        _normalise[plan.tiles](rows, moments, *affine, found, *plan.shape, **options)
        return found

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *slopes: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor | None, None]:
        rows, weight, bias, moments = ctx.saved_tensors
        slope, plan = slopes[0].contiguous(), _Plan(rows)
        options = plan.options | {"AFFINE": weight is not None, "RELU": ctx.relu}
        affine = (moments, moments) if weight is None else (weight, bias)
        parts = plan.new_parts(rows)
        _add_slopes[plan.sums](rows, slope, moments, *affine, parts, plan.share, *plan.shape, **options)
        sums, found = parts.sum(0), torch.empty_like(rows)
        _go_back[plan.tiles](rows, slope, moments, *affine, sums, found, *plan.shape, **options)
        return found, None if weight is None else sums[1], None if bias is None else sums[0], None


class _Plan:
    """Which program takes which rows and channels."""

    def __init__(self, rows: Float[Tensor, "batch up across channels"]) -> None:
        channels = rows.shape[-1]
        count = rows.numel() // channels
        block = min(MOST_CHANNELS, 1 << (channels - 1).bit_length())
        at_once, across = TILE // block, -(-channels // block)
        tiles = -(-count // at_once)
        self.shape = count, channels
        self.options = {"AT_ONCE": at_once, "BLOCK": block}
        self.share = at_once * -(-tiles * across // PROGRAMS)
        self.tiles, self.sums = (tiles, across), (-(-count // self.share), across)

    def new_parts(self, rows: Tensor) -> Float[Tensor, "programs 2 channels"]:
        return rows.new_empty(self.sums[0], 2, self.shape[1])


def _moments(rows: Tensor, norm: BatchNorm) -> Float[Tensor, "2 channels"]:
    """Mean and 1/deviation of each channel; the norm's running ones follow."""
    plan = _Plan(rows)
    parts = plan.new_parts(rows)
    _add_rows[plan.sums](rows, parts, plan.share, *plan.shape, **plan.options)
    moments = rows.new_empty(2, plan.shape[1])
    running = norm.running_mean, norm.running_var
    numbers = len(parts), plan.share, *plan.shape, norm.eps, norm.momentum
    _finish[(plan.sums[1],)](parts, moments, *running, *numbers, AT_ONCE=32, BLOCK=plan.options["BLOCK"])
    return moments


@jit
def _tile(start, end, channels, AT_ONCE: tl.constexpr, BLOCK: tl.constexpr):
    """This program's channels and which there are; of its rows from `start`, which numbers, and where they lie."""
    channel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    a_channel = channel < channels
    row = start + tl.arange(0, AT_ONCE)
    inside = (row < end)[:, None] & a_channel[None, :]
    return channel, a_channel, inside, row.to(tl.int64)[:, None] * channels + channel[None, :]


@jit
def _add_rows(rows, parts, share, count, channels, AT_ONCE: tl.constexpr, BLOCK: tl.constexpr):
    """Mean of a program's rows and Σ of squared differences from it.

    By what rows differ from the mean of a few of them: Σ of the squares themselves would lose a small variance.
    """
    program = tl.program_id(0)
    begin = program * share
    end = tl.minimum(begin + share, count)
    channel, a_channel, inside, place = _tile(begin, end, channels, AT_ONCE, BLOCK)
    near = tl.sum(tl.load(rows + place, inside, 0.0), 0) / tl.minimum(AT_ONCE, end - begin)
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(begin, end, AT_ONCE):
        channel, a_channel, inside, place = _tile(start, end, channels, AT_ONCE, BLOCK)
        x = tl.where(inside, tl.load(rows + place, inside, 0.0) - near[None, :], 0.0)
        total += tl.sum(x, 0)
        squares += tl.sum(x * x, 0)
    off = total / (end - begin)
    part = parts + program * 2 * channels + channel
    tl.store(part, near + off, a_channel)
    tl.store(part + channels, squares - off * total, a_channel)


@jit
def _finish(
    parts,
    moments,
    running_mean,
    running_variance,
    programs,
    share,
    count,
    channels,
    eps,
    momentum,
    AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The moments of all rows from those of each program's, where differences of their means count, too."""
    channel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a_channel = channel < channels
    near = tl.load(parts + channel, a_channel, 0.0)
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, programs, AT_ONCE):
        part = start + tl.arange(0, AT_ONCE)
        inside = (part < programs)[:, None] & a_channel[None, :]
        number = tl.minimum(share, count - part * share).to(tl.float32)[:, None]
        place = parts + part[:, None] * 2 * channels + channel[None, :]
        off = tl.where(inside, tl.load(place, inside, 0.0) - near[None, :], 0.0)
        total += tl.sum(number * off, 0)
        squares += tl.sum(tl.load(place + channels, inside, 0.0) + number * off * off, 0)
    off = total / count
    mean = near + off
    variance = squares / count - off * off
    variance = tl.where(variance < 0, 0.0, variance)  # not a maximum, in which NaN would be lost
    tl.store(moments + channel, mean, a_channel)
    tl.store(moments + channels + channel, 1 / tl.sqrt(variance + eps), a_channel)
    old_mean = tl.load(running_mean + channel, a_channel, 0.0)
    old_variance = tl.load(running_variance + channel, a_channel, 0.0)
    unbiased = variance * (count / (count - 1))
    tl.store(running_mean + channel, old_mean + momentum * (mean - old_mean), a_channel)
    tl.store(running_variance + channel, old_variance + momentum * (unbiased - old_variance), a_channel)


@jit
def _normalised(rows, place, inside, moments, weight, bias, channel, a_channel, channels, AFFINE: tl.constexpr):
    """A tile of normalised rows, and what is made of it before the ReLU."""
    mean = tl.load(moments + channel, a_channel, 0.0)[None, :]
    scale = tl.load(moments + channels + channel, a_channel, 0.0)[None, :]
    normal = (tl.load(rows + place, inside, 0.0) - mean) * scale
    made = normal
    if AFFINE:
        made = normal * tl.load(weight + channel, a_channel, 0.0)[None, :]
        made += tl.load(bias + channel, a_channel, 0.0)[None, :]
    return normal, made


@jit
def _normalise(
    rows,
    moments,
    weight,
    bias,
    found,
    count,
    channels,
    AFFINE: tl.constexpr,
    RELU: tl.constexpr,
    AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    channel, a_channel, inside, place = _tile(tl.program_id(0) * AT_ONCE, count, channels, AT_ONCE, BLOCK)
    _, made = _normalised(rows, place, inside, moments, weight, bias, channel, a_channel, channels, AFFINE)
    if RELU:
        made = tl.where(made <= 0, 0.0, made)  # NaN stays NaN, as in torch
    tl.store(found + place, made, inside)


@jit
def _add_slopes(
    rows,
    slopes,
    moments,
    weight,
    bias,
    parts,
    share,
    count,
    channels,
    AFFINE: tl.constexpr,
    RELU: tl.constexpr,
    AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Σ slope and Σ slope · normalised row."""
    program = tl.program_id(0)
    end = tl.minimum((program + 1) * share, count)
    channel, a_channel, inside, place = _tile(program * share, end, channels, AT_ONCE, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    products = tl.zeros([BLOCK], tl.float32)
    for start in range(program * share, end, AT_ONCE):
        channel, a_channel, inside, place = _tile(start, end, channels, AT_ONCE, BLOCK)
        normal, made = _normalised(rows, place, inside, moments, weight, bias, channel, a_channel, channels, AFFINE)
        slope = tl.load(slopes + place, inside, 0.0)
        if RELU:
            slope = tl.where(made <= 0, 0.0, slope)
        total += tl.sum(slope, 0)
        products += tl.sum(slope * normal, 0)
    part = parts + program * 2 * channels + channel
    tl.store(part, total, a_channel)
    tl.store(part + channels, products, a_channel)


@jit
def _go_back(
    rows,
    slopes,
    moments,
    weight,
    bias,
    sums,
    found,
    count,
    channels,
    AFFINE: tl.constexpr,
    RELU: tl.constexpr,
    AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """A row moves its own normalised numbers and, by mean and deviation, those of all others."""
    channel, a_channel, inside, place = _tile(tl.program_id(0) * AT_ONCE, count, channels, AT_ONCE, BLOCK)
    normal, made = _normalised(rows, place, inside, moments, weight, bias, channel, a_channel, channels, AFFINE)
    slope = tl.load(slopes + place, inside, 0.0)
    if RELU:
        slope = tl.where(made <= 0, 0.0, slope)
    mean_slope = tl.load(sums + channel, a_channel, 0.0)[None, :] / count
    mean_product = tl.load(sums + channels + channel, a_channel, 0.0)[None, :] / count
    scale = tl.load(moments + channels + channel, a_channel, 0.0)[None, :]
    if AFFINE:
        scale *= tl.load(weight + channel, a_channel, 0.0)[None, :]
    tl.store(found + place, scale * (slope - mean_slope - normal * mean_product), inside)
