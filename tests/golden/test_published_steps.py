"""Digit by digit: the published BiQUE computation, recorded in float64 on a tiny made-up graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from bique.config import BiQUEConfig, ObjectiveConfig, PenaltyConfig
from bique.evaluation import rank_queries
from bique.graph import Answers
from bique.models import BiQUE, Size
from bique.objectives import softmax_cross_entropy, weighted_mean
from bique.training.step import Objective, take_step

GOLDEN = np.load(Path(__file__).with_name("bique_steps.npz"))
UNITS = int(GOLDEN["units"])
CLOSE = {"rtol": 0, "atol": 1e-9}
BATCHES = torch.from_numpy(GOLDEN["triples"]).split(16)
WEIGHTS = torch.from_numpy(GOLDEN["entity_weight"])


def to_ours(rows: np.ndarray) -> torch.Tensor:
    """Blocks w_re, w_im, x_re, … of `units` reals → our layout (4, units, 2), for each 8·units reals of a row."""
    blocks = torch.from_numpy(rows).reshape(len(rows), -1, 4, 2, UNITS)
    return blocks.transpose(-1, -2).reshape(len(rows), -1)


@pytest.fixture
def model() -> BiQUE:
    model = BiQUE(BiQUEConfig(units=UNITS), Size(53, 10), torch.Generator()).double()
    model.load_tables({"entity": to_ours(GOLDEN["entity"]), "relation": to_ours(GOLDEN["relation"])})
    return model


def objective(weight: float = 0.15, weights: torch.Tensor | None = WEIGHTS) -> Objective:
    return Objective(ObjectiveConfig(), PenaltyConfig(weight=weight), weights)


def test_scores_of_the_first_batch(model: BiQUE) -> None:
    heads, relations, _ = BATCHES[0].unbind(1)
    torch.testing.assert_close(model.score_all(heads, relations), torch.from_numpy(GOLDEN["scores"]), **CLOSE)


def test_losses_and_penalty_of_the_first_batch(model: BiQUE) -> None:
    heads, relations, tails = BATCHES[0].unbind(1)
    scores = model.score_all(heads, relations)
    losses = softmax_cross_entropy(scores, tails)
    weighted = weighted_mean(losses, WEIGHTS[tails])
    assert losses.mean().item() == pytest.approx(GOLDEN["cross_entropy"].item(), abs=1e-9)
    assert weighted.item() == pytest.approx(GOLDEN["weighted_cross_entropy"].item(), abs=1e-9)
    penalty = objective()(model, BATCHES[0]) - weighted
    assert penalty.item() == pytest.approx(GOLDEN["penalty"].item(), abs=1e-9)


def test_gradients_of_the_first_batch(model: BiQUE) -> None:
    objective()(model, BATCHES[0]).backward()
    assert model.entity.grad is not None
    assert model.relation.grad is not None
    torch.testing.assert_close(model.entity.grad[:53], to_ours(GOLDEN["grad_entity"]), **CLOSE)
    torch.testing.assert_close(model.relation.grad, to_ours(GOLDEN["grad_relation"]), **CLOSE)


def test_six_adagrad_steps_and_the_ranks_after_them(model: BiQUE) -> None:
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1, eps=1e-10)
    losses = [take_step(model, objective(), optimizer, batch).item() for batch in BATCHES]
    np.testing.assert_allclose(losses, GOLDEN["losses"], rtol=0, atol=1e-9)
    tables = model.tables()
    torch.testing.assert_close(tables["entity"], to_ours(GOLDEN["entity_after_6_steps"]), **CLOSE)
    torch.testing.assert_close(tables["relation"], to_ours(GOLDEN["relation_after_6_steps"]), **CLOSE)

    triples = GOLDEN["triples"]
    ranking = rank_queries(model, triples[:32], Answers.from_triples(triples, 10))
    np.testing.assert_array_equal(ranking.ranks("worst"), GOLDEN["ranks_after_6_steps"])
