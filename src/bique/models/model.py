"""What every model is: two tables, a transform and a similarity.

    score(h, r, t) = similarity(transform(entity[h], relation[r]), entity[t])

A model declares; it does not train, rank, log or know its device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.config import ModelConfig
from bique.errors import UserError
from bique.kernels.row_product import RowProduct
from bique.shapes import Float, Int

# Rows that a matrix product likes; the rows added to reach it take part in nothing.
ROW_MULTIPLE = 128


class Factors(NamedTuple):
    """What a penalty may weigh, each (batch, 4, units, 2)."""

    head: Float[Tensor, "batch 4 units 2"]
    translated_head: Float[Tensor, "batch 4 units 2"]
    tail: Float[Tensor, "batch 4 units 2"]
    product: Float[Tensor, "batch 4 units 2"]
    translation: Float[Tensor, "batch 4 units 2"] | None


class Model(nn.Module, ABC):
    """Tables of float32 rows: `entity` (padded to a multiple of 128 rows) and `relation` (inverse ones included)."""

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        *,
        entity_width: int,
        relation_width: int,
        scale: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.num_entities = num_entities
        self.num_relations = num_relations
        padding = -num_entities % ROW_MULTIPLE
        entity = torch.randn(num_entities, entity_width, generator=generator) * scale
        self.entity = nn.Parameter(functional.pad(entity, (0, 0, 0, padding)))
        self.relation = nn.Parameter(torch.randn(num_relations, relation_width, generator=generator) * scale)

    @classmethod
    @abstractmethod
    def from_config(
        cls, config: ModelConfig, num_entities: int, num_relations: int, generator: torch.Generator
    ) -> Model: ...

    @abstractmethod
    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch width"]:
        """The query: rows of heads moved by rows of relations."""

    @abstractmethod
    def factors(
        self,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch relation_width"],
        tail: Float[Tensor, "batch width"],
    ) -> Factors:
        """The parts of a batch of triples that a penalty may weigh."""

    @property
    def row_product(self) -> RowProduct | None:
        """The transform as a product of rows, for a model that is one: the engine has a kernel for those."""
        return None

    def similarity(
        self, query: Float[Tensor, "*n batch width"], candidates: Float[Tensor, "*n candidates width"]
    ) -> Float[Tensor, "*n batch candidates"]:
        return query @ candidates.mT

    @property
    def entities(self) -> Float[Tensor, "entities width"]:
        """The rows that stand for an entity, without the padding."""
        return self.entity[: self.num_entities]

    def entity_rows(self, ids: Int[Tensor, "batch"]) -> Float[Tensor, "batch width"]:
        # embedding, not indexing: its gradient is summed in a fixed order on every number of CPU threads
        return functional.embedding(ids, self.entity)

    def relation_rows(self, ids: Int[Tensor, "batch"]) -> Float[Tensor, "batch relation_width"]:
        return functional.embedding(ids, self.relation)

    def query(self, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"]) -> Float[Tensor, "batch width"]:
        return self.transform(self.entity_rows(heads), self.relation_rows(relations))

    def score(
        self, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"], tails: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch"]:
        """One score per triple."""
        return self.similarity(self.query(heads, relations)[:, None], self.entity_rows(tails)[:, None])[:, 0, 0]

    def score_all(
        self, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch entities"]:
        """Each query against every entity."""
        return self.similarity(self.query(heads, relations), self.entities)

    def tables(self) -> dict[str, Tensor]:
        """What a checkpoint keeps: every table by name, without padding."""
        return {name: self.without_padding(name, table.detach()) for name, table in self.state_dict().items()}

    def without_padding(self, name: str, rows: Tensor) -> Tensor:
        return rows[: self.num_entities] if name == "entity" else rows

    @torch.no_grad()
    def load_tables(self, tables: dict[str, Tensor]) -> None:
        mine = {name: self.without_padding(name, table) for name, table in self.state_dict().items()}
        shapes = [{name: tuple(table.shape) for name, table in group.items()} for group in (mine, tables)]
        if shapes[0] != shapes[1]:
            raise UserError(
                f"the checkpoint holds tables {shapes[1]}, the settings ask for {shapes[0]}; was config.toml edited?"
            )
        for name, table in mine.items():
            table.copy_(tables[name])
