"""The no-learning baseline: for every question of a relation the same answers, the most frequent tails first."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from bique.errors import UserError
from bique.graph import Graph
from bique.shapes import Float, Int

# entities × relations; 200 MB of counts
LARGEST = 50_000_000


class FrequencyBaseline:
    """score(h, r, t) = how often t is a tail of r in train: a dot product of one-hot r with the counts of t."""

    def __init__(self, graph: Graph) -> None:
        if not self.fits(graph):
            raise UserError(f"the baseline's counts of {graph.name} would be too large; leave the baseline out")
        facts = torch.as_tensor(graph.both_directions(graph.train).astype("int64"))
        counts = torch.zeros(graph.num_entities, graph.num_directed_relations)
        ones = torch.ones(len(facts))
        self.entities: Float[Tensor, "entities relations"] = counts.index_put((facts[:, 2], facts[:, 1]), ones, True)

    @staticmethod
    def fits(graph: Graph) -> bool:
        """Whether the table of counts is of a reasonable size."""
        return graph.num_entities * graph.num_directed_relations <= LARGEST

    @property
    def device(self) -> torch.device:
        return self.entities.device

    def query(self, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"]) -> Float[Tensor, "batch relations"]:
        return functional.one_hot(relations, self.entities.shape[1]).to(self.entities.dtype)

    def similarity(
        self, query: Float[Tensor, "batch relations"], candidates: Float[Tensor, "candidates relations"]
    ) -> Float[Tensor, "batch candidates"]:
        return query @ candidates.T
