"""DistMult (Yang et al., ICLR 2015)."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.config.models import DistMultConfig
from bique.kernels.row_product import RowProduct
from bique.models.model import Model, Size
from bique.shapes import Float


class DistMult(Model):
    """score(h, r, t) = Σ h·r·t"""

    def __init__(self, config: DistMultConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(size, config.units, config.units, config.initial_scale, generator)

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch width"]:
        return head * relation

    @property
    def row_product(self) -> RowProduct:
        return RowProduct(self.entity_width, (0,), stride=1, translation=False, multiply=torch.mul)
