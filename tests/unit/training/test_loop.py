from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from bique.config import RunConfig, parse_config
from bique.errors import UserError
from bique.graph import Graph
from bique.runs import Run, read_checkpoint
from bique.training import Session, Silent, StopRequest, train
from bique.training.batches import Batches
from bique.training.session import NotFiniteError, target_weights


def settings(directory: Path, **training: Any) -> RunConfig:
    tree: dict[str, Any] = {
        "graph": str(directory),
        "model": {"units": 4},
        "training": {
            "epochs": 6,
            "batch_size": 32,
            "validate_every": 2,
            "checkpoint_seconds": 1e9,
            "device": "cpu",
            **training,
        },
    }
    return parse_config(tree)


def new_run(directory: Path, path: Path, config: RunConfig | None = None) -> tuple[Run, Graph]:
    graph = Graph.open(directory)
    return Run.create(config or settings(directory), graph, path), graph


def tables(run: Run) -> dict[str, torch.Tensor]:
    return read_checkpoint(run.last).tensors


def assert_same_run(one: Run, other: Run) -> None:
    mine, theirs = tables(one), tables(other)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    best, their_best = read_checkpoint(one.best), read_checkpoint(other.best)
    assert all(torch.equal(best.tensors[name], their_best.tensors[name]) for name in best.tensors)
    assert best.record == their_best.record

    def without_time(run: Run) -> list[dict[str, Any]]:
        return [{key: value for key, value in record.items() if key != "seconds"} for record in run.metrics()]

    assert without_time(one) == without_time(other)


class StopAt(Silent):
    """Asks for a stop, as Ctrl-C would, after so many steps."""

    def __init__(self, stop: StopRequest, steps: int) -> None:
        self.stop, self.left = stop, steps

    def stepped(self, epoch: int, step: int) -> None:
        self.left -= 1
        if self.left == 0:
            self.stop.signal = signal.SIGINT


@pytest.mark.parametrize("steps", [1, 3, 6, 7, 17])
@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
def test_a_stopped_run_ends_bit_identical_to_one_never_stopped(
    steps: int, optimizer: str, small_graph_directory: Path, tmp_path: Path
) -> None:
    config = settings(small_graph_directory)
    config = config.model_copy(update={"optimizer": config.optimizer.model_copy(update={"name": optimizer})})
    whole, graph = new_run(small_graph_directory, tmp_path / "whole", config)
    train(whole, graph)
    broken, graph = new_run(small_graph_directory, tmp_path / "broken", config)
    stop = StopRequest()
    assert train(broken, graph, StopAt(stop, steps), stop).ended == "stopped"
    assert train(Run.open(broken.path), graph).ended == "finished"
    assert_same_run(whole, broken)


def test_the_same_seed_gives_the_same_digits_twice_and_another_seed_others(
    small_graph_directory: Path, tmp_path: Path
) -> None:
    runs = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        run, graph = new_run(small_graph_directory, tmp_path / name, settings(small_graph_directory, seed=seed))
        train(run, graph)
        runs.append(run)
    assert_same_run(runs[0], runs[1])
    assert not torch.equal(tables(runs[0])["model/entity"], tables(runs[2])["model/entity"])


def test_training_learns_the_small_graph(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, epochs=30))
    train(run, graph)
    losses = [record["loss"] for record in run.metrics()]
    assert losses[-1] < 0.6 * losses[0]


def test_best_checkpoint_is_the_epoch_of_the_highest_validation_mrr(
    small_graph_directory: Path, tmp_path: Path
) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, epochs=30))
    train(run, graph)
    validated = [record for record in run.metrics() if "valid_mrr" in record]
    best = max(validated, key=lambda record: record["valid_mrr"])
    assert read_checkpoint(run.best).record["epoch"] == best["epoch"]
    assert [record["epoch"] for record in validated] == list(range(2, 31, 2))


def test_patience_ends_a_run_that_stopped_improving(small_graph_directory: Path, tmp_path: Path) -> None:
    config = settings(small_graph_directory, epochs=500, patience=2, validate_every=1)
    run, graph = new_run(small_graph_directory, tmp_path / "run", config)
    outcome = train(run, graph)
    assert outcome.ended == "early"
    assert outcome.epoch == outcome.best_epoch + 2
    assert train(Run.open(run.path), graph).epoch == outcome.epoch  # resuming it does not go on


