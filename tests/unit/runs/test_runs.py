from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bique.atomic import atomic_directory, atomic_path, write_text
from bique.config import EvaluationConfig, parse_config
from bique.errors import UserError
from bique.evaluation import FrequencyBaseline, evaluate
from bique.graph import Graph, Labels
from bique.models import build_model
from bique.runs import Checkpoint, Run, compare, read_checkpoint, write_checkpoint


def new_run(directory: Path, path: Path) -> tuple[Run, Graph]:
    graph = Graph.open(directory)
    return Run.create(parse_config({"graph": str(directory), "model": {"units": 2}}), graph, path), graph


def trained(directory: Path, path: Path) -> tuple[Run, Graph]:
    run, graph = new_run(directory, path)
    model = build_model(run.config.model, graph, seed=0)
    write_checkpoint(run.best, Checkpoint({f"model/{k}": v for k, v in model.tables().items()}, {"epoch": 1}))
    return run, graph


def test_a_checkpoint_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    tensors = {"a/b": torch.randn(3, 4), "a/c": torch.tensor(2.5, dtype=torch.float64), "n": torch.arange(5)}
    write_checkpoint(tmp_path / "x.safetensors", Checkpoint(tensors, {"place": {"loss": 0.1 + 0.2}}))
    found = read_checkpoint(tmp_path / "x.safetensors")
    assert all(torch.equal(found.tensors[name], tensors[name]) for name in tensors)
    assert found.record["place"]["loss"] == 0.1 + 0.2
    assert set(found.group("a")) == {"b", "c"}


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x00" * 100, b"\xff\xff\xff\xff\xff\xff\xff\x7f{}"])
def test_a_damaged_checkpoint_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        read_checkpoint(tmp_path / "x.safetensors")


def test_a_truncated_checkpoint_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    write_checkpoint(file, Checkpoint({"a": torch.randn(100)}, {}))
    file.write_bytes(file.read_bytes()[:-7])
    with pytest.raises(UserError, match="damaged"):
        read_checkpoint(file)


