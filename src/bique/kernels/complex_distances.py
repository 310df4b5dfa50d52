"""Distances of complex rows that no matrix product gives."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from bique.kernels.backend import can_use_triton, jit, tl, why_no_triton
from bique.shapes import Float

# rows and reals of the differences held at once by the plain path: what a processor's cache holds, or many
ROWS_AT_ONCE, AT_ONCE, AT_ONCE_ELSEWHERE = 256, 1 << 20, 1 << 24
TILE = 64
DIRECTION_TILE = 32
LEAST = 1e-12
"""The root has no gradient at 0."""


def complex_distances(
    queries: Float[Tensor, "*n batch width"], candidates: Float[Tensor, "*n candidates width"]
) -> Float[Tensor, "*n batch candidates"]:
    """Σ |q − c| over the complex numbers of a row, real and imaginary parts in turn, for every query and candidate.

    Between two tables few differences or none are held in memory, there and on the way back.
    """
    if not queries.ndim == candidates.ndim == 2:
        return complex_distances_plain(queries, candidates)
    trained = torch.is_grad_enabled() and (queries.requires_grad or candidates.requires_grad)
    # the first call of an operation of one's own takes a second, which nobody should wait for an answer
    return trained_distances(queries, candidates) if trained else _between_tables(queries, candidates)


def _between_tables(queries: Float[Tensor, "batch width"], candidates: Float[Tensor, "candidates width"]) -> Tensor:
    assert queries.shape[1] == candidates.shape[1], "rows of one width"
    assert queries.shape[1] % 2 == 0, "rows of complex numbers"
    assert queries.dtype == candidates.dtype, "rows of one precision"
    if not _has_kernel(queries, candidates):
        return _distances_plain(queries, candidates)
    found = queries.new_empty(len(queries), len(candidates))
    # number by number, so that neighbours in a tile are neighbours in memory
    turned = queries.mT.contiguous(), candidates.mT.contiguous()
    grid = (-(-len(candidates) // TILE), -(-len(queries) // TILE))  # the first may be as long as it likes
    if found.numel():
        _distances[grid](*turned, found, *found.shape, queries.shape[1] // 2, LEAST, TILE=TILE)
    return found


# operations of their own, for torch.compile to leave them as they are
@torch.library.custom_op("bique::complex_distances", mutates_args=())
def trained_distances(queries: Tensor, candidates: Tensor) -> Tensor:
    return _between_tables(queries, candidates)


@torch.library.custom_op("bique::complex_directions", mutates_args=())
def directions(rows: Tensor, others: Tensor, weights: Tensor) -> Tensor:
    """Of each row r: Σ w·(r − o)/|r − o| over all others, complex number by complex number; 0 where they meet."""
    if not _has_kernel(rows, others):
        return _directions_plain(rows, others, weights)
    found = rows.new_empty(rows.shape)
    numbers = rows.shape[1] // 2
    grid = (-(-len(rows) // DIRECTION_TILE), -(-numbers // DIRECTION_TILE))
    if found.numel():
        turned = weights.mT.contiguous()  # as above
        places = rows.contiguous(), others.contiguous(), turned, found
        _directions[grid](*places, len(rows), len(others), numbers, LEAST, TILE=DIRECTION_TILE)
    return found


trained_distances.register_fake(lambda queries, candidates: queries.new_empty(len(queries), len(candidates)))
directions.register_fake(lambda rows, others, weights: rows.new_empty(rows.shape))
trained_distances.register_autograd(
    lambda ctx, slopes: (
        directions(*ctx.saved_tensors, slopes),
        directions(*ctx.saved_tensors[::-1], slopes.mT),
    ),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def _has_kernel(rows: Tensor, others: Tensor) -> bool:
    device = rows.device
    return rows.dtype == others.dtype == torch.float32 and can_use_triton(device) and why_no_triton(device) is None


def complex_distances_plain(queries: Tensor, candidates: Tensor) -> Tensor:
    (a, b), (x, y) = _parts(queries[..., :, None, :]), _parts(candidates[..., None, :, :])
    return _length(a - x, b - y).sum(-1)


def _distances_plain(queries: Tensor, candidates: Tensor) -> Tensor:
    """Tile by tile."""
    found = queries.new_empty(len(queries), len(candidates))
    (a, b), (x, y) = ([part.contiguous() for part in _parts(rows)] for rows in (queries, candidates))
    for i, j in _tiles(queries, candidates):
        found[i, j] = _length(a[i, None] - x[j], b[i, None] - y[j]).sum(-1)
    return found


def _directions_plain(rows: Tensor, others: Tensor, weights: Tensor) -> Tensor:
    (a, b), (x, y) = ([part.contiguous() for part in _parts(each)] for each in (rows, others))
    total_a, total_b = torch.zeros_like(a), torch.zeros_like(b)
    for i, j in _tiles(rows, others):
        real, imaginary = a[i, None] - x[j], b[i, None] - y[j]
        square = real.square() + imaginary.square()
        weight = square.rsqrt().masked_fill_(square < LEAST, 0).mul_(weights[i, j, None])
        total_a[i] += real.mul_(weight).sum(1)
        total_b[i] += imaginary.mul_(weight).sum(1)
    return torch.stack((total_a, total_b), dim=-1).flatten(1)


def _parts(rows: Float[Tensor, "*n width"]) -> tuple[Tensor, ...]:
    """Real and imaginary: a sum over two neighbours would take most of the time."""
    return rows.unflatten(-1, (-1, 2)).unbind(-1)


def _length(real: Tensor, imaginary: Tensor) -> Tensor:
    return (real.square() + imaginary.square()).clamp(min=LEAST).sqrt()


def _tiles(rows: Tensor, others: Tensor) -> Iterator[tuple[slice, slice]]:
    at_once = AT_ONCE if rows.device.type == "cpu" else AT_ONCE_ELSEWHERE
    across = max(1, at_once // (ROWS_AT_ONCE * max(1, rows.shape[1])))
    for i in range(0, len(rows), ROWS_AT_ONCE):
        for j in range(0, len(others), across):
            yield slice(i, i + ROWS_AT_ONCE), slice(j, j + across)


@jit
def _distances(queries, candidates, found, batch, count, numbers, least, TILE: tl.constexpr):
    column, row = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1) * TILE + tl.arange(0, TILE)
    a_row, a_column = row < batch, column < count
    total = tl.zeros([TILE, TILE], tl.float32)
    for _ in range(numbers):
        real = tl.load(queries + row, a_row, 0.0)[:, None] - tl.load(candidates + column, a_column, 0.0)[None, :]
        queries += batch
        candidates += count
        imaginary = tl.load(queries + row, a_row, 0.0)[:, None] - tl.load(candidates + column, a_column, 0.0)[None, :]
        queries += batch
        candidates += count
        square = real * real + imaginary * imaginary
        total += tl.sqrt(tl.where(square < least, least, square))  # a maximum would hide what is not a number
    place = found + row[:, None].to(tl.int64) * count + column[None, :]
    tl.store(place, total, a_row[:, None] & a_column[None, :])


@jit
def _directions(rows, others, weights, found, count, other_count, numbers, least, TILE: tl.constexpr):
    row, number = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.program_id(1) * TILE + tl.arange(0, TILE)
    a_row, a_number = row < count, number < numbers
    inside = a_row[:, None] & a_number[None, :]
    place = row[:, None].to(tl.int64) * (2 * numbers) + 2 * number[None, :]
    x, y = tl.load(rows + place, inside, 0.0), tl.load(rows + place + 1, inside, 0.0)
    total_x, total_y = tl.zeros([TILE, TILE], tl.float32), tl.zeros([TILE, TILE], tl.float32)
    for _ in range(other_count):
        real = x - tl.load(others + 2 * number, a_number, 0.0)[None, :]
        imaginary = y - tl.load(others + 2 * number + 1, a_number, 0.0)[None, :]
        square = real * real + imaginary * imaginary
        meet = square < least
        weight = tl.load(weights + row, a_row, 0.0)[:, None] / tl.sqrt(tl.where(meet, 1.0, square))
        weight = tl.where(meet, 0.0, weight)
        total_x += weight * real
        total_y += weight * imaginary
        others += 2 * numbers
        weights += count
    tl.store(found + place, total_x, inside)
    tl.store(found + place + 1, total_y, inside)
