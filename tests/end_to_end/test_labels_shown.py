"""Labels as a user meets them: imported, trained with, shown, asked by."""

from __future__ import annotations

import html
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QUICK = ["--set", "training.epochs=2", "--set", "model.units=2", "--set", "training.device=cpu"]
ODD = {
    3: "<script>alert('x')</script>",
    4: '"quoted" \u202eevil',
    5: "x" * 10_000,
    28: "Springfield",
    29: "Springfield",
}
Bique = Callable[..., Any]


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """Labels of entities 00 to 29 of 40, further columns, and one of an entity that is not there."""
    file = tmp_path / "labels.tsv"
    lines = [f"entity {i:02d}\t{ODD.get(i, f'Town {i}')}\tmore\n" for i in range(30)]
    file.write_text("".join([*lines, "entity 99\tNowhere\n"]), encoding="utf-8")
    return file


@pytest.fixture
def labelled(bique: Bique, facts_folder: Path, labels: Path, tmp_path: Path) -> Path:
    """A run whose graph has labels."""
    assert bique("import", facts_folder, tmp_path / "towns", "--labels", labels).code == 0
    done = bique("train", "--graph", tmp_path / "towns", "--run", tmp_path / "run", *QUICK)
    assert done.code == 0, done.err
    return tmp_path / "run"


def test_import_tells_what_the_labels_are_and_info_counts_them(
    bique: Bique, facts_folder: Path, labels: Path, tmp_path: Path
) -> None:
    plain = json.loads(bique("import", facts_folder, tmp_path / "plain", "--json").out)
    done = bique("import", facts_folder, tmp_path / "towns", "--labels", labels)
    assert done.code == 0
    assert "lines whose id the graph does not have: 1" in done.err
    assert "entities without a label: 10 of 40" in done.err
    assert "labels" in done.out
    told = json.loads(bique("info", tmp_path / "towns", "--json").out)
    assert (told["labels"], told["hash"]) == (30, plain["hash"])
    assert json.loads(bique("info", tmp_path / "plain", "--json").out)["labels"] == plain["labels"] == 0


def test_a_bad_label_leaves_no_graph(bique: Bique, facts_folder: Path, labels: Path, tmp_path: Path) -> None:
    labels.write_text("entity 01\tOne\nentity 01\tUn\n")
    done = bique("import", facts_folder, tmp_path / "towns", "--labels", labels)
    assert done.code == 1
    assert "labels.tsv:2: 'entity 01' has another label on line 1; correct" in done.err
    assert not (tmp_path / "towns").exists()
    done = bique("import", facts_folder, tmp_path / "towns", "--labels", labels, "--on-bad", "quarantine", "--json")
    assert json.loads(done.out)["bad"] == 1


def test_answers_show_labels_even_without_the_graph(bique: Bique, labelled: Path, tmp_path: Path) -> None:
    ask = ("predict", labelled, "--head", "Town 8", "--relation", "c parent", "--top", 40)
    shown = bique(*ask)
    assert shown.code == 0, shown.err
    assert "Town 8 (entity 08)  —c parent→  ?" in shown.out
    assert "Town 9 (entity 09)" in shown.out
    assert "\u202e" not in shown.out
    shutil.rmtree(tmp_path / "towns")
    told = json.loads(bique(*ask, "--json").out)
    assert told["question"] == "Town 8  —c parent→  ?"
    assert told["given"]["head"] == {"name": "entity 08", "label": "Town 8"}
    found = {one["name"]: one["label"] for one in told["answers"]}
    assert found == {f"entity {i:02d}": ODD.get(i, f"Town {i}") if i < 30 else None for i in range(40)}


def test_relations_take_and_show_labels(bique: Bique, labelled: Path) -> None:
    shown = bique("relations", labelled, "--head", "Town 8", "--tail", ODD[3])
    assert shown.code == 0, shown.err
    assert f"Town 8 (entity 08) —?→ {ODD[3]} (entity 03)" in " ".join(shown.out.split())


def test_misspelt_and_ambiguous_labels_are_told(bique: Bique, labelled: Path) -> None:
    done = bique("predict", labelled, "--head", "Towm 8", "--relation", "c parent")
    assert done.code == 1
    assert "no entity is called 'Towm 8'; the nearest are: Town 8 (entity 08)" in done.err
    done = bique("relations", labelled, "--head", "Springfield", "--tail", "Town 8")
    assert done.code == 1
    assert "2 entities have the label 'Springfield': entity 28, entity 29; give the id of one" in done.err


def test_a_file_of_questions_may_ask_by_label(bique: Bique, labelled: Path, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("Town 8\tc parent\t?\n")
    done = bique("predict", labelled, "--queries", tmp_path / "q.tsv", "--out", tmp_path / "a.tsv", "--top", 40)
    assert done.code == 0, done.err
    rows = [line.split("\t") for line in (tmp_path / "a.tsv").read_text("utf-8").splitlines()]
    assert (rows[0][0], rows[0][4], rows[0][8]) == ("head", "answer", "label")
    assert {row[4]: row[8] for row in rows[1:]}["entity 04"] == ODD[4]


def test_the_report_shows_labels_with_the_id_small_beside_them(bique: Bique, labelled: Path, tmp_path: Path) -> None:
    assert bique("report", labelled, "--out", tmp_path / "report.html").code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    small = '<bdi class="name">{}</bdi> <small>(<bdi class="name">{}</bdi>)</small>'
    for section in ("For example", "Answered best", "Answered worst"):
        assert small.split("{}")[1] in page[page.index(section) :][:5000]
    assert small.format("Town 8", "entity 08") in page
    assert ODD[3] not in page
    assert small.format(html.escape(ODD[3]), "entity 03") in page
    assert "\u202e" not in page
    assert "x" * 300 not in page
    # one without a label is shown by its name, once
    assert '<bdi class="name">entity 35</bdi>' in page
    assert '<small>(<bdi class="name">entity 35' not in page
