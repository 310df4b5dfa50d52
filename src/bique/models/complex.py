"""ComplEx (Trouillon et al., ICML 2016), with N3 and inverse relations (Lacroix et al., ICML 2018)."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.config.models import ComplExConfig
from bique.kernels.row_product import RowProduct
from bique.models.model import Model, Size
from bique.shapes import Float


class ComplEx(Model):
    """score(h, r, t) = Re⟨h·r, conj t⟩: the dot product of h·r and t as reals. A row is real, imaginary, real, …"""

    def __init__(self, config: ComplExConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(size, 2 * config.units, 2 * config.units, config.initial_scale, generator)
        self.units = config.units

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch width"]:
        return _multiply(head, relation)

    @property
    def row_product(self) -> RowProduct:
        return RowProduct(self.units, (0, 1), stride=2, translation=False, multiply=_multiply)

    def as_units(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch 1 units 2"]:
        return rows.view(len(rows), 1, -1, 2)


def _multiply(p: Float[Tensor, "batch width"], q: Float[Tensor, "batch width"]) -> Float[Tensor, "batch width"]:
    numbers = (torch.view_as_complex(rows.unflatten(1, (-1, 2))) for rows in (p, q))
    return torch.view_as_real(torch.mul(*numbers)).flatten(1)
