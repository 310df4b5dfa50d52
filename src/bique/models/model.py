"""What every model is: two tables, a transform and a similarity.

    score(h, r, t) = similarity(transform(entity[h], relation[r]), entity[t])

A model declares; it does not train, rank, log or know its device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.errors import UserError
from bique.kernels.row_product import RowProduct
from bique.shapes import Float, Int

# Rows that a matrix product likes; the rows added to reach it take part in nothing.
ROW_MULTIPLE = 128


class Size(NamedTuple):
    """What a model must know of a graph; the facts only if messages pass along them."""

    num_entities: int
    num_relations: int
    """The inverse ones included, as the second half."""
    facts: Int[np.ndarray, "facts 3"] | None = None
    """The training facts in both directions."""


class Factors(NamedTuple):
    """What a penalty may weigh: units of c·s reals, as (batch, c, units, s)."""

    head: Float[Tensor, "batch c units s"]
    translated_head: Float[Tensor, "batch c units s"]
    tail: Float[Tensor, "batch c units s"]
    relation: list[Float[Tensor, "batch c_r units_r s_r"]]
    """Its factor, and its translation if it has one."""


class Model(nn.Module, ABC):
    """Tables of float32 rows: `entity` (padded to a multiple of 128 rows) and `relation` (mostly with inverse ones)."""

    dot_product: ClassVar[bool] = True
    """Whether the similarity is the dot product of rows: then the engine never builds a graph over the scores."""
    kept_scores: ClassVar[int] = 3
    """How many tensors of the size of the scores autograd keeps, for an estimate of the memory."""
    encodes_entities: bool = False
    """Whether candidates are made from the entity table anew in every step, not looked up in it."""
    needs_facts: ClassVar[bool] = False
    """Whether the training facts are part of the model."""

    def __init__(
        self, size: Size, entity_width: int, relation_width: int, scale: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.num_entities, self.num_relations = size.num_entities, size.num_relations
        self.entity_width, self.relation_width = entity_width, relation_width
        entity = torch.randn(size.num_entities, entity_width, generator=generator) * scale
        self.entity = nn.Parameter(functional.pad(entity, (0, 0, 0, -size.num_entities % ROW_MULTIPLE)))
        self.relation = nn.Parameter(torch.randn(size.num_relations, relation_width, generator=generator) * scale)

    @abstractmethod
    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch query_width"]:
        """The query: rows of heads moved by rows of relations."""

    def similarity(
        self, query: Float[Tensor, "*n batch query_width"], candidates: Float[Tensor, "*n candidates width"]
    ) -> Float[Tensor, "*n batch candidates"]:
        return dots(query, candidates)

    @property
    def row_product(self) -> RowProduct | None:
        """The transform as a product of rows, for a model that is one: the engine has a kernel for those."""
        return None

    # hooks for models that are more than two tables -----------------------------------------------------------------

    def encode(self) -> tuple[Float[Tensor, "rows width"], Float[Tensor, "num_relations relation_width"]]:
        """The tables as transform and similarity see them; a model that passes messages makes them here."""
        return self.entity, self.relation

    def kept_numbers(self, batch: int) -> int:
        """What the layers between tables and query hold of a batch for the way back, for an estimate of the memory."""
        return 0

    def settle(self, heads: Int[Tensor, "queries"], relations: Int[Tensor, "queries"]) -> None:
        """With queries of train, before every evaluation in training: time to measure what evaluation alone uses."""

    def as_units(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch c units s"]:
        """The units of a row, for penalties: single reals unless a model says otherwise."""
        return rows.view(len(rows), 1, -1, 1)

    def factors(
        self,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch relation_width"],
        tail: Float[Tensor, "batch width"],
    ) -> Factors:
        """The parts of a batch of triples that a penalty may weigh."""
        units = self.as_units(head)
        return Factors(units, units, self.as_units(tail), [self.as_units(relation)])

    # what follows from the above -----------------------------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        """Where its tables are, without making them."""
        return self.entity.device

    @property
    def entities(self) -> Float[Tensor, "entities width"]:
        """The rows that stand for an entity, without the padding."""
        return self.encode()[0][: self.num_entities]

    @property
    def relations(self) -> Float[Tensor, "num_relations relation_width"]:
        """A row for every relation, then for every inverse one, normalised where the transform does so."""
        return self.encode()[1]

    def query(self, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"]) -> Float[Tensor, "batch query_width"]:
        entity, relation = self.encode()
        return self.transform(lookup(entity, heads), lookup(relation, relations))

    def score(
        self, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"], tails: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch"]:
        """One score per triple."""
        candidates = lookup(self.encode()[0], tails)[:, None]
        return self.similarity(self.query(heads, relations)[:, None], candidates)[:, 0, 0]

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
        wanted, found = ({name: tuple(table.shape) for name, table in group.items()} for group in (mine, tables))
        unlike = [name for name in {**wanted, **found} if wanted.get(name) != found.get(name)]
        if unlike:
            sizes = (f"{name}: {found.get(name, 'none')}, asked for {wanted.get(name, 'none')}" for name in unlike)
            raise UserError(
                f"the checkpoint's tables are not those of the settings ({'; '.join(sizes)}); was config.toml edited, "
                "or was the run made by another version of bique?"
            )
        for name, table in mine.items():
            table.copy_(tables[name])


def dots(
    queries: Float[Tensor, "*n batch width"], candidates: Float[Tensor, "*n candidates width"]
) -> Float[Tensor, "*n batch candidates"]:
    """The inner product of every query with every candidate."""
    if queries.shape[-2] == candidates.shape[-2] == 1:  # a product of matrices is slow for many small ones
        return (queries * candidates).sum(-1, keepdim=True)
    return queries @ candidates.mT


def lookup(
    table: Float[Tensor, "rows width"], ids: Int[Tensor, "batch"], sparse: bool = False
) -> Float[Tensor, "batch width"]:
    """`sparse`: the table's gradient is a list of these rows, which whoever uses it adds up."""
    # embedding, not indexing: its dense gradient is summed in a fixed order on every number of CPU threads
    return functional.embedding(ids, table, sparse=sparse)
