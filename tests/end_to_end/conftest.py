"""The command line as a user meets it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bique.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def bique(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `bique …` in this process: exit code, standard output, standard error."""

    def run(*words: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["bique", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def run(bique: Command, small_graph_directory: Path, tmp_path: Path) -> Path:
    """A tiny trained run."""
    quick = ["--set", "training.epochs=2", "--set", "model.units=2", "--set", "training.device=cpu"]
    done = bique("train", "--graph", small_graph_directory, "--run", tmp_path / "run", *quick)
    assert done.code == 0, done.err
    return tmp_path / "run"
