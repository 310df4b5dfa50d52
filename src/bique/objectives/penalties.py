"""Penalties on the embeddings of a batch, one number per triple."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bique.shapes import Float


class _CubedGroupNorm(torch.autograd.Function):
    """Σ ‖x‖³ with its gradient 3‖x‖x in closed form: autograd of a root cubed is NaN for an all-zero group."""

    @staticmethod
    def forward(ctx: Any, groups: Tensor) -> Tensor:
        # not linalg.vector_norm: over two dims that are not neighbours it is four times slower on a CPU
        lengths = groups.square().sum((1, 3), keepdim=True).sqrt()
        ctx.save_for_backward(groups, lengths)
        return lengths.pow(3).sum((1, 2, 3))

    @staticmethod
    def backward(ctx: Any, *gradient: Tensor) -> Tensor:
        groups, lengths = ctx.saved_tensors
        return gradient[0][:, None, None, None] * 3 * lengths * groups


def cubed_group_norm(units: Float[Tensor, "batch c units s"]) -> Float[Tensor, "batch"]:
    """Σ over units of (length of its c·s reals)³."""
    return _CubedGroupNorm.apply(units)  # type: ignore[no-any-return]


def cubes(units: Float[Tensor, "batch c units s"]) -> Float[Tensor, "batch"]:
    """Σ |x|³ over single reals."""
    return units.abs().pow(3).sum((1, 2, 3))


def squares(units: Float[Tensor, "batch c units s"]) -> Float[Tensor, "batch"]:
    """Σ x²."""
    return units.square().sum((1, 2, 3))


SIZES = {"group_n3": cubed_group_norm, "n3": cubes, "l2": squares}


def embedding_penalty(
    head: Float[Tensor, "batch c units s"],
    tail: Float[Tensor, "batch c units s"],
    relation: list[Float[Tensor, "batch c_r units_r s_r"]],
    *,
    kind: str,
    weight: float,
    entity: float,
    relation_weight: float,
) -> Float[Tensor, "batch"]:
    """weight · (entity·(|head| + |tail|) + relation_weight·Σ|relation part|), |·| as `kind` says."""
    size = SIZES[kind]
    total = entity * (size(head) + size(tail))
    for part in relation:
        total = total + relation_weight * size(part)
    return weight * total


def dura(
    query: Float[Tensor, "batch query_width"], tail: Float[Tensor, "batch width"], weight: float
) -> Float[Tensor, "batch"]:
    """weight · (|query|² + |tail|²) (Zhang et al., 2020); the inverse triple gives the other half of their formula."""
    return weight * (query.square().sum(1) + tail.square().sum(1))
