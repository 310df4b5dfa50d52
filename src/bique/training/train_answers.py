"""What train knows, on the device of a step: how many answers a query has, which they are, and what is a fact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bique.graph import Answers, Graph
from bique.kernels.all_candidates import Positives
from bique.shapes import Bool, Float, Int


class AnswerCounts(NamedTuple):
    """How many tails each (head, relation) has in train, both directions."""

    keys: Int[Tensor, "queries"]
    """head · relations + relation, ascending."""
    counts: Float[Tensor, "queries"]
    inverse: Int[Tensor, "relations"]
    """Of each relation, the inverse ones included."""

    @classmethod
    def of(cls, graph: Graph, device: torch.device) -> AnswerCounts:
        answers = train_answers(graph)
        keys, counts = torch.from_numpy(answers.keys), torch.from_numpy(np.diff(answers.starts)).float()
        inverse = torch.from_numpy(graph.inverse(np.arange(graph.num_directed_relations)))
        return cls(keys.to(device), counts.to(device), inverse.to(device))

    def rarity(self, triples: Int[Tensor, "*n 3"]) -> Float[Tensor, "*n"]:
        """1/√(n(h, r) + n(t, r⁻¹) + 6) of training triples: the published counts begin at 4, not at 1."""
        heads, relations, tails = triples.long().unbind(-1)
        return (self._count(heads, relations) + self._count(tails, self.inverse[relations]) + 6).rsqrt()

    def query_rarity(self, triples: Int[Tensor, "*n 3"]) -> Float[Tensor, "*n"]:
        """1/√(n(h, r) + 3) of training triples: counts begin at 4 here, too."""
        heads, relations, _ = triples.long().unbind(-1)
        return (self._count(heads, relations) + 3).rsqrt()

    def _count(self, heads: Tensor, relations: Tensor) -> Tensor:
        return self.counts[torch.searchsorted(self.keys, heads * len(self.inverse) + relations)]


class KnownTails(NamedTuple):
    """The tails of every (head, relation) in train, both directions: what a 1-N loss calls true.

    Its batches hold queries: the third column of a "triple" is then the number of the query.
    """

    starts: Int[Tensor, "queries_plus_one"]
    tails: Int[Tensor, "facts"]
    most: list[int]
    """most[n]: how many tails n queries may have at most; so a step has one shape, whatever its queries are."""

    @classmethod
    def of(cls, graph: Graph, device: torch.device) -> KnownTails:
        answers = train_answers(graph)
        counts = np.sort(np.diff(answers.starts))[::-1]
        starts, tails = (torch.from_numpy(np.array(part)).long().to(device) for part in (answers.starts, answers.tails))
        return cls(starts, tails, [0, *np.cumsum(counts).tolist()])

    def pairs(self, queries: Int[Tensor, "batch"]) -> Positives:
        """(row of the batch, known tail), always as many as different queries may have at most: the rest repeats them.

        Rows that fill up a batch repeat a query, so some of them may be left without a pair.
        """
        numbers = queries.long()
        first = self.starts[numbers]
        ends = (self.starts[numbers + 1] - first).cumsum(0)
        number = torch.arange(self.most[len(queries)], device=queries.device)
        pair = number % ends[-1]
        rows = torch.searchsorted(ends, pair, right=True)
        before = torch.cat((ends.new_zeros(1), ends))[rows]
        return Positives(rows, self.tails[first[rows] + pair - before], (number < ends[-1]).float())

    def labels(
        self, queries: Int[Tensor, "batch"], num_entities: int, dtype: torch.dtype
    ) -> Float[Tensor, "batch entities"]:
        """1 for every known tail of each query."""
        rows, columns, _ = self.pairs(queries)
        labels = torch.zeros(len(queries), num_entities, dtype=dtype, device=queries.device)
        return labels.index_put((rows, columns), torch.ones((), dtype=dtype, device=queries.device))


class KnownFacts(NamedTuple):
    """The facts of train, both directions."""

    keys: Int[Tensor, "queries"]
    """head · relations + relation, ascending."""
    codes: Int[Tensor, "facts"]
    """number of the query · entities + tail, ascending."""
    num_relations: int
    num_entities: int

    @classmethod
    def of(cls, graph: Graph, device: torch.device) -> KnownFacts:
        answers = train_answers(graph)
        numbers = np.repeat(np.arange(len(answers.keys)), np.diff(answers.starts))
        keys, codes = torch.from_numpy(answers.keys), torch.from_numpy(numbers * graph.num_entities + answers.tails)
        return cls(keys.to(device), codes.to(device), graph.num_directed_relations, graph.num_entities)

    def hold(
        self, heads: Int[Tensor, "*#n"], relations: Int[Tensor, "*#n"], tails: Int[Tensor, "*#n"]
    ) -> Bool[Tensor, "*n"]:
        """Whether each triple is one of them."""
        number, asked = _find(self.keys, heads.long() * self.num_relations + relations)
        _, known = _find(self.codes, number * self.num_entities + tails)
        return known & asked


def _find(ascending: Int[Tensor, "many"], wanted: Int[Tensor, "*n"]) -> tuple[Int[Tensor, "*n"], Bool[Tensor, "*n"]]:
    """The place of each value, and whether it is there."""
    places = torch.searchsorted(ascending, wanted).clamp(max=len(ascending) - 1)
    return places, ascending[places] == wanted


def train_answers(graph: Graph) -> Answers:
    return Answers.from_triples(graph.both_directions(graph.train), graph.num_directed_relations)


def bernoulli_weights(graph: Graph) -> Float[Tensor, "relations"]:
    """Of both directions of each relation: 2·heads per tail/(tails per head + heads per tail) for its tails."""
    weights = torch.ones(graph.num_directed_relations)
    for relation in range(graph.num_relations):
        facts = graph.train[graph.train[:, 1] == relation]
        if len(facts):
            tails_per_head = len(facts) / len(np.unique(facts[:, 0]))
            heads_per_tail = len(facts) / len(np.unique(facts[:, 2]))
            weights[relation] = 2 * heads_per_tail / (tails_per_head + heads_per_tail)
            weights[graph.inverse(relation)] = 2 - weights[relation]
    return weights
