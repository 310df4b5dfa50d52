"""The plain step: query → scores → loss + penalty → autograd → optimizer.

Short, and the reference that the engine is tested against; it runs with `training.engine = "plain"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bique.config import ObjectiveConfig, PenaltyConfig, RunConfig
from bique.graph import Answers, Graph
from bique.kernels.all_candidates import Positives
from bique.models import Model, lookup
from bique.objectives import (
    binary_cross_entropy,
    degree_weights,
    dura,
    embedding_penalty,
    logistic_loss,
    margin_loss,
    self_adversarial_loss,
    shared_softmax,
    softmax_cross_entropy,
    weighted_mean,
)
from bique.shapes import Float, Int


class Terms(NamedTuple):
    """What a batch of triples costs, one number each."""

    losses: Float[Tensor, "batch"]
    penalties: Float[Tensor, "batch"] | None


@dataclass(frozen=True)
class Objective:
    """Loss plus penalty of a batch of triples, as the configuration says."""

    loss: ObjectiveConfig
    penalty: PenaltyConfig
    target_weight: Float[Tensor, "entities"] | None = None
    direction_weight: Float[Tensor, "relations"] | None = None
    answer_counts: AnswerCounts | None = None
    known: KnownTails | None = None

    @classmethod
    def of(cls, config: RunConfig, graph: Graph, device: torch.device) -> Objective:
        targets = directions = counts = known = None
        if config.objective.target_weight == "degree":
            targets = degree_weights(torch.from_numpy(graph.degrees)).to(device)
        if config.objective.target_weight == "rarity":
            counts = AnswerCounts.of(graph, device)
        if config.objective.sampler == "bernoulli":
            directions = bernoulli_weights(graph).to(device)
        if config.objective.one_to_n:
            known = KnownTails.of(graph, device)
        return cls(config.objective, config.penalty, targets, directions, counts, known)

    def __call__(self, model: Model, batch: Int[Tensor, "batch 3"]) -> Float[Tensor, ""]:
        terms = self.terms(model, batch)
        total = weighted_mean(terms.losses, self.weights(batch))
        return total if terms.penalties is None else total + terms.penalties.mean()

    def weights(self, triples: Int[Tensor, "*n 3"]) -> Float[Tensor, "*n"] | None:
        """How much each triple counts in the loss."""
        if self.target_weight is not None:
            return self.target_weight[triples[..., 2]]
        if self.answer_counts is not None:
            return self.answer_counts.rarity(triples)
        return None if self.direction_weight is None else self.direction_weight[triples[..., 1]]

    def terms(self, model: Model, batch: Int[Tensor, "batch 3"]) -> Terms:
        heads, relations, tails = batch.unbind(1)
        entity_table, relation_table = model.encode()
        head, relation = lookup(entity_table, heads), lookup(relation_table, relations)
        query = model.transform(head, relation)
        penalties = None
        if self.penalty.weight:
            penalties = self.penalties(model, head, relation, lookup(entity_table, tails), query)
        entities = entity_table[: model.num_entities]
        if self.loss.negatives:
            return Terms(self._sampled(model, query, relation, entities, tails), penalties)
        scores = model.similarity(query, entities)
        if self.known is None:
            return Terms(self.losses(scores, tails), penalties)
        labels, options = self.known.labels(tails, model.num_entities, scores.dtype), self.loss
        if options.loss == "shared_softmax":
            return Terms(shared_softmax(scores, labels, options.label_smoothing), penalties)
        return Terms(binary_cross_entropy(scores, labels, options.label_smoothing, options.smoothing_share), penalties)

    def losses(
        self, scores: Float[Tensor, "batch candidates"], targets: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch"]:
        loss = logistic_loss if self.loss.loss == "logistic" else softmax_cross_entropy
        return loss(scores, targets, self.loss.label_smoothing)

    def _sampled(
        self, model: Model, query: Tensor, relation: Tensor, entities: Tensor, tails: Tensor
    ) -> Float[Tensor, "batch"]:
        options = self.loss
        if options.sampler == "shared":
            scores = self._with_shared(model, query, entities, tails)
        else:
            scores = self._with_own(model, query, relation, entities, tails)
        if options.loss == "margin":
            return margin_loss(scores, options.margin)
        if options.loss == "self_adversarial":
            return self_adversarial_loss(scores, options.margin, options.temperature)
        return self.losses(scores, torch.zeros_like(tails))

    def _with_shared(
        self, model: Model, query: Tensor, entities: Tensor, tails: Tensor
    ) -> Float[Tensor, "batch candidates"]:
        """The target, then negatives drawn for the whole batch."""
        target = model.similarity(query[:, None], lookup(entities, tails)[:, None])[:, 0]
        others = lookup(entities, self._draw(model, tails, (self.loss.negatives,)))
        return torch.cat((target, model.similarity(query, others)), dim=1)

    def _with_own(
        self, model: Model, query: Tensor, relation: Tensor, entities: Tensor, tails: Tensor
    ) -> Float[Tensor, "batch candidates"]:
        """The target, then negatives drawn for each triple."""
        shape = (len(tails), self.loss.negatives)
        candidates = torch.cat((tails[:, None], self._draw(model, tails, shape)), dim=1)
        rows = lookup(entities, candidates.flatten()).unflatten(0, candidates.shape)
        if self.loss.sampler != "pairs":
            return model.similarity(query[:, None], rows)[:, 0]
        heads = self._draw(model, tails, shape)
        others = model.transform(lookup(entities, heads.flatten()), relation.repeat_interleave(shape[1], dim=0))
        queries = torch.cat((query[:, None], others.unflatten(0, shape)), dim=1)
        return model.similarity(queries[:, :, None], rows[:, :, None])[:, :, 0, 0]

    @staticmethod
    def _draw(model: Model, like: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Entities; one may happen to be a true answer."""
        return torch.randint(model.num_entities, shape, device=like.device, dtype=like.dtype)

    def penalties(
        self,
        model: Model,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch relation_width"],
        tail: Float[Tensor, "batch width"],
        query: Float[Tensor, "batch query_width"],
    ) -> Float[Tensor, "batch"]:
        options = self.penalty
        if options.kind == "dura":
            return dura(query, tail, options.weight)
        factors = model.factors(head, relation, tail)
        return embedding_penalty(
            factors.translated_head if options.head == "translated" else factors.head,
            factors.tail,
            factors.relation if options.relation_part == "both" else factors.relation[:1],
            kind=options.kind,
            weight=options.weight,
            entity=options.entity,
            relation_weight=options.relation,
        )


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
        """(row of the batch, known tail), always as many as these queries may have at most: the rest repeats them."""
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


def take_step(
    model: Model, objective: Objective, optimizer: torch.optim.Optimizer, batch: Int[Tensor, "batch 3"]
) -> Float[Tensor, ""]:
    """The loss before the step."""
    optimizer.zero_grad(set_to_none=True)
    loss = objective(model, batch)
    loss.backward()
    optimizer.step()
    return loss.detach()
