"""What RotH, RefH and ATTH share (Chami et al., ACL 2020): the Poincaré ball, with a curvature for each relation."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn import functional

from bique.algebra.poincare import distance_from_dots, edge, exp0, into_ball, mobius_add
from bique.config.models import AttHConfig, RefHConfig, RotHConfig
from bique.models.model import Factors, Model, Size, dots
from bique.shapes import Float

# below it float32 cannot tell the ball from flat space
FLATTEST = 1e-8


class Hyperbolic(Model):
    """score(h, r, t) = −d_c(exp₀(T_r v_h) ⊕ r, exp₀ v_t)² + b_h + b_t, with a curvature −c learned for each relation.

    An entity row is a tangent vector v, then b_h and b_t. A relation row is the tangent vector of r, the number whose
    softplus is c, and what T_r needs. T_r acts in the tangent space, where rotations and reflections are the same.
    """

    dot_product = False
    kept_scores = 17
    parts = 1
    """Numbers that T_r needs for each unit."""

    def __init__(self, config: RotHConfig | RefHConfig | AttHConfig, size: Size, generator: torch.Generator) -> None:
        units, parts = config.units, self.parts
        super().__init__(size, units + 2, units + 1 + parts * units, config.initial_scale, generator)
        self.units = units
        with torch.no_grad():
            self.entity[:, units:] = 0
            self.relation[:, units] = 1.0
            angles = 2 * torch.rand(len(self.relation), parts * units, generator=generator) - 1
            self.relation[:, units + 1 :] = angles

    def factors(
        self,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch relation_width"],
        tail: Float[Tensor, "batch width"],
    ) -> Factors:
        """Tangent vectors alone: biases, angles and curvature have no size to keep down."""
        units = self.as_units(head[:, : self.units].contiguous())
        parts = [self.as_units(relation[:, : self.units].contiguous())]
        return Factors(units, units, self.as_units(tail[:, : self.units].contiguous()), parts)

    @abstractmethod
    def turn(
        self, vector: Float[Tensor, "batch units"], parts: Float[Tensor, "batch parts"]
    ) -> Float[Tensor, "batch units"]:
        """T_r v in the tangent space."""

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch query_width"]:
        """The point, b_h and c."""
        r, raw, parts = relation.split([self.units, 1, relation.shape[-1] - self.units - 1], dim=-1)
        c = functional.softplus(raw).clamp(min=FLATTEST)
        x = into_ball(exp0(self.turn(head[:, : self.units], parts), c), c)
        moved = into_ball(mobius_add(x, into_ball(exp0(r, c), c), c), c)
        return torch.cat((moved, head[:, self.units : self.units + 1], c), dim=-1)

    def similarity(
        self, query: Float[Tensor, "*n batch query_width"], candidates: Float[Tensor, "*n candidates width"]
    ) -> Float[Tensor, "*n batch candidates"]:
        x, bias, c = query.split([self.units, 1, 1], dim=-1)
        v = candidates[..., : self.units]
        length = v.square().sum(-1).clamp(min=1e-15).sqrt()[..., None, :]
        # the candidates' points depend on the query's curvature, but only by their length
        radius = (torch.tanh(c.sqrt() * length) / c.sqrt()).minimum((1 - edge(c)) / c.sqrt())
        away = distance_from_dots(x.square().sum(-1, True), radius.square(), dots(x, v) / length * radius, c)
        return bias + candidates[..., -1][..., None, :] - away.square()
