"""Distances of complex rows that no matrix product gives."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.kernels.backend import can_use_triton, jit, tl, why_no_triton
from bique.shapes import Float

# differences held at once by the plain path
AT_ONCE = 1 << 24
TILE = 64
LEAST = 1e-12
"""The root has no gradient at 0."""


def complex_distances(
    queries: Float[Tensor, "*n batch width"], candidates: Float[Tensor, "*n candidates width"]
) -> Float[Tensor, "*n batch candidates"]:
    """Σ |q − c| over the complex numbers of a row, real and imaginary parts in turn, for every query and candidate.

    The kernel is for ranking, where no gradient is asked: it holds no differences in memory.
    """
    asks_gradient = torch.is_grad_enabled() and (queries.requires_grad or candidates.requires_grad)
    for_kernel = queries.ndim == candidates.ndim == 2 and queries.dtype == candidates.dtype == torch.float32
    device = queries.device
    if asks_gradient or not for_kernel or not can_use_triton(device) or why_no_triton(device) is not None:
        return complex_distances_plain(queries, candidates)
    assert queries.shape[1] == candidates.shape[1], "rows of one width"
    assert queries.shape[1] % 2 == 0, "rows of complex numbers"
    found = torch.empty(len(queries), len(candidates), device=device)
    # number by number, so that neighbours in a tile are neighbours in memory
    turned = queries.mT.contiguous(), candidates.mT.contiguous()
    grid = (-(-len(candidates) // TILE), -(-len(queries) // TILE))  # the first may be as long as it likes
    if found.numel():
        _distances[grid](*turned, found, *found.shape, queries.shape[1] // 2, LEAST, TILE=TILE)
    return found


def complex_distances_plain(queries: Tensor, candidates: Tensor) -> Tensor:
    size = max(1, AT_ONCE // (queries.numel() or 1))
    return torch.cat([_distances_to(queries, part) for part in candidates.split(size, dim=-2)], dim=-1)


def _distances_to(queries: Tensor, candidates: Tensor) -> Tensor:
    difference = queries[..., :, None, :] - candidates[..., None, :, :]
    return difference.unflatten(-1, (-1, 2)).square().sum(-1).clamp(min=LEAST).sqrt().sum(-1)


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
