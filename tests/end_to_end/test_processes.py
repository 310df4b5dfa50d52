"""What only a real process can show: signals, kill -9, a full or closed disk, what is imported."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from bique.runs import read_checkpoint

KILLS = int(os.environ.get("BIQUE_KILLS", "4"))
SETTINGS = {
    "model.units": 4,
    "training.epochs": 30 + 20 * KILLS,  # long enough to be killed so often
    "training.batch_size": 16,
    "training.validate_every": 3,
    "training.checkpoint_seconds": 0,
    "training.device": "cpu",
}
QUICK = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]


def start(*words: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bique", *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **options
    )  # type: ignore[call-overload]


def finish(*words: object, **options: object) -> tuple[int, str, str]:
    process = start(*words, **options)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def weights(run: Path) -> dict[str, torch.Tensor]:
    return {name: read_checkpoint(run / "checkpoints" / f"{name}.safetensors").tensors for name in ("last", "best")}  # type: ignore[misc]


def assert_same_weights(one: Path, other: Path) -> None:
    mine, theirs = weights(one), weights(other)
    for which in mine:
        assert mine[which].keys() == theirs[which].keys()
        assert all(torch.equal(mine[which][name], theirs[which][name]) for name in mine[which])


@pytest.fixture
def whole(small_graph_directory: Path, tmp_path: Path) -> Path:
    code, _, err = finish("train", "--graph", small_graph_directory, "--run", tmp_path / "whole", *QUICK)
    assert code == 0, err
    return tmp_path / "whole"


@pytest.mark.slow
def test_killed_at_random_moments_every_resume_ends_with_the_same_weights(
    whole: Path, small_graph_directory: Path, tmp_path: Path
) -> None:
    """A few here; the log tells of fifty (BIQUE_KILLS=50)."""
    run, dice = tmp_path / "killed", random.Random(0)
    process = start("train", "--graph", small_graph_directory, "--run", run, *QUICK)
    # not before the run exists: until then there is nothing to resume
    while not (run / "config.toml").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    killed = 0
    while killed < KILLS:
        deadline = time.monotonic() + dice.uniform(0, 1.2 if killed else 0.5)
        began_at = _state(run)
        while time.monotonic() < deadline or (killed and _state(run) == began_at and process.poll() is None):
            time.sleep(0.002)
        if process.poll() is not None:
            break
        process.kill()
        process.communicate()
        killed += 1
        process = start("resume", run)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert killed == KILLS
    assert_same_weights(whole, run)


def _state(run: Path) -> float:
    last = run / "checkpoints" / "last.safetensors"
    return last.stat().st_mtime if last.exists() else 0.0


@pytest.mark.slow
def test_the_bundled_graph_and_a_seed_give_the_same_digits_twice_on_two_threads(tmp_path: Path) -> None:
    runs = [tmp_path / "one", tmp_path / "two"]
    for run in runs:
        words = [
            "train",
            "--dataset",
            "wordnet",
            "--run",
            str(run),
            "--set",
            "training.epochs=1",
            "--set",
            "model.units=8",
        ]
        command = [sys.executable, "-m", "bique", *words, "--set", "training.device=cpu"]
        done = subprocess.run(
            command, env={**os.environ, "OMP_NUM_THREADS": "2"}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert_same_weights(*runs)
    one, two = ((run / "evaluations" / "test.json").read_text() for run in runs)
    assert one == two


def stop_once_begun(process: subprocess.Popen[str], run: Path, number: signal.Signals = signal.SIGINT) -> str:
    """What it says when a signal stops it after its first checkpoint."""
    while not (run / "checkpoints" / "last.safetensors").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    return err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_says_how_to_go_on_and_loses_nothing(
    number: signal.Signals, whole: Path, small_graph_directory: Path, tmp_path: Path
) -> None:
    run = tmp_path / "stopped"
    process = start("train", "--graph", small_graph_directory, "--run", run, *QUICK)
    err = stop_once_begun(process, run, number)
    assert f"bique resume {run}" in err
    code, _, err = finish("resume", run)
    assert code == 0, err
    assert_same_weights(whole, run)


def test_training_and_evaluating_a_prepared_graph_never_imports_polars(
    small_graph_directory: Path, tmp_path: Path
) -> None:
    (tmp_path / "polars.py").write_text("raise ImportError('polars is not here')")
    run = tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    for words in (
        (
            "train",
            "--graph",
            small_graph_directory,
            "--run",
            run,
            "--set",
            "training.epochs=1",
            "--set",
            "model.units=2",
        ),
        ("evaluate", run, "--by", "relation"),
        ("predict", run, "--head", "entity 04", "--relation", "c parent"),
    ):
        command = [sys.executable, "-m", "bique", *map(str, words)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_shape_checker_is_not_needed_to_run(tmp_path: Path) -> None:
    (tmp_path / "jaxtyping.py").write_text("raise ImportError('jaxtyping is not here')")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", "import bique.serving, bique.training, bique.cli, bique.graph.checkup"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def small_files_only() -> None:
    """A limit on the size of files stands in for a full disk: writing past it fails in the same place."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))


def test_a_disk_that_is_full_from_the_start_is_one_sentence_and_the_same_command_works_later(
    whole: Path, small_graph_directory: Path, tmp_path: Path
) -> None:
    run = tmp_path / "full"
    words = ("train", "--graph", small_graph_directory, "--run", run, *QUICK)
    code, _, err = finish(*words, preexec_fn=small_files_only)
    assert code == 1, err
    assert "error: " in err
    assert "Traceback" not in err
    assert not run.exists()
    code, _, err = finish(*words)
    assert code == 0, err
    assert_same_weights(whole, run)


def test_a_disk_that_fills_up_is_one_sentence_and_keeps_what_was_there(
    whole: Path, small_graph_directory: Path, tmp_path: Path
) -> None:
    run = tmp_path / "full"
    last = run / "checkpoints" / "last.safetensors"
    process = start("train", "--graph", small_graph_directory, "--run", run, *QUICK)
    stop_once_begun(process, run)
    kept = last.read_bytes()
    code, _, err = finish("resume", run, preexec_fn=small_files_only)
    assert code == 1, err
    assert "error: " in err
    assert "Traceback" not in err
    assert last.read_bytes() == kept
    code, _, err = finish("resume", run)
    assert code == 0, err
    assert_same_weights(whole, run)


def test_a_folder_that_cannot_be_written_is_one_sentence(small_graph_directory: Path) -> None:
    code, _, err = finish("train", "--graph", small_graph_directory, "--run", "/proc/run", *QUICK)
    assert code == 1
    assert "Traceback" not in err
    assert "/proc" in err


def test_training_goes_on_when_nobody_reads_its_progress(small_graph_directory: Path, tmp_path: Path) -> None:
    process = start("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *QUICK)
    assert process.stderr is not None
    process.stderr.readline()
    process.stderr.close()
    assert process.wait(timeout=300) == 0
    assert (tmp_path / "run" / "evaluations" / "test.json").exists()


def test_a_reader_that_has_seen_enough_gets_no_traceback() -> None:
    process = start("datasets", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.wait(timeout=60)
    assert "Traceback" not in err
