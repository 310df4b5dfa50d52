"""A relation on a sheet: its heads, tails and queries as directions, seen along the two that vary most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bique.errors import UserError, unknown
from bique.graph import Graph
from bique.models import Model, lookup
from bique.shapes import Float, Int


@dataclass(frozen=True)
class Plane:
    """Two orthonormal directions through the mean of some unit vectors, and how much of their variance each shows."""

    mean: Float[Tensor, "width"]
    axes: Float[Tensor, "2 width"]
    shares: tuple[float, float]

    @classmethod
    def fit(cls, rows: Float[Tensor, "rows width"]) -> Plane:
        """Principal components of the rows at unit length."""
        rows = directions(rows)
        mean = rows.mean(0)
        # a row and a column of zeros change nothing, and there are two axes even where one is all there is
        centred = functional.pad(rows - mean, (0, 1, 0, 1))
        if not bool(torch.isfinite(centred).all()):
            raise UserError("the model's vectors are too long to be drawn; did it diverge?")
        _, sizes, axes = torch.linalg.svd(centred, full_matrices=False)
        variance = sizes.square() / sizes.square().sum().clamp(min=1e-30)
        # a sign is free: the largest part of each axis points up, so that the same model gives the same picture
        largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
        axes = axes * torch.where(largest < 0, -1.0, 1.0)
        return cls(mean, axes[:2, :-1], (float(variance[0]), float(variance[1])))

    def project(self, rows: Float[Tensor, "rows width"]) -> Float[np.ndarray, "rows 2"]:
        return ((directions(rows) - self.mean) @ self.axes.T).numpy()


@dataclass(frozen=True)
class RelationVectors:
    """Rows of a sample of a relation's training facts, in float64 on the CPU: one head, query and tail for each."""

    relation: str
    facts: int
    """How many training facts there are; the sample may be smaller."""
    heads: Float[Tensor, "sample width"]
    queries: Float[Tensor, "sample width"]
    """The heads as the model has transformed them."""
    tails: Float[Tensor, "sample width"]
    head_names: list[str]
    tail_names: list[str]
    """What people call them."""

    def plane(self) -> Plane:
        """Of tails and queries, which are to meet; the heads are seen in it, too."""
        return Plane.fit(torch.cat([self.tails, self.queries]))


def relation_vectors(model: Model, graph: Graph, relation: str, most: int = 200, seed: int = 0) -> RelationVectors:
    """At most `most` of the facts, drawn by the seed."""
    if not model.dot_product:
        raise UserError(
            f"{type(model).__name__} compares by a distance, so its queries are no directions among the entities; "
            "choose a run of a model that compares by the dot product, such as bique"
        )
    facts = relation_facts(graph, relation)
    chosen = facts
    if len(facts) > most:
        chosen = facts[np.sort(np.random.default_rng(seed).choice(len(facts), most, replace=False))]
    heads, relations, tails = torch.as_tensor(chosen).long().unbind(1)
    with torch.no_grad():
        queries = model.query(heads, relations)
        head_rows, tail_rows = (lookup(model.entities, ids) for ids in (heads, tails))
    names = [[graph.label(one) or graph.entities[one] for one in ids.tolist()] for ids in (heads, tails)]
    return RelationVectors(relation, len(facts), head_rows.double(), queries.double(), tail_rows.double(), *names)


def relation_facts(graph: Graph, relation: str) -> Int[np.ndarray, "facts 3"]:
    """The distinct training facts of a relation."""
    if relation not in graph.relations:
        raise unknown("relation", relation, list(graph.relations))
    facts = np.unique(graph.train[graph.train[:, 1] == graph.relations.index(relation)], axis=0)
    if not len(facts):
        raise UserError(f"{relation!r} has no training fact in {graph.name}; choose another relation")
    return facts


def directions(rows: Float[Tensor, "rows width"]) -> Float[Tensor, "rows width"]:
    """At unit length: a dot product ranks candidates by direction first, and lengths would hide it."""
    return rows / rows.norm(dim=1, keepdim=True).clamp(min=1e-30)
