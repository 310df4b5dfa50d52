"""What holds on the CPU holds on a CUDA device (`pytest -m cuda`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bique.config import BiQUEConfig, RunConfig, parse_config
from bique.evaluation import Blocks, rank_queries
from bique.graph import Answers, Graph
from bique.models import BiQUE, RotatE, Size
from bique.runs import Run, read_checkpoint
from bique.training import Session, train
from bique.training.capture import CapturedSteps

pytestmark = [pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]


QUERIES, CANDIDATES = Blocks.on(torch.device("cuda"))


def settings(directory: Path, **training: Any) -> RunConfig:
    options = {"epochs": 6, "batch_size": 32, "validate_every": 2, **training}
    return parse_config({"graph": str(directory), "model": {"units": 4}, "training": options})


def trained(directory: Path, path: Path, **training: Any) -> Run:
    graph = Graph.open(directory)
    run = Run.create(settings(directory, **training), graph, path)
    train(run, graph)
    return run


def a_model(entities: int, units: int) -> BiQUE:
    config = BiQUEConfig(units=units, initial_scale=1.0)
    return BiQUE(config, Size(entities, 4), torch.Generator().manual_seed(0))


def take_steps(session: Session, count: int) -> None:
    for _ in range(count):
        session.step()


def ranked(model: BiQUE, memory: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    shape = (model.num_entities, model.num_relations, model.num_entities)
    queries = generator.integers(0, shape, (2 * QUERIES + 5, 3)).astype(np.int32)
    ranking = rank_queries(model, queries, Answers.from_triples(queries, model.num_relations), memory)
    return ranking.better, ranking.equal


def test_auto_takes_the_cuda_device_and_learns_what_the_cpu_learns(small_graph_directory: Path, tmp_path: Path) -> None:
    here = trained(small_graph_directory, tmp_path / "cuda", precision="fp32")
    there = trained(small_graph_directory, tmp_path / "cpu", device="cpu")
    assert "CPU" not in (here.path / "log.txt").read_text()
    for mine, theirs in zip(here.metrics(), there.metrics(), strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-3)


def test_ranks_in_double_precision_are_the_cpus() -> None:
    model = BiQUE(
        BiQUEConfig(units=8, initial_scale=1.0), Size(2 * CANDIDATES + 17, 4), torch.Generator().manual_seed(0)
    ).double()
    on_cpu = ranked(model, 1 << 30)
    on_cuda = ranked(model.cuda(), 1 << 30)
    np.testing.assert_array_equal(on_cpu, on_cuda)


def test_rank_does_not_depend_on_tile_size_on_cuda() -> None:
    model = BiQUE(
        BiQUEConfig(units=16, initial_scale=1.0), Size(3 * CANDIDATES + 17, 4), torch.Generator().manual_seed(0)
    ).cuda()
    block = QUERIES * CANDIDATES * 4
    for memory in (1, 2 * block):
        np.testing.assert_array_equal(ranked(model, memory), ranked(model, 1 << 30))


def test_deterministic_mode_gives_the_same_digits_twice(small_graph_directory: Path, tmp_path: Path) -> None:
    one, two = (trained(small_graph_directory, tmp_path / name, deterministic=True) for name in ("a", "b"))
    mine, theirs = read_checkpoint(one.last).tensors, read_checkpoint(two.last).tensors
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_a_step_that_cannot_be_captured_is_taken_as_it_is_and_says_so_once(
    small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With negatives, as a capture that fails must not leave torch's generator broken."""
    config = parse_config(
        {
            "dataset": "small",
            "model": {"name": "rotate", "units": 4},
            "objective": {"loss": "self_adversarial", "negatives": 4},
            "training": {"batch_size": 32},
        }
    )
    session = Session(config, small_graph, torch.device("cuda"))
    moved = RotatE.transform
    monkeypatch.setattr(
        RotatE, "transform", lambda self, head, relation: moved(self, head * head.sum().isfinite().item(), relation)
    )
    with pytest.warns(UserWarning, match="cannot be captured") as caught:
        take_steps(session, session.batches.per_epoch)
    assert len(caught) == 1
    assert isinstance(session.stepper, CapturedSteps)
    assert session.stepper.graph is None
    assert torch.rand(8, device="cuda").unique().numel() > 1
    assert np.isfinite(session.epoch_loss())
