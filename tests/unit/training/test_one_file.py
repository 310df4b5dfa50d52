"""The example is an independent reading of the paper: its losses and the package's must be the same."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from bique.config import parse_config
from bique.graph import Graph
from bique.training import Session
from bique.training.optimizers import make_optimizer
from bique.training.step import take_step

EXAMPLE = Path(__file__).parents[3] / "examples" / "bique_in_one_file.py"


@pytest.fixture
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bique_in_one_file", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_is_short_and_imports_nothing_of_ours() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "import bique" not in text
    assert "from bique" not in text


def test_the_first_20_losses_of_example_and_package_are_equal(
    example: ModuleType, facts_folder: Path, small_graph: Graph
) -> None:
    units, batch_size, seed, penalty = 4, 24, 5, 0.05
    entities, relations, splits = example.read_facts(facts_folder)
    assert entities == list(small_graph.entities)
    facts = example.both_directions(splits["train"], len(relations))
    entity, relation = (
        table.detach().double().requires_grad_()
        for table in example.start_tables(len(entities), len(relations), units, seed)
    )
    optimizer = torch.optim.Adagrad([entity, relation], lr=0.1, eps=1e-10)
    theirs: list[float] = []
    for epoch in range(3):
        for places in example.epoch_order(len(facts), seed, epoch).split(batch_size):
            optimizer.zero_grad()
            loss = example.batch_loss(entity, relation, facts[places], penalty)
            loss.backward()
            optimizer.step()
            theirs.append(loss.item())

    config = parse_config(
        {
            "graph": "unused",
            "model": {"units": units},
            "penalty": {"weight": penalty},
            "training": {"batch_size": batch_size, "seed": seed, "device": "cpu"},
        }
    )
    session = Session(config, small_graph, torch.device("cpu"))
    session.model.double()
    optimizer = make_optimizer(config.optimizer, session.model)  # anew: its sums are as precise as the tables
    steps = session.batches.per_epoch
    ours = [
        take_step(
            session.model,
            session.objective,
            optimizer,
            session.batches.batch(session.batches.order(i // steps), i % steps),
        ).item()
        for i in range(20)
    ]
    assert ours == pytest.approx(theirs[:20], abs=1e-9)


def test_the_example_runs_from_the_shell(example: ModuleType, facts_folder: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(example, "EPOCHS", 3)
    monkeypatch.setattr(example, "UNITS", 2)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(facts_folder)])
    example.main(facts_folder)
    assert "test MRR" in capsys.readouterr().out
