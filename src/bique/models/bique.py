"""BiQUE (Guo and Kok, EMNLP 2021): translation, then a Hamilton product of biquaternions."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from bique.algebra import as_biquaternion, as_reals, multiply, normalise_unit, normalise_vector
from bique.config import ModelConfig
from bique.kernels.row_product import RowProduct
from bique.models.model import Factors, Model
from bique.shapes import Complex, Float


class BiQUE(Model):
    """score(h, r, t) = ⟨(Q_h + Q_r⁺) ⊛ Q_r^×, Q_t⟩ over 8·units reals.

    A relation row is Q_r^× (the first 8·units reals), then Q_r⁺.
    """

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        *,
        units: int,
        translation: bool = True,
        relation_norm: Literal["none", "vector", "unit"] = "none",
        scale: float = 1e-3,
        generator: torch.Generator,
    ) -> None:
        width = 8 * units
        super().__init__(
            num_entities,
            num_relations,
            entity_width=width,
            relation_width=2 * width if translation else width,
            scale=scale,
            generator=generator,
        )
        self.units, self.translation, self.relation_norm = units, translation, relation_norm

    @classmethod
    def from_config(
        cls, config: ModelConfig, num_entities: int, num_relations: int, generator: torch.Generator
    ) -> BiQUE:
        return cls(
            num_entities,
            num_relations,
            units=config.units,
            translation=config.translation,
            relation_norm=config.relation_norm,
            scale=config.initial_scale,
            generator=generator,
        )

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

    def factors(
        self,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch relation_width"],
        tail: Float[Tensor, "batch width"],
    ) -> Factors:
        product, translation = self._as_groups(relation[:, : 8 * self.units]), None
        translated = head
        if self.translation:
            translated = head + relation[:, 8 * self.units :]
            translation = self._as_groups(relation[:, 8 * self.units :])
        return Factors(self._as_groups(head), self._as_groups(translated), self._as_groups(tail), product, translation)

    def _as_groups(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch 4 units 2"]:
        return rows.view(-1, 4, self.units, 2)


def _multiply_rows(p: Float[Tensor, "batch width"], q: Float[Tensor, "batch width"]) -> Float[Tensor, "batch width"]:
    return as_reals(multiply(as_biquaternion(p), as_biquaternion(q)))
