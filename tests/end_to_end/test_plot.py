from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bique.config import parse_config
from bique.graph import Graph
from bique.runs import Run
from bique.training import train

Bique = Callable[..., Any]


class Made(NamedTuple):
    graph: Path
    bique: Path
    complex: Path


@pytest.fixture(scope="module")
def made(small_graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run of BiQUE and one of ComplEx, trained and ranked once for all tests here; nobody writes into them."""
    folder = tmp_path_factory.mktemp("plot")
    graph = small_graph.save(folder / "graph")
    for name in ("bique", "complex"):
        training = {"epochs": 3, "device": "cpu", "validate_every": 1}
        config = parse_config(
            {"graph": str(folder / "graph"), "model": {"name": name, "units": 4}, "training": training}
        )
        run = Run.create(config, graph, folder / name)
        train(run, graph)
        run.rank(graph)
    return Made(folder / "graph", folder / "bique", folder / "complex")


BEGIN = {".svg": b"<?xml", ".png": b"\x89PNG", ".gif": b"GIF89a"}
PICTURES = [
    ("curves", 2, ".svg", ()),
    ("angles", 1, ".png", ()),
    ("angles", 1, ".svg", ("--relation", "c parent")),
    ("relations", 2, ".svg", ("--metric", "hits_at_10")),
    ("relations", 1, ".png", ()),
    ("map", 1, ".svg", ("--relation", "c parent")),
    ("motion", 1, ".gif", ("--relation", "c parent")),
]


@pytest.mark.parametrize(("kind", "count", "ending", "options"), PICTURES)
def test_each_kind_is_drawn_and_the_same_twice(
    kind: str,
    count: int,
    ending: str,
    options: tuple[str, ...],
    made: Made,
    bique: Bique,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bique.analysis.plots.maps.STEPS", 2)
    monkeypatch.setattr("bique.analysis.plots.maps.REST", 1)
    files = [tmp_path / f"{name}{ending}" for name in ("one", "two")]
    for file in files:
        done = bique("plot", kind, *(made.bique, made.complex)[:count], "--out", file, *options)
        assert done.code == 0, done.err
        assert f"written: {file}" in done.err.replace("\n", "")
    one, two = (file.read_bytes() for file in files)
    assert one.startswith(BEGIN[ending])
    assert one == two
    assert sorted(tmp_path.iterdir()) == files  # and nothing half-written beside them


def test_curves_hold_every_record_of_every_run(made: Made) -> None:
    from bique.analysis.plots import training_curves

    runs = [Run.open(made.bique), Run.open(made.complex)]
    figure = training_curves(runs)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["bique", "complex"]
    drawn = iter(figure.axes)
    for y in ("loss", "valid_mrr"):
        for x in ("epoch", "seconds"):
            panel = next(drawn)
            for line, run in zip(panel.lines, runs, strict=True):
                assert line.get_xydata().tolist() == [[one[x], one[y]] for one in run.metrics()]
            first, second = panel.lines
            assert first.get_linestyle() != second.get_linestyle()
            assert first.get_marker() != second.get_marker()


def test_bars_are_those_of_the_evaluation(made: Made, bique: Bique, tmp_path: Path) -> None:
    run = Run.open(made.bique)
    by_relation = run.evaluation("test").breakdown(run.graph())["relation"]
    assert bique("plot", "relations", made.bique, "--out", tmp_path / "bars.svg").code == 0
    text = (tmp_path / "bars.svg").read_text(encoding="utf-8")
    for name, metrics in by_relation.items():
        assert f">{name}<" in text
        assert f">{metrics.mrr:.3f}<" in text


def test_a_map_of_another_model_is_drawn_and_a_moved_graph_found(made: Made, bique: Bique, tmp_path: Path) -> None:
    shutil.copytree(made.complex, tmp_path / "run")
    text = (tmp_path / "run" / "config.toml").read_text(encoding="utf-8")
    (tmp_path / "run" / "config.toml").write_text(text.replace(str(made.graph), "/nowhere"), encoding="utf-8")
    words = ("plot", "map", tmp_path / "run", "--relation", "a next", "--out", tmp_path / "map.svg")
    assert "say where with --graph" in bique(*words).err
    assert bique(*words, "--graph", made.graph).code == 0


REFUSED = [
    ("mapp", ("--out", "x.svg"), "did you mean 'map'? choose one of: curves, angles, relations, map, motion"),
    ("map", ("--out", "x.gif", "--relation", "a next"), "x.gif: the ending says the format; choose one of .svg, .png"),
    ("motion", ("--out", "x.svg", "--relation", "a next"), "choose one of .gif"),
    ("curves", ("--out", "x"), "choose one of .svg, .png"),
    ("map", ("--out", "x.svg"), "say which with --relation"),
    ("map", ("--out", "x.svg", "--relation", "a nxt"), "did you mean 'a next'?"),
    ("angles", ("--out", "x.svg", "--relation", "a nxt"), "did you mean 'a next'?"),
    ("curves", ("--out", "x.svg", "--relation", "a next"), "--relation has no effect on curves"),
    ("curves", ("--out", "x.svg", "--graph", "."), "--graph has no effect on curves"),
    ("map", ("--out", "x.svg", "--relation", "a next", "--metric", "mrr"), "leave it out, or draw relations"),
    ("relations", ("--out", "x.svg", "--metric", "mrrr"), "did you mean 'mrr'?"),
    ("relations", ("--out", "x.svg", "--metric", "queries"), "unknown metric 'queries'"),
]


@pytest.mark.parametrize(("kind", "words", "said"), REFUSED)
def test_what_cannot_be_drawn_is_one_sentence_and_no_file(
    kind: str, words: tuple[str, ...], said: str, made: Made, bique: Bique, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    done = bique("plot", kind, made.bique, *words)
    assert done.code == 1
    assert said in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())


def test_runs_that_do_not_fit_are_refused(made: Made, bique: Bique, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "x.svg")
    assert "angles draws one run, and there are 2" in bique("plot", "angles", made.bique, made.complex, *out).err
    assert "a run is given twice" in bique("plot", "curves", made.bique, made.bique, *out).err
    assert "ComplEx" in bique("plot", "angles", made.complex, *out).err
    moving = bique("plot", "motion", made.complex, "--relation", "a next", "--out", tmp_path / "x.gif")
    assert "this run is of ComplEx" in moving.err
    assert bique("plot", "curves", *out).code == 2
    assert bique("plot", "curves", made.bique).code == 2


def test_a_run_that_lacks_what_is_drawn_says_which_command_makes_it(made: Made, bique: Bique, tmp_path: Path) -> None:
    new, out = tmp_path / "new", ("--out", tmp_path / "x.svg")
    Run.create(Run.open(made.bique).config, Graph.open(made.graph), new)
    assert f"bique evaluate {new} --split test" in bique("plot", "relations", new, *out).err.replace("\n", "")
    for words in (("curves", new), ("map", new, "--relation", "a next")):
        assert f"bique resume {new}" in bique("plot", *words, *out).err.replace("\n", "")


def test_an_evaluation_that_was_damaged_is_to_be_made_again(made: Made, bique: Bique, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(made.bique, run)
    for text in ('{"by": {"relation": {"a next": 3}}}', "{}"):
        (run / "evaluations" / "test.json").write_text(text, encoding="utf-8")
        done = bique("plot", "relations", run, "--out", tmp_path / "x.svg")
        assert done.code == 1
        assert f"bique evaluate {run} --split test" in done.err.replace("\n", "")


def test_unlike_protocols_are_not_put_side_by_side(made: Made, bique: Bique, tmp_path: Path) -> None:
    shutil.copytree(made.complex, tmp_path / "other")
    assert bique("evaluate", tmp_path / "other", "--ties", "best").code == 0
    done = bique("plot", "relations", made.bique, tmp_path / "other", "--out", tmp_path / "x.svg")
    assert done.code == 1
    assert "were not measured alike (ties: worst / best)" in " ".join(done.err.split())


@pytest.mark.parametrize("kind", ["curves", "motion"])
def test_without_matplotlib_the_extra_is_named(
    kind: str, made: Made, bique: Bique, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    words = ("--relation", "a next", "--out", tmp_path / "x.gif") if kind == "motion" else ("--out", tmp_path / "x.svg")
    done = bique("plot", kind, made.bique, *words)
    assert done.code == 1
    assert "pip install 'bique[plots]'" in done.err


def test_the_papers_figure_is_drawn_by_reproduce(bique: Bique, tmp_path: Path) -> None:
    assert bique("reproduce", "figure3", "--out", tmp_path / "paths.svg").code == 0
    assert (tmp_path / "paths.svg").read_bytes().startswith(b"<?xml")
    refused = bique("reproduce", "figure3", "--out", tmp_path / "paths.jpg")
    assert refused.code == 1
    assert "choose one of .svg, .png" in refused.err


def test_signs_that_the_font_lacks_are_told_in_one_sentence(made: Made, bique: Bique, tmp_path: Path) -> None:
    shutil.copytree(made.bique, tmp_path / "漢字")
    done = bique("plot", "curves", tmp_path / "漢字", made.complex, "--out", tmp_path / "curves.png")
    assert done.code == 0, done.err
    assert done.err.count("lacks some signs; an .svg shows them") == 1
    assert "UserWarning" not in done.err
    assert "lacks some signs" not in bique("plot", "curves", tmp_path / "漢字", "--out", tmp_path / "curves.svg").err
