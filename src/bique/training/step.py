"""The plain step: query → scores → loss + penalty → autograd → optimizer.

Short, and the reference that the engine is tested against; it runs with `training.engine = "plain"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from bique.config import ObjectiveConfig, PenaltyConfig, RunConfig
from bique.graph import Graph
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
from bique.training.train_answers import AnswerCounts, KnownFacts, KnownTails, bernoulli_weights

NEVER = -1e30  # not −∞: a row with nothing else has no softmax


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
    facts: KnownFacts | None = None
    sparse: bool = False
    """With negatives: whether the entity table's gradient holds the looked-up rows alone."""

    @classmethod
    def of(cls, config: RunConfig, graph: Graph, device: torch.device) -> Objective:
        targets = directions = counts = known = facts = None
        if config.objective.target_weight == "degree":
            targets = degree_weights(torch.from_numpy(graph.degrees)).to(device)
        if config.objective.target_weight in ("rarity", "query_rarity"):
            counts = AnswerCounts.of(graph, device)
        if config.objective.sampler == "bernoulli":
            directions = bernoulli_weights(graph).to(device)
        if config.objective.one_to_n:
            known = KnownTails.of(graph, device)
        if config.objective.filtered:
            facts = KnownFacts.of(graph, device)
        return cls(config.objective, config.penalty, targets, directions, counts, known, facts)

    def __call__(self, model: Model, batch: Int[Tensor, "batch 3"]) -> Float[Tensor, ""]:
        terms = self.terms(model, batch)
        total = weighted_mean(terms.losses, self.weights(batch))
        return total if terms.penalties is None else total + terms.penalties.mean()

    def weights(self, triples: Int[Tensor, "*n 3"]) -> Float[Tensor, "*n"] | None:
        """How much each triple counts in the loss."""
        if self.target_weight is not None:
            return self.target_weight[triples[..., 2]]
        if self.answer_counts is not None:
            both = self.loss.target_weight == "rarity"
            return self.answer_counts.rarity(triples) if both else self.answer_counts.query_rarity(triples)
        return None if self.direction_weight is None else self.direction_weight[triples[..., 1]]

    def terms(self, model: Model, batch: Int[Tensor, "batch 3"]) -> Terms:
        heads, relations, tails = batch.unbind(1)
        entity_table, relation_table = model.encode()
        head, relation = lookup(entity_table, heads, self.sparse), lookup(relation_table, relations)
        query = model.transform(head, relation)
        penalties = None
        if self.penalty.weight:
            penalties = self.penalties(model, head, relation, lookup(entity_table, tails, self.sparse), query)
        if self.loss.negatives:
            return Terms(self._sampled(model, query, relation, entity_table, batch), penalties)
        scores = model.similarity(query, entity_table[: model.num_entities])
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
        self, model: Model, query: Tensor, relation: Tensor, entities: Tensor, batch: Int[Tensor, "batch 3"]
    ) -> Float[Tensor, "batch"]:
        options = self.loss
        if options.sampler == "shared":
            scores = self._with_shared(model, query, entities, batch)
        else:
            scores = self._with_own(model, query, relation, entities, batch)
        if options.loss == "margin":
            return margin_loss(scores, options.margin)
        if options.loss == "self_adversarial":
            return self_adversarial_loss(scores, options.margin, options.temperature)
        return self.losses(scores, torch.zeros_like(batch[:, 2]))

    def _with_shared(
        self, model: Model, query: Tensor, entities: Tensor, batch: Int[Tensor, "batch 3"]
    ) -> Float[Tensor, "batch candidates"]:
        """The target, then negatives drawn for the whole batch."""
        heads, relations, tails = batch.unbind(1)
        target = model.similarity(query[:, None], lookup(entities, tails, self.sparse)[:, None])[:, 0]
        drawn = self._draw(model, tails, (self.loss.negatives,))
        scores = torch.cat((target, model.similarity(query, lookup(entities, drawn, self.sparse))), dim=1)
        return self._without_facts(scores, heads[:, None], relations, drawn)

    def _with_own(
        self, model: Model, query: Tensor, relation: Tensor, entities: Tensor, batch: Int[Tensor, "batch 3"]
    ) -> Float[Tensor, "batch candidates"]:
        """The target, then negatives drawn for each triple."""
        heads, relations, tails = batch.unbind(1)
        drawn = self._draw(model, tails, (len(tails), self.loss.negatives))
        candidates = torch.cat((tails[:, None], drawn), dim=1)
        rows = lookup(entities, candidates.flatten(), self.sparse).unflatten(0, candidates.shape)
        if self.loss.sampler != "pairs":
            scores, wrong_heads = model.similarity(query[:, None], rows)[:, 0], heads[:, None]
        else:
            wrong_heads = self._draw(model, tails, drawn.shape)
            each = relation.repeat_interleave(drawn.shape[1], dim=0)
            others = model.transform(lookup(entities, wrong_heads.flatten(), self.sparse), each)
            queries = torch.cat((query[:, None], others.unflatten(0, drawn.shape)), dim=1)
            scores = model.similarity(queries[:, :, None], rows[:, :, None])[:, :, 0, 0]
        return self._without_facts(scores, wrong_heads, relations, drawn)

    def _without_facts(
        self, scores: Float[Tensor, "batch candidates"], heads: Tensor, relations: Tensor, tails: Tensor
    ) -> Float[Tensor, "batch candidates"]:
        """If asked for, a negative that is a fact of train gets a score that costs nothing."""
        if self.facts is None:
            return scores
        facts = self.facts.hold(heads, relations[:, None], tails)
        return scores.masked_fill(functional.pad(facts, (1, 0)), NEVER)

    @staticmethod
    def _draw(model: Model, like: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Entities; one may happen to be a true answer (see `filtered`)."""
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


def take_step(
    model: Model, objective: Objective, optimizer: torch.optim.Optimizer, batch: Int[Tensor, "batch 3"]
) -> Float[Tensor, ""]:
    """The loss before the step."""
    optimizer.zero_grad(set_to_none=True)
    loss = objective(model, batch)
    loss.backward()
    optimizer.step()
    return loss.detach()
