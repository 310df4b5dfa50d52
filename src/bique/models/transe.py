"""TransE (Bordes et al., NeurIPS 2013)."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.config.models import TransEConfig
from bique.models.model import Model, Size, dots
from bique.shapes import Float


class TransE(Model):
    """score(h, r, t) = −‖h + r − t‖, in L1 or L2"""

    dot_product = False

    def __init__(self, config: TransEConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(size, config.units, config.units, config.initial_scale, generator)
        self.norm = config.norm

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch width"]:
        return head + relation

    def similarity(
        self, query: Float[Tensor, "*n batch width"], candidates: Float[Tensor, "*n candidates width"]
    ) -> Float[Tensor, "*n batch candidates"]:
        if self.norm == "l1":
            return -torch.cdist(query, candidates, p=1.0)
        squares = query.square().sum(-1)[..., :, None] + candidates.square().sum(-1)[..., None, :]
        # rounding may leave a little less than 0, and the root has no gradient at 0
        return -(squares - 2 * dots(query, candidates)).clamp(min=1e-12).sqrt()
