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


def cubed_group_norm(rows: Float[Tensor, "batch 4 units 2"]) -> Float[Tensor, "batch"]:
    """Σ over units of ‖biquaternion as 8 reals‖³."""
    return _CubedGroupNorm.apply(rows)  # type: ignore[no-any-return]


def group_n3(
    head: Float[Tensor, "batch 4 units 2"],
    tail: Float[Tensor, "batch 4 units 2"],
    relation: list[Float[Tensor, "batch 4 units 2"]],
    *,
    weight: float,
    entity: float,
    relation_weight: float,
) -> Float[Tensor, "batch"]:
    """weight · (entity·(|head|³ + |tail|³) + relation_weight·Σ|relation part|³)."""
    entities = cubed_group_norm(head) + cubed_group_norm(tail)
    relations = torch.stack([cubed_group_norm(part) for part in relation]).sum(0)
    return weight * (entity * entities + relation_weight * relations)
