"""Distances of complex rows that no matrix product gives."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from bique.kernels.backend import have_kernel, jit, tl
from bique.shapes import Float

# rows and reals of the differences held at once by the plain path: what a processor's cache holds, or many
ROWS_AT_ONCE, AT_ONCE, AT_ONCE_ELSEWHERE = 256, 1 << 20, 1 << 24
# of distances rows and columns, of directions rows and numbers (what else was tried: LOG.md)
TILE, DIRECTION_TILE = (64, 32), (16, 64)
UNROLLED = 4
"""Turns of a loop whose loads are under way at once."""
PROGRAMS, MOST_SHARES = 1024, 8
"""A GPU waits for memory unless so many run; where there are fewer tiles, a sum is made in shares."""
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
    if not have_kernel(queries, candidates):
        return _distances_plain(queries, candidates)
    # number by number, so that neighbours in a tile are neighbours in memory
    turned = queries.mT.contiguous(), candidates.mT.contiguous()
    numbers, (up, across) = queries.shape[1] // 2, TILE
    tiles = -(-len(candidates) // across), -(-len(queries) // up)  # the first may be as long as it likes
    shares = _shares(tiles, numbers)
    found = queries.new_empty(shares, len(queries), len(candidates))
    if found.numel():
        sizes = len(queries), len(candidates), numbers, -(-numbers // shares), LEAST
        _distances[(*tiles, shares)](*turned, found, *sizes, UP=up, ACROSS=across, UNROLLED=UNROLLED, num_warps=2)
    return _together(found)


# operations of their own, for torch.compile to leave them as they are
@torch.library.custom_op("bique::complex_distances", mutates_args=())
def trained_distances(queries: Tensor, candidates: Tensor) -> Tensor:
    return _between_tables(queries, candidates)


@torch.library.custom_op("bique::complex_directions", mutates_args=())
def directions(rows: Tensor, others: Tensor, weights: Tensor) -> Tensor:
    """Of each row r: Σ w·(r − o)/|r − o| over all others, complex number by complex number; 0 where they meet."""
    if not have_kernel(rows, others):
        return _directions_plain(rows, others, weights)
    numbers, (up, across) = rows.shape[1] // 2, DIRECTION_TILE
    tiles = -(-len(rows) // up), -(-numbers // across)
    shares = _shares(tiles, len(others))
    found = rows.new_empty(shares, *rows.shape)
    if found.numel():
        # real parts, then imaginary ones; the weights other by other
        places = rows.contiguous(), others.unflatten(-1, (-1, 2)).mT.contiguous(), weights.mT.contiguous(), found
        sizes = len(rows), len(others), numbers, -(-len(others) // shares), LEAST
        _directions[(*tiles, shares)](*places, *sizes, UP=up, ACROSS=across, UNROLLED=UNROLLED, num_warps=2)
    return _together(found)


def _shares(tiles: tuple[int, int], turns: int) -> int:
    return max(1, min(PROGRAMS // max(1, tiles[0] * tiles[1]), MOST_SHARES, turns))


def _together(shares: Float[Tensor, "shares rows columns"]) -> Float[Tensor, "rows columns"]:
    return shares[0] if len(shares) == 1 else shares.sum(0)


trained_distances.register_fake(lambda queries, candidates: queries.new_empty(len(queries), len(candidates)))
directions.register_fake(lambda rows, others, weights: rows.new_empty(rows.shape))
trained_distances.register_autograd(
    lambda ctx, slopes: (
        directions(*ctx.saved_tensors, slopes),
        directions(*ctx.saved_tensors[::-1], slopes.mT),
    ),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


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
def _distances(
    queries,
    candidates,
    found,
    batch,
    count,
    numbers,
    share,
    least,
    UP: tl.constexpr,
    ACROSS: tl.constexpr,
    UNROLLED: tl.constexpr,
):
    column, row = tl.program_id(0) * ACROSS + tl.arange(0, ACROSS), tl.program_id(1) * UP + tl.arange(0, UP)
    a_row, a_column = row < batch, column < count
    total = tl.zeros([UP, ACROSS], tl.float32)
    first = tl.program_id(2) * share
    last = tl.minimum(first + share, numbers)
    queries += first.to(tl.int64) * 2 * batch + row
    candidates += first.to(tl.int64) * 2 * count + column
    for start in range(first, last, UNROLLED):
        for turn in tl.static_range(UNROLLED):
            there = start + turn < last
            real = tl.load(queries, a_row & there, 0.0)[:, None] - tl.load(candidates, a_column & there, 0.0)[None, :]
            left, right = queries + batch, candidates + count
            imaginary = tl.load(left, a_row & there, 0.0)[:, None] - tl.load(right, a_column & there, 0.0)[None, :]
            queries += 2 * batch
            candidates += 2 * count
            square = real * real + imaginary * imaginary
            length = tl.sqrt(tl.where(square < least, least, square))  # a maximum would hide what is not a number
            total += tl.where(there, length, 0.0)
    place = (tl.program_id(2) * batch + row).to(tl.int64)[:, None] * count + column[None, :]
    tl.store(found + place, total, a_row[:, None] & a_column[None, :])


@jit
def _directions(
    rows,
    others,
    weights,
    found,
    count,
    other_count,
    numbers,
    share,
    least,
    UP: tl.constexpr,
    ACROSS: tl.constexpr,
    UNROLLED: tl.constexpr,
):
    row, number = tl.program_id(0) * UP + tl.arange(0, UP), tl.program_id(1) * ACROSS + tl.arange(0, ACROSS)
    a_row, a_number = row < count, number < numbers
    inside = a_row[:, None] & a_number[None, :]
    place = row[:, None].to(tl.int64) * (2 * numbers) + 2 * number[None, :]
    x, y = tl.load(rows + place, inside, 0.0), tl.load(rows + place + 1, inside, 0.0)
    total_x, total_y = tl.zeros([UP, ACROSS], tl.float32), tl.zeros([UP, ACROSS], tl.float32)
    first = tl.program_id(2) * share
    last = tl.minimum(first + share, other_count)
    others += first.to(tl.int64) * 2 * numbers + number
    weights += first.to(tl.int64) * count + row
    for start in range(first, last, UNROLLED):
        for turn in tl.static_range(UNROLLED):
            there = start + turn < last
            real = x - tl.load(others, a_number & there, 0.0)[None, :]
            imaginary = y - tl.load(others + numbers, a_number & there, 0.0)[None, :]
            square = real * real + imaginary * imaginary
            weight = tl.load(weights, a_row & there, 0.0)[:, None]
            weight *= tl.rsqrt(tl.where(square < least, float("inf"), square))
            total_x += weight * real
            total_y += weight * imaginary
            others += 2 * numbers
            weights += count
    found += tl.program_id(2).to(tl.int64) * count * 2 * numbers
    tl.store(found + place, total_x, inside)
    tl.store(found + place + 1, total_y, inside)
