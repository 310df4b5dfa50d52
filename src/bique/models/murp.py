"""MurP (Balažević et al., NeurIPS 2019): translation and stretching in the Poincaré ball of curvature −1."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.algebra.poincare import TINY, distance_from_dots, exp0, into_ball
from bique.config.models import MurPConfig
from bique.models.model import Factors, Model, Size, dots
from bique.shapes import Float


class MurP(Model):
    """score(h, r, t) = −d(exp₀(R·log₀ h), t ⊕ r)² + b_h + b_t

    An entity row is a tangent vector v with h = exp₀ v, then b_h and b_t; a relation row is R's diagonal, then the
    tangent vector of r. No loop over candidates: |t ⊕ r|² and ⟨x, t ⊕ r⟩ are made of ⟨x, t⟩ and ⟨r, t⟩.
    """

    dot_product = False
    kept_scores = 17

    def __init__(self, config: MurPConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(size, config.units + 2, 2 * config.units, config.initial_scale, generator)
        self.units = config.units
        with torch.no_grad():
            self.entity[:, config.units :] = 0
            self.relation[:, : config.units] = 2 * torch.rand(len(self.relation), config.units, generator=generator) - 1

    def factors(
        self,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch relation_width"],
        tail: Float[Tensor, "batch width"],
    ) -> Factors:
        """Tangent vectors and R; biases have no size to keep down."""
        units = self.as_units(head[:, : self.units].contiguous())
        return Factors(units, units, self.as_units(tail[:, : self.units].contiguous()), [self.as_units(relation)])

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch query_width"]:
        """x, r and b_h."""
        one = torch.ones_like(head[:, :1])
        stretched, r = relation[:, : self.units] * head[:, : self.units], relation[:, self.units :]
        return torch.cat((into_ball(exp0(stretched, one), one), into_ball(exp0(r, one), one), head[:, -2:-1]), dim=-1)

    def similarity(
        self, query: Float[Tensor, "*n batch query_width"], candidates: Float[Tensor, "*n candidates width"]
    ) -> Float[Tensor, "*n batch candidates"]:
        one = torch.ones_like(candidates[..., :1])
        t = into_ball(exp0(candidates[..., : self.units], one), one)
        x, r, bias = query.split([self.units, self.units, 1], dim=-1)
        xt, rt = dots(x, t), dots(r, t)
        t2, x2, r2 = t.square().sum(-1)[..., None, :], x.square().sum(-1, True), r.square().sum(-1, True)
        below = (1 + 2 * rt + t2 * r2).clamp(min=TINY)
        moved2 = (t2 + 2 * rt + r2) / below
        inner = ((1 + 2 * rt + r2) * xt + (1 - t2) * (x * r).sum(-1, True)) / below
        away = distance_from_dots(x2, moved2, inner, torch.ones_like(x2))
        return bias + candidates[..., -1][..., None, :] - away.square()
