"""BiQUE (Guo and Kok, EMNLP 2021): translation, then a Hamilton product of biquaternions."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.algebra import as_biquaternion, as_reals, multiply, normalise_unit, normalise_vector
from bique.config.models import BiQUEConfig
from bique.kernels.row_product import RowProduct
from bique.models.model import Factors, Model, Size
from bique.shapes import Complex, Float


class BiQUE(Model):
    """score(h, r, t) = ⟨(Q_h + Q_r⁺) ⊛ Q_r^×, Q_t⟩ over 8·units reals.

    A relation row is Q_r^× (the first 8·units reals), then Q_r⁺.
    """

    def __init__(self, config: BiQUEConfig, size: Size, generator: torch.Generator) -> None:
        width = 8 * config.units
        relation_width = 2 * width if config.translation else width
        super().__init__(size, width, relation_width, config.initial_scale, generator)
        self.units, self.translation, self.relation_norm = config.units, config.translation, config.relation_norm

    def parts(
        self, relation: Float[Tensor, "*batch relation_width"]
    ) -> tuple[Complex[Tensor, "*batch 4 units"], Complex[Tensor, "*batch 4 units"] | None]:
        """Q_r^× as the product uses it (normalised where the variant asks for it), and Q_r⁺."""
        product = as_biquaternion(relation[..., : 8 * self.units])
        if self.relation_norm == "vector":
            product = normalise_vector(product)
        elif self.relation_norm == "unit":
            product = normalise_unit(product)
        return product, as_biquaternion(relation[..., 8 * self.units :]) if self.translation else None

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch width"]:
        product, translation = self.parts(relation)
        moved = as_biquaternion(head)
        if translation is not None:
            moved = moved + translation
        return as_reals(multiply(moved, product))

    @property
    def row_product(self) -> RowProduct | None:
        if self.relation_norm != "none":
            return None
        # component 2c + s of a unit is real (s = 0) or imaginary part of coefficient c
        offsets = tuple(2 * self.units * (i // 2) + i % 2 for i in range(8))
        return RowProduct(self.units, offsets, stride=2, translation=self.translation, multiply=_multiply_rows)

    @property
    def relations(self) -> Float[Tensor, "num_relations relation_width"]:
        parts = self.parts(self.relation)
        return torch.cat([as_reals(part) for part in parts if part is not None], dim=1)

    def as_units(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch 4 units 2"]:
        return rows.view(len(rows), 4, -1, 2)

    def factors(
        self,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch relation_width"],
        tail: Float[Tensor, "batch width"],
    ) -> Factors:
        parts = relation.split(8 * self.units, dim=1)  # Q^×, then Q⁺ if there is one
        translated = head + parts[1] if self.translation else head
        relations = [self.as_units(part.contiguous()) for part in parts]
        return Factors(self.as_units(head), self.as_units(translated), self.as_units(tail), relations)


def _multiply_rows(p: Float[Tensor, "batch width"], q: Float[Tensor, "batch width"]) -> Float[Tensor, "batch width"]:
    return as_reals(multiply(as_biquaternion(p), as_biquaternion(q)))
