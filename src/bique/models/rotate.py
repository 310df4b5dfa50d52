"""RotatE (Sun et al., ICLR 2019)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from bique.config.models import RotatEConfig
from bique.kernels.complex_distances import complex_distances
from bique.models.model import Factors, Model, Size
from bique.shapes import Float


class RotatE(Model):
    """score(h, r, t) = −Σ |h·r − t| over complex numbers, with r = exp(iθ): a relation is its angles θ

    As published, an inverse relation turns back and has no row of its own, and a row θ/τ starts as large as that of an
    entity, from numbers up to π/τ: then one learning rate suits both. The published margin γ belongs to the loss.
    """

    dot_product = False
    turn: Tensor

    def __init__(self, config: RotatEConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(size, 2 * config.units, config.units, config.initial_scale, generator)
        largest = math.sqrt(3) * config.initial_scale  # of even numbers with an entity's standard deviation
        assert size.num_relations % 2 == 0, "the second half are inverse relations"
        rows = torch.empty(size.num_relations // 2, config.units).uniform_(-largest, largest, generator=generator)
        self.relation = nn.Parameter(rows)
        # kept with the tables: their angles mean nothing without it
        self.register_buffer("turn", torch.tensor(math.pi / largest))

    def encode(self) -> tuple[Float[Tensor, "rows width"], Float[Tensor, "num_relations units"]]:
        """Relations as angles, then those of the inverse ones."""
        angles = self.turn * self.relation
        return self.entity, torch.cat((angles, -angles))

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch units"]
    ) -> Float[Tensor, "batch width"]:
        x, y = head.unflatten(-1, (-1, 2)).unbind(-1)
        cosine, sine = relation.cos(), relation.sin()
        return torch.stack((x * cosine - y * sine, x * sine + y * cosine), dim=-1).flatten(-2)

    def similarity(
        self, query: Float[Tensor, "*n batch width"], candidates: Float[Tensor, "*n candidates width"]
    ) -> Float[Tensor, "*n batch candidates"]:
        return -complex_distances(query, candidates)

    def factors(
        self,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch units"],
        tail: Float[Tensor, "batch width"],
    ) -> Factors:
        """An angle is not penalised: it has no size."""
        units = self.as_units(head)
        return Factors(units, units, self.as_units(tail), [])

    def as_units(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch 1 units 2"]:
        return rows.view(len(rows), 1, -1, 2)
