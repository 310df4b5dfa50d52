"""How much a direction counts with Bernoulli negatives, and how large a step is in each epoch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bique.config import OptimizerConfig, parse_config
from bique.graph import Graph, Vocabulary
from bique.training import Session
from bique.training.optimizers import rate_in
from bique.training.train_answers import bernoulli_weights


def test_the_direction_with_fewer_true_answers_counts_more() -> None:
    """Four children of one parent: (child, parent, ?) has one answer, (parent, parent inverted, ?) has four."""
    none = np.zeros((0, 3), dtype=np.int32)
    facts = np.array([(child, 0, 4) for child in range(4)], dtype=np.int32)
    names = Vocabulary.from_names("abcde"), Vocabulary.from_names(["parent", "unused"])
    graph = Graph(*names, facts, none, none, {"name": "family"})
    weights = bernoulli_weights(graph)
    assert weights[0] == pytest.approx(2 * 4 / (4 + 1))
    assert weights[graph.inverse(0)] == pytest.approx(2 * 1 / (4 + 1))
    assert weights[1] == weights[graph.inverse(1)] == 1


@pytest.mark.parametrize(
    ("schedule", "shares"),
    [
        ("constant", [1, 1, 1, 1]),
        ("linear", [1, 0.75, 0.5, 0.25]),
        ("cosine", [1, 0.8535533906, 0.5, 0.1464466094]),
    ],
)
def test_a_rate_falls_to_nothing_at_the_end_of_the_run(schedule: str, shares: list[float]) -> None:
    config = OptimizerConfig.model_validate({"schedule": schedule, "learning_rate": 0.4})
    assert [rate_in(config, epoch, 4) for epoch in range(5)][:4] == pytest.approx([0.4 * share for share in shares])
    assert rate_in(config, 4, 4) == pytest.approx(0.4 if schedule == "constant" else 0)


@pytest.mark.parametrize("engine", ["fast", "plain"])
@pytest.mark.parametrize("name", ["adagrad", "adam"])
def test_steps_of_a_later_epoch_are_smaller_by_the_schedule(name: str, engine: str, small_graph: Graph) -> None:
    """The same step with the rate of the first epoch, and with that of the third of four: half of it."""
    moved = []
    for epoch in (0, 2):
        tree = {
            "dataset": "small",
            "model": {"units": 4},
            "optimizer": {"name": name, "learning_rate": 0.1, "schedule": "linear"},
            "training": {"epochs": 4, "batch_size": 50, "device": "cpu", "engine": engine},
        }
        session = Session(parse_config(tree), small_graph, torch.device("cpu"))
        before = session.model.entity.detach().clone()
        order = session.batches.order(0)
        session.batches.order = lambda _, order=order: order  # type: ignore[method-assign]
        session.place.epoch = epoch
        session.step()
        moved.append(session.model.entity.detach() - before)
    torch.testing.assert_close(moved[1], moved[0] / 2)
