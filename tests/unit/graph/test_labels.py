"""Labels come back exactly, are found exactly, and leave the graph's identity alone."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bique.errors import UserError
from bique.graph import Graph, Labels
from bique.graph.ingest import ReadOptions, import_graph
from bique.graph.labels import OFFSETS, RECORD, TEXT, with_label

FACTS = "Q1\tr\tQ2\nQ2\tr\tQ3\nQ3\tr\tQ1\n"
QUARANTINE = ReadOptions(on_bad="quarantine")
HOSTILE = [
    "\u202eevil\u202c",
    "<script>alert(1)</script>",
    "a\tb\r\nc",
    "\"'\\",
    "x" * 10_000,
    "\0\x1b[2J",
    "🦊 日本",
    " ",
]

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
labels = st.dictionaries(st.integers(0, 19), texts | st.sampled_from(HOSTILE), max_size=20)


@given(labels)
@example({})
@example(dict(enumerate(HOSTILE)))
def test_labels_come_back_exactly_from_the_disk(tmp_path_factory: pytest.TempPathFactory, by_place: dict[int, str]):
    folder = tmp_path_factory.mktemp("labels")
    written = Labels.from_places(20, by_place)
    written.save(folder)
    opened = Labels.open(folder, 20)
    assert opened is not None
    for found in (written, opened):
        assert [found.of(place) for place in range(20)] == [by_place.get(place) for place in range(20)]
        assert (len(found), found.count) == (20, len(by_place))
    assert opened == written


@given(labels, texts)
@example({0: "aé", 1: "aé", 2: "éa", 3: "a"}, "aé")
def test_every_entity_with_a_label_is_found_and_no_other(by_place: dict[int, str], wanted: str):
    found = Labels.from_places(20, by_place)
    for label in [wanted, "", "\ud800", *by_place.values(), *(label[:-1] for label in by_place.values())]:
        assert found.find(label) == sorted(place for place, other in by_place.items() if other == label)


# names and labels as lines of a file can hold them
fields = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=8)


@given(st.dictionaries(fields, fields, min_size=1, max_size=12), st.booleans())
@example({"\ufeffa": "\u202eb", "b\0": '"c"'}, True)
def test_ids_and_labels_of_files_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, named: dict[str, str], more: bool
):
    folder = tmp_path_factory.mktemp("import")
    facts = "".join(f"{name}\tr\t{name}\n" for name in ["first", *named])
    (folder / "f.tsv").write_text(facts, encoding="utf-8", newline="")
    behind = "\tignored\tcolumns" if more else ""
    lines = "".join(f"{name}\t{label}{behind}\r\n" for name, label in {"first": "1st", **named}.items())
    (folder / "l.txt").write_text(lines, encoding="utf-8", newline="")
    graph, report = import_graph(folder / "f.tsv", folder / "g", split=(1.0, 0.0, 0.0), labels=folder / "l.txt")
    expected = {"first": "1st"} | named
    assert {graph.entities[i]: graph.label(i) for i in range(graph.num_entities)} == expected
    assert report.labels == len(expected)


def test_labels_do_not_change_the_hash_of_a_graph(small_graph: Graph, tmp_path: Path):
    plain = small_graph.save(tmp_path / "plain")
    labelled = replace(small_graph, labels=Labels.from_places(40, {3: "three"})).save(tmp_path / "labelled")
    assert labelled.hash == labelled.content_hash() == plain.hash
    assert (plain.labels, plain.label(3)) == (None, None)
    assert (labelled.label(3), labelled.label(4)) == ("three", None)
    files = {file.name for file in (tmp_path / "labelled").iterdir()} - {f.name for f in (tmp_path / "plain").iterdir()}
    assert files == {TEXT, OFFSETS, RECORD}


DAMAGE = {
    "cut": lambda folder: (folder / TEXT).write_bytes((folder / TEXT).read_bytes()[:-1]),
    "other bytes": lambda folder: (folder / TEXT).write_bytes((folder / TEXT).read_bytes().swapcase()),
    "empty": lambda folder: (folder / TEXT).write_bytes(b""),
    "no text": lambda folder: (folder / TEXT).unlink(),
    "no offsets": lambda folder: (folder / OFFSETS).unlink(),
    "no record": lambda folder: (folder / RECORD).unlink(),
    "shifted": lambda folder: np.save(folder / OFFSETS, np.minimum(np.load(folder / OFFSETS) + 1, 5)),
    "too few": lambda folder: np.save(folder / OFFSETS, np.load(folder / OFFSETS)[1:]),
    "floats": lambda folder: np.save(folder / OFFSETS, np.load(folder / OFFSETS).astype(float)),
    "not npy": lambda folder: (folder / OFFSETS).write_bytes(b"x"),
    "not json": lambda folder: (folder / RECORD).write_text("{"),
    "a list": lambda folder: (folder / RECORD).write_text("[]"),
    "of others": lambda folder: Labels.from_places(7, {0: "x"}).save(folder),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_told_with_a_remedy_that_works(damage: str, small_graph: Graph, tmp_path: Path):
    place = tmp_path / "graph"
    replace(small_graph, labels=Labels.from_places(40, {3: "three"})).save(place)
    DAMAGE[damage](place)
    with pytest.raises(UserError, match=r"its labels .*remove labels\.utf8"):
        Graph.open(place)
    for name in (TEXT, OFFSETS, RECORD):
        (place / name).unlink(missing_ok=True)
    assert Graph.open(place).labels is None


def _import(folder: Path, lines: bytes | str, options: ReadOptions = ReadOptions(), name: str = "l.tsv"):
    folder.mkdir(exist_ok=True)
    (folder / "f.tsv").write_text(FACTS)
    (folder / name).write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    return import_graph(folder / "f.tsv", folder / "g", options, split=(1.0, 0.0, 0.0), labels=folder / name)


BAD = {
    "Q2": "expected id and label, tab-separated, found no tab",
    "": "expected id and label, tab-separated, found an empty line",
    "Q2\t": "the label is empty",
    "\tBo": "the id is empty",
    "Q1\tAmy": "'Q1' has another label on line 1",
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_stops_the_import_with_its_place(line: str, tmp_path: Path):
    lines = f"Q1\tAnn\nQ1\tAnn\textra\n{line}\nQ3\tCy\n"
    with pytest.raises(UserError, match=r"l\.tsv:3: .*; correct the line .*--on-bad quarantine") as error:
        _import(tmp_path, lines)
    assert BAD[line] in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.tsv", "l.tsv"]


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_set_aside_and_counted_where_that_was_asked_for(line: str, tmp_path: Path):
    graph, report = _import(tmp_path, f"Q1\tAnn\n\n{line}\nQ3\tCy\n", QUARANTINE)
    assert [graph.label(i) for i in range(3)] == ["Ann", None, "Cy"]
    assert (report.bad, report.labels, graph.origin["bad_lines"]) == (2, 2, 2)
    told = [json.loads(one) for one in (tmp_path / "g" / "quarantine.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"], one["raw"]) for one in told] == [("l.tsv", 2, ""), ("l.tsv", 3, line)]
    assert told[1]["reason"] == BAD[line]
    assert "l.tsv: bad lines set aside: 2" in report.notes


def test_bad_facts_and_bad_labels_lie_in_one_quarantine(tmp_path: Path):
    (tmp_path / "f.tsv").write_text(FACTS + "Q9\tr\n")
    (tmp_path / "l.tsv").write_text("Q1\tAnn\nQ2\n")
    _, report = import_graph(
        tmp_path / "f.tsv", tmp_path / "g", QUARANTINE, split=(1.0, 0.0, 0.0), labels=tmp_path / "l.tsv"
    )
    told = [json.loads(one)["file"] for one in (tmp_path / "g" / "quarantine.jsonl").read_text().splitlines()]
    assert (told, report.bad) == (["f.tsv", "l.tsv"], 2)


def test_labels_that_are_not_utf8_are_told(tmp_path: Path):
    with pytest.raises(UserError, match=r"l\.tsv:2: not valid UTF-8 \(byte 0xff at place 4"):
        _import(tmp_path, b"Q1\tAnn\nQ2\t\xff\n")
    with pytest.raises(UserError, match="UTF-16"):
        _import(tmp_path, "Q1\tAnn\n".encode("utf-16"))
    assert not (tmp_path / "g").exists()


def test_what_is_missing_and_what_is_too_much_is_noted(tmp_path: Path):
    graph, report = _import(tmp_path, "\ufeffid\tlabel\nQ9\tNobody\nQ1\tAnn\nQ2\tAnn")
    assert [graph.label(i) for i in range(3)] == ["Ann", "Ann", None]
    assert [note for note in report.notes if note.startswith("l.tsv")] == [
        "l.tsv: a UTF-8 byte order mark at its start was left out",
        "l.tsv: lines whose id the graph does not have: 2",
        "l.tsv: entities without a label: 1 of 3; they are shown by their id",
        "l.tsv: entities that share their label with another: 2; the id tells them apart",
    ]
    assert graph.origin["labels"] == "l.tsv"


@pytest.mark.parametrize(("lines", "why"), [("", "it is empty"), ("Q8\tx\nQ9\ty\n", "2 ids that the graph")])
def test_a_file_without_any_label_of_the_graph_is_the_wrong_file(lines: str, why: str, tmp_path: Path):
    with pytest.raises(UserError, match=rf"holds no label of this graph \({why}.*right file"):
        _import(tmp_path, lines)
    assert not (tmp_path / "g").exists()


def test_a_file_that_cannot_hold_labels_is_refused_before_the_facts_are_read(tmp_path: Path):
    with pytest.raises(UserError, match=r"tab-separated lines.*name the file \.tsv"):
        _import(tmp_path, "Q1,Ann\n", name="l.csv")
    with pytest.raises(UserError, match="no such file"):
        import_graph(tmp_path / "f.tsv", tmp_path / "g", split=(1.0, 0.0, 0.0), labels=tmp_path / "lost.tsv")


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_labels_are_read(ending: str, compress, tmp_path: Path):
    graph, _ = _import(tmp_path, compress(b"Q2\tBo\n"), name=f"l.tsv{ending}")
    assert graph.label(1) == "Bo"


def test_blanks_are_taken_off_where_that_was_asked_for(tmp_path: Path):
    graph, report = _import(tmp_path / "kept", "Q1\t Ann \nQ1\t Ann \nQ2\tBo\n")
    assert graph.label(0) == " Ann "
    assert any("labels that begin or end with blanks: 1, such as ' Ann '" in note for note in report.notes)
    graph, _ = _import(tmp_path / "off", " Q1 \t Ann \nQ2\tBo\n", ReadOptions(strip=True))
    assert (graph.label(0), graph.label(1)) == ("Ann", "Bo")
    with pytest.raises(UserError, match=r"l\.tsv:1: the label is empty"):
        _import(tmp_path / "nothing", "Q1\t \n", ReadOptions(strip=True))


def test_labels_inside_the_folder_of_facts_are_not_called_unread(tmp_path: Path):
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "train.tsv").write_text(FACTS)
    (tmp_path / "facts" / "labels.tsv").write_text("Q1\tAnn\n")
    (tmp_path / "facts" / "gone.tsv").symlink_to(tmp_path / "nowhere")
    _, report = import_graph(tmp_path / "facts", tmp_path / "g", labels=tmp_path / "facts" / "labels.tsv")
    unread = [note for note in report.notes if "not read" in note]
    assert unread == ["not read, because they are not named like a split: gone.tsv"]


def test_a_directory_made_before_there_were_labels_opens_as_before(small_graph_directory: Path, tmp_path: Path):
    shutil.copytree(small_graph_directory, tmp_path / "copy")
    assert not (tmp_path / "copy" / RECORD).exists()
    assert Graph.open(tmp_path / "copy").labels is None


def test_the_nearest_labels_are_the_misspelt_ones():
    cities = ["Berlin", "Bern", "", "Paris", "Bergen"]
    found = Labels.from_places(5, {place: city for place, city in enumerate(cities) if city})
    assert found.nearest("berlinn")[0][1] == 0
    assert found.nearest("") == []


def test_a_label_is_shown_with_its_id_and_never_drives_the_screen():
    assert with_label("Q64", "Berlin") == "Berlin (Q64)"
    assert with_label("Q64", None) == with_label("Q64", "Q64") == "Q64"
    assert with_label("\x1b", "\u202eevil") == "\\u202eevil (\\x1b)"
    assert len(with_label("Q64", "x" * 10_000)) < 300
