"""The plain step: query → scores of all candidates → loss + penalty → autograd → optimizer.

Short, and the reference that the engine is tested against; it runs with `training.engine = "plain"`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bique.config import ObjectiveConfig, PenaltyConfig
from bique.models import Model
from bique.objectives import group_n3, logistic_loss, softmax_cross_entropy, weighted_mean
from bique.shapes import Float, Int


class Objective:
    """Loss plus penalty of a batch of triples, as the configuration says."""

    def __init__(
        self, loss: ObjectiveConfig, penalty: PenaltyConfig, weights: Float[Tensor, "entities"] | None = None
    ) -> None:
        self.loss, self.penalty, self.weights = loss, penalty, weights

    def __call__(self, model: Model, batch: Int[Tensor, "batch 3"]) -> Float[Tensor, ""]:
        heads, relations, tails = batch.unbind(1)
        head, relation = model.entity_rows(heads), model.relation_rows(relations)
        scores = model.similarity(model.transform(head, relation), model.entities)
        total = weighted_mean(self.losses(scores, tails), self.target_weights(tails))
        if self.penalty.weight:
            total = total + self.penalties(model, head, relation, model.entity_rows(tails)).mean()
        return total

    def losses(self, scores: Float[Tensor, "batch entities"], targets: Int[Tensor, "batch"]) -> Float[Tensor, "batch"]:
        loss = logistic_loss if self.loss.loss == "logistic" else softmax_cross_entropy
        return loss(scores, targets, self.loss.label_smoothing)

    def target_weights(self, targets: Int[Tensor, "*n"]) -> Float[Tensor, "*n"] | None:
        return None if self.weights is None else self.weights[targets]

    def penalties(
        self,
        model: Model,
        head: Float[Tensor, "batch width"],
        relation: Float[Tensor, "batch relation_width"],
        tail: Float[Tensor, "batch width"],
    ) -> Float[Tensor, "batch"]:
        factors, options = model.factors(head, relation, tail), self.penalty
        relation_parts = [factors.product]
        if options.relation_part == "both" and factors.translation is not None:
            relation_parts.append(factors.translation)
        return group_n3(
            factors.translated_head if options.head == "translated" else factors.head,
            factors.tail,
            relation_parts,
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