def test_an_empty_validation_split_makes_the_last_epoch_the_best(small_graph: Graph, tmp_path: Path) -> None:
    from dataclasses import replace

    replace(small_graph, valid=small_graph.valid[:0]).save(tmp_path / "graph")
    run, graph = new_run(tmp_path / "graph", tmp_path / "run")
    train(run, graph)
    assert read_checkpoint(run.best).record["epoch"] == 6


def test_a_loss_that_is_not_finite_stops_with_the_last_good_checkpoint_kept(
    small_graph_directory: Path, tmp_path: Path
) -> None:
    config = settings(small_graph_directory, checkpoint_seconds=0)
    run, graph = new_run(small_graph_directory, tmp_path / "run", config)
    stop = StopRequest()
    train(run, graph, StopAt(stop, 5), stop)
    good = run.last.read_bytes()

    class Spoil(Silent):
        def stepped(self, epoch: int, step: int) -> None:
            sessions[0].model.entity.data[0, 0] = torch.nan

    from bique.training import loop

    sessions: list[Session] = []

    class Kept(Session):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            sessions.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "Session", Kept)
        with pytest.raises(NotFiniteError, match="last good checkpoint is kept"):
            train(run, graph, Spoil())
    assert run.last.read_bytes() == good
    assert train(Run.open(run.path), graph).ended == "finished"


def test_metrics_of_epochs_that_are_trained_again_are_written_once(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run")
    stop = StopRequest()
    train(run, graph, StopAt(stop, 8), stop)
    with (run.path / "metrics.jsonl").open("a") as file:  # what a process killed after two more epochs leaves behind
        file.write(json.dumps({"epoch": 2, "loss": 1.0}) + "\n" + '{"epoch": 3, "lo')
    train(Run.open(run.path), graph)
    assert [record["epoch"] for record in run.metrics()] == [1, 2, 3, 4, 5, 6]


def test_every_fact_is_trained_in_both_directions_once_per_epoch(small_graph: Graph) -> None:
    batches = Batches(small_graph, batch_size=32, seed=1, device=torch.device("cpu"))
    order = batches.order(0)
    epoch = torch.cat([batches.batch(order, step) for step in range(batches.per_epoch)])
    expected = torch.from_numpy(small_graph.both_directions(small_graph.train))
    assert sorted(map(tuple, epoch.tolist())) == sorted(map(tuple, expected.tolist()))
    assert not torch.equal(order, batches.order(1))
    assert torch.equal(order, batches.order(0))


def test_two_trainings_of_one_run_at_once_are_refused(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run")
    with run.locked(), pytest.raises(UserError, match="another process"):
        train(Run.open(run.path), graph)


def test_deterministic_mode_trains_to_the_same_weights(small_graph_directory: Path, tmp_path: Path) -> None:
    plain, graph = new_run(small_graph_directory, tmp_path / "plain")
    strict, _ = new_run(small_graph_directory, tmp_path / "strict", settings(small_graph_directory, deterministic=True))
    train(plain, graph)
    try:
        train(strict, graph)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(tables(plain)["model/entity"], tables(strict)["model/entity"])


def test_target_weights_follow_the_degree_over_head_and_tail(small_graph: Graph) -> None:
    degrees = [0] * small_graph.num_entities
    for head, _, tail in small_graph.train.tolist():
        degrees[head] += 1
        degrees[tail] += 1
    expected = [0.1 + 0.9 * degree / max(degrees) for degree in degrees]
    assert target_weights(small_graph).tolist() == pytest.approx(expected)


def test_cuda_asked_for_where_there_is_none_is_one_sentence(small_graph_directory: Path, tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, device="cuda"))
    with pytest.raises(UserError, match="no CUDA device"):
        train(run, graph)


def test_curves_are_written_for_tensorboard(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, tensorboard=True))
    train(run, graph)
    assert list((run.path / "tensorboard").glob("events*"))
