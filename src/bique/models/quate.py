"""QuatE² (Zhang et al., NeurIPS 2019): the variant with N3 and inverse relations, relations not normalised."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.algebra import multiply
from bique.config.models import QuatEConfig
from bique.kernels.row_product import RowProduct
from bique.models.model import Model, Size
from bique.shapes import Float


class QuatE(Model):
    """score(h, r, t) = (h ⊗ r)·t with the Hamilton product. A row is the w of all units, then x, y, z.

    It is BiQUE without translation and with real coefficients.
    """

    def __init__(self, config: QuatEConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(size, 4 * config.units, 4 * config.units, config.initial_scale, generator)
        self.units = config.units

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch width"]:
        return _multiply(head, relation)

    @property
    def row_product(self) -> RowProduct:
        offsets = tuple(i * self.units for i in range(4))
        return RowProduct(self.units, offsets, stride=1, translation=False, multiply=_multiply)

    def as_units(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch 4 units 1"]:
        return rows.view(len(rows), 4, -1, 1)


def _multiply(p: Float[Tensor, "batch width"], q: Float[Tensor, "batch width"]) -> Float[Tensor, "batch width"]:
    return multiply(*(rows.unflatten(1, (4, -1)) for rows in (p, q))).flatten(1)