def test_a_file_may_be_read_by_whom_the_umask_says(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    former = os.umask(0o027)
    try:
        write_checkpoint(file, Checkpoint({"a": torch.ones(1)}, {}))
        assert file.stat().st_mode & 0o777 == 0o640
        file.chmod(0o600)  # a choice of the user's, which the next checkpoint keeps
        write_checkpoint(file, Checkpoint({"a": torch.ones(1)}, {}))
        assert file.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(former)


def test_a_run_opens_with_the_names_and_settings_it_was_made_with(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run")
    again = Run.open(run.path)
    assert again.config == run.config
    assert list(again.names.entities) == list(graph.entities)
    assert again.graph().hash == graph.hash
    assert json.loads((run.path / "environment.json").read_text())["torch"] == torch.__version__


def test_a_run_keeps_the_labels_of_its_graph(small_graph: Graph, tmp_path: Path) -> None:
    replace(small_graph, labels=Labels.from_places(40, {3: "<b>three</b>"})).save(tmp_path / "graph")
    run, graph = new_run(tmp_path / "graph", tmp_path / "run")
    assert run.names.labels == graph.labels
    assert run.names.label(3) == "<b>three</b>"
    (run.path / "vocabulary" / "labels.utf8").write_bytes(b"")
    with pytest.raises(UserError, match=r"vocabulary: its labels are not those that were written"):
        _ = Run.open(run.path).names


def test_a_run_that_was_made_without_labels_opens_without(small_graph_directory: Path, tmp_path: Path) -> None:
    run, _ = new_run(small_graph_directory, tmp_path / "run")
    assert not list((run.path / "vocabulary").glob("labels*"))
    assert (run.names.labels, run.graph().labels) == (None, None)


def test_another_graph_at_the_same_place_is_refused(small_graph: Graph, tmp_path: Path) -> None:
    small_graph.save(tmp_path / "graph")
    run, _ = new_run(tmp_path / "graph", tmp_path / "run")
    (tmp_path / "graph").rename(tmp_path / "old")
    replace(small_graph, train=small_graph.train[1:]).save(tmp_path / "graph")
    with pytest.raises(UserError, match="holds another graph"):
        run.graph()
    assert run.graph(tmp_path / "old").hash == small_graph.hash


def test_runs_without_a_given_place_get_the_first_free_number(
    small_graph_directory: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    graph = Graph.open(small_graph_directory)
    config = parse_config({"graph": str(small_graph_directory)})
    assert [str(Run.create(config, graph).path) for _ in range(2)] == ["runs/small-bique-1", "runs/small-bique-2"]


def evaluated(path: Path, directory: Path, scorer_seed: int | None, ties: str = "worst", split: str = "test") -> Run:
    run, graph = new_run(directory, path)
    scorer = FrequencyBaseline(graph) if scorer_seed is None else build_model(run.config.model, graph, scorer_seed)
    evaluation = evaluate(scorer, graph, split, EvaluationConfig(ties=ties))
    run.save_evaluation(evaluation, evaluation.as_dict(graph, 100))
    return run


def test_saved_ranks_come_back_and_are_compared_in_pairs(small_graph_directory: Path, tmp_path: Path) -> None:
    one = evaluated(tmp_path / "one", small_graph_directory, 1)
    two = evaluated(tmp_path / "two", small_graph_directory, None)
    found = compare([one, two], "test", 500)
    difference = found.differences[0]["mrr"].difference
    assert difference == pytest.approx(found.evaluations[1].metrics.mrr - found.evaluations[0].metrics.mrr)
    summary = json.loads((two.path / "evaluations" / "test.json").read_text())
    assert summary["metrics"]["mrr"] == found.evaluations[1].metrics.mrr


def test_ranks_of_a_model_that_is_no_longer_the_best_are_refused(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run")
    model = build_model(run.config.model, graph, 1)
    tensors = {f"model/{name}": table for name, table in model.tables().items()}
    write_checkpoint(run.best, Checkpoint(tensors, {"epoch": 5}))
    ranked = run.rank(graph)
    assert run.evaluation("test").metrics == ranked.metrics == evaluate(model, graph, "test").metrics
    write_checkpoint(run.best, Checkpoint(tensors, {"epoch": 10}))
    with pytest.raises(UserError, match="the ranks are of epoch 5, the best is now 10; bique evaluate"):
        run.evaluation("test")
    write_checkpoint(run.path / "evaluations" / "test.safetensors", Checkpoint(tensors, {}))
    with pytest.raises(UserError, match="does not hold ranks"):
        run.evaluation("test")


def test_a_comparison_is_of_the_split_and_resamples_asked_for(small_graph_directory: Path, tmp_path: Path) -> None:
    runs = [evaluated(tmp_path / str(seed), small_graph_directory, seed, split="valid") for seed in (1, 2)]
    found = compare(runs, "valid", 300)
    assert {evaluation.protocol.split for evaluation in found.evaluations} == {"valid"}
    assert found.differences[0]["mrr"].p_value >= 2 / 301
    assert found.differences[0] != compare(runs, "valid", 400).differences[0]


def test_unlike_protocols_are_not_put_side_by_side(small_graph_directory: Path, tmp_path: Path) -> None:
    one = evaluated(tmp_path / "one", small_graph_directory, 1)
    other = evaluated(tmp_path / "other", small_graph_directory, 1, ties="mean")
    with pytest.raises(UserError, match="not measured alike \\(ties: worst / mean\\)"):
        compare([one, other])


def test_a_run_that_was_not_ranked_says_how_to_rank_it(small_graph_directory: Path, tmp_path: Path) -> None:
    run, _ = new_run(small_graph_directory, tmp_path / "run")
    with pytest.raises(UserError, match="bique evaluate"):
        compare([run, run])


@pytest.mark.parametrize("content", ['{"metrics": ', "[]", ""])
def test_damaged_figures_say_how_to_make_them_again(content: str, small_graph_directory: Path, tmp_path: Path) -> None:
    run = evaluated(tmp_path / "a run", small_graph_directory, 1, split="valid")
    (run.path / "evaluations" / "valid.json").write_text(content)
    with pytest.raises(UserError, match=r"valid\.json.*rank again with: bique evaluate '.*a run' --split valid"):
        run.summary()


def test_a_failed_write_leaves_the_former_file_and_no_litter(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")

    def fill_the_disk() -> None:
        with atomic_path(tmp_path / "file") as temporary:
            temporary.write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UserError, match="no space left"):
        fill_the_disk()
    assert (tmp_path / "file").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(sys.platform != "linux", reason="/sys is a folder in which nobody may make a file")
def test_a_checkpoint_that_may_not_be_written_is_no_full_disk() -> None:
    with pytest.raises(UserError, match=r"cannot be written \(.*; choose another folder or change its rights"):
        write_checkpoint(Path("/sys/last.safetensors"), Checkpoint({"a": torch.zeros(1)}, {}))


def test_a_failed_directory_never_appears(tmp_path: Path) -> None:
    def fail_half_way() -> None:
        with atomic_directory(tmp_path / "new") as temporary:
            (temporary / "file").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_an_existing_directory_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("kept")
    with pytest.raises(UserError, match="exists already"), atomic_directory(tmp_path / "there"):
        pass
    assert (tmp_path / "there" / "file").read_text() == "kept"


@pytest.mark.parametrize(
    "line",
    [
        '{"epoch": 2, "loss": "abc", "seconds": 1.0}',
        '{"epoch": 2, "loss": NaN, "seconds": 1.0}',
        '{"epoch": 2, "loss": [1], "seconds": 1.0}',
        '{"epoch": 1e999, "loss": 1.0}',
        "[" * 100_000,
    ],
)
def test_a_record_that_is_not_all_numbers_is_none(line: str, small_graph_directory: Path, tmp_path: Path) -> None:
    run, _ = new_run(small_graph_directory, tmp_path / "run")
    run.append_metrics({"epoch": 1, "loss": 2.0, "seconds": 0.5})
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write(line + "\n")
    assert [one["epoch"] for one in run.metrics()] == [1]
    assert run.summary()["seconds"] == 0.5


def test_the_best_validation_is_that_of_the_model_that_is_kept(small_graph_directory: Path, tmp_path: Path) -> None:
    """A killed process may have recorded a better one that it had not written yet."""
    run, _ = new_run(small_graph_directory, tmp_path / "run")
    run.append_metrics({"epoch": 1, "loss": 2.0, "seconds": 0.5, "valid_mrr": 0.25})
    assert run.summary()["best_validation"] is None
    trained_once, _ = trained(small_graph_directory, tmp_path / "other")
    run.best.parent.mkdir(exist_ok=True)
    run.best.write_bytes(trained_once.best.read_bytes())
    run.append_metrics({"epoch": 2, "loss": 1.0, "seconds": 1.0, "valid_mrr": 0.5})
    assert run.summary()["best_validation"]["valid_mrr"] == 0.25


def test_ranks_that_do_not_fit_the_run_are_refused(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = trained(small_graph_directory, tmp_path / "run")
    run.rank(graph, "test")
    file = run.path / "evaluations" / "test.safetensors"
    good = read_checkpoint(file)
    protocol = json.loads(good.record["protocol"])
    broken = {
        "short": (lambda part: part[1:], {}),
        "negative": (lambda part: -part - 1, {}),
        "not whole": (lambda part: part.float(), {}),
        "of another graph": (lambda part: part, {"graph_hash": "f" * 64}),
        "of another split": (lambda part: part, {"split": "valid"}),
        "ties": (lambda part: part, {"ties": "xx"}),
    }
    for change, told in broken.values():
        tensors = {key: change(part).contiguous() for key, part in good.tensors.items()}
        write_checkpoint(file, Checkpoint(tensors, good.record | {"protocol": json.dumps(protocol | told)}))
        with pytest.raises(UserError, match=r"rank again with|evaluate again"):
            run.evaluation("test")


def test_an_empty_split_is_not_said_to_be_unranked(small_graph: Graph, tmp_path: Path) -> None:
    """The remedy, to rank it, would be refused."""
    without = replace(small_graph, test=small_graph.test[:0])
    run = Run.create(parse_config({"dataset": "small"}), without, tmp_path / "run")
    with pytest.raises(UserError, match="the test split of its graph is empty"):
        run.evaluation("test")


def test_a_model_that_is_not_finite_is_not_loaded(small_graph_directory: Path, tmp_path: Path) -> None:
    run, _ = trained(small_graph_directory, tmp_path / "run")
    kept = read_checkpoint(run.best)
    kept.tensors["model/relation"][0, 0] = float("nan")
    write_checkpoint(run.best, kept)
    with pytest.raises(UserError, match="not finite"):
        run.model()


def test_a_link_stays_a_link_and_a_folder_is_no_file(tmp_path: Path) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target.name)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    for folder in (tmp_path, Path(), Path("/")):
        with pytest.raises(UserError, match="not an ordinary file"):
            write_text(folder, "new")
