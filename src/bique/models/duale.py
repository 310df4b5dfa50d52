"""DualE¹ (Cao et al., AAAI 2021): rotation and translation in one dual quaternion."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.algebra.dual import multiply_dual, normalise_dual
from bique.config.models import DualEConfig
from bique.models.model import Model, Size
from bique.shapes import Float


class DualE(Model):
    """score(h, r, t) = (h ⊗ r̂)·t over 8 reals per unit; r̂: real part of length 1, dual part orthogonal to it.

    A row is the four coefficients of the real parts of all units, then those of the dual parts.
    """

    def __init__(self, config: DualEConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(size, 8 * config.units, 8 * config.units, config.initial_scale, generator)

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch width"]:
        return multiply_dual(head.unflatten(1, (8, -1)), normalise_dual(relation.unflatten(1, (8, -1)))).flatten(1)

    @property
    def relations(self) -> Float[Tensor, "num_relations width"]:
        return normalise_dual(self.relation.unflatten(1, (8, -1))).flatten(1)

    def as_units(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch 8 units 1"]:
        return rows.view(len(rows), 8, -1, 1)
