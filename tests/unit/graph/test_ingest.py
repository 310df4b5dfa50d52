"""Import: a graph directory appears complete or not at all, and nothing is dropped silently."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from bique.errors import UserError
from bique.graph import Graph
from bique.graph.ingest import ReadOptions, import_graph
from bique.graph.readers import streams

QUARANTINE = ReadOptions(on_bad="quarantine")


def _folder(path, **files):
    """`train="a r b"` becomes train.tsv: facts are separated by commas, names by blanks."""
    path.mkdir(exist_ok=True)
    for split, facts in files.items():
        (path / f"{split}.tsv").write_text("".join(fact.replace(" ", "\t") + "\n" for fact in facts.split(",") if fact))
    return path


def _names(graph, split="train"):
    triples = graph.split(split).tolist()
    return [(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in triples]


def _nothing_but(path, *names):
    return {entry.name for entry in path.iterdir()} == set(names)


def test_a_folder_becomes_a_graph(tmp_path):
    source = _folder(tmp_path / "source", train="b r a,b r a,a s c", valid="a r b", test="c s a")
    graph, report = import_graph(source, tmp_path / "graph")
    assert _names(graph) == [("b", "r", "a"), ("b", "r", "a"), ("a", "s", "c")]
    assert _names(graph, "valid") == [("a", "r", "b")]
    assert _names(graph, "test") == [("c", "s", "a")]
    assert report.counts == graph.counts() == {"entities": 3, "relations": 2, "train": 3, "valid": 1, "test": 1}
    assert (report.bad, report.quarantine, report.notes) == (0, None, [])
    assert Graph.open(tmp_path / "graph").content_hash() == graph.hash
    assert graph.origin["files"] == {"train": "train.tsv", "valid": "valid.tsv", "test": "test.tsv"}


def test_given_files_are_read_whatever_they_are_called(tmp_path):
    (tmp_path / "wn_1.txt").write_text("a\tr\tb\n")
    (tmp_path / "wn_2.csv").write_text("b,r,a\n")
    files = {"train": tmp_path / "wn_1.txt", "test": tmp_path / "wn_2.csv"}
    graph, report = import_graph(files, tmp_path / "graph", origin={"name": "words"})
    assert (_names(graph), _names(graph, "test"), graph.name) == ([("a", "r", "b")], [("b", "r", "a")], "words")
    assert report.notes == ["no valid file: the valid split is empty"]


def test_ids_do_not_depend_on_the_order_of_lines_or_blocks(tmp_path, monkeypatch):
    facts = [f"e{h} r{r} é{t}" for h, r, t in np.random.default_rng(0).integers(0, 50, (300, 3))]
    first, _ = import_graph(_folder(tmp_path / "a", train=",".join(facts)), tmp_path / "ga")
    monkeypatch.setattr(streams, "BLOCK_BYTES", 100)
    random.Random(0).shuffle(facts)
    second, _ = import_graph(_folder(tmp_path / "b", train=",".join(facts)), tmp_path / "gb")
    assert list(first.entities) == list(second.entities) == sorted(first.entities, key=str.encode)
    assert list(first.relations) == list(second.relations)
    assert sorted(map(tuple, first.train.tolist())) == sorted(map(tuple, second.train.tolist()))


@pytest.mark.parametrize("stem", ["valid", "validation", "val", "dev", "Valid"])
def test_the_valid_split_has_many_names(tmp_path, stem):
    source = _folder(tmp_path / "source", train="a r b", test="a r b", **{stem: "b r a"})
    assert _names(import_graph(source, tmp_path / "graph")[0], "valid") == [("b", "r", "a")]


def test_what_is_missing_or_not_read_is_told(tmp_path):
    source = _folder(tmp_path / "source", train="a r b", readme="x")
    (source / "entities.dict").write_text("x")
    (source / "more").mkdir()
    notes = import_graph(source, tmp_path / "graph")[1].notes
    assert notes == [
        "no valid file: the valid split is empty",
        "no test file: the test split is empty",
        "not read, because they are not named like a split: entities.dict, more, readme.tsv",
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"train": "a r b", "valid": "a r b", "dev": "a r b"},
            r"dev\.tsv and valid\.tsv both look like the valid split",
        ),
        ({"test": "a r b"}, r"no train file in it, only test\.tsv"),
        ({}, "no train file in it, only nothing"),
        ({"train": ""}, r"train\.tsv: no facts to train with"),
    ],
)
def test_a_folder_without_its_splits_is_refused(tmp_path, files, message):
    source = _folder(tmp_path / "source", **files)
    with pytest.raises(UserError, match=message):
        import_graph(source, tmp_path / "graph")
    assert _nothing_but(tmp_path, "source")


def test_given_files_without_train_are_refused(tmp_path):
    source = _folder(tmp_path / "source", test="a r b")
    with pytest.raises(UserError, match="no train file given, only test"):
        import_graph({"test": source / "test.tsv"}, tmp_path / "graph")


def test_more_names_than_ids_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("bique.graph.readers.encoding.ID_LIMIT", 2)
    source = _folder(tmp_path / "source", train="a r b,b r c")
    with pytest.raises(UserError, match="3 entities to tell apart"):
        import_graph(source, tmp_path / "graph")
    assert _nothing_but(tmp_path, "source")


def test_a_source_that_is_not_there_is_told_with_its_neighbour(tmp_path):
    (tmp_path / "facts.tsv").write_text("a\tr\tb\n")
    with pytest.raises(UserError, match=r"there is no such file; did you mean 'facts\.tsv'"):
        import_graph(tmp_path / "fact.tsv", tmp_path / "graph", split=(0.8, 0.1, 0.1))
    (tmp_path / "facts.json").write_text("{}")
    with pytest.raises(UserError, match="its name does not say its format"):
        import_graph(tmp_path / "facts.json", tmp_path / "graph", split=(0.8, 0.1, 0.1))


# strict and quarantine -----------------------------------------------------------------------------------------------


def test_the_first_bad_line_stops_with_place_and_remedy_and_leaves_nothing(tmp_path):
    source = _folder(tmp_path / "source", train=",".join(["a r b"] * 16 + ["a b", "x"]))
    with pytest.raises(UserError) as caught:
        import_graph(source, tmp_path / "deep" / "graph")
    expected = "train.tsv:17: expected 3 tab-separated fields, found 2; correct the line, or set bad lines aside"
    assert expected in str(caught.value)
    assert _nothing_but(tmp_path / "deep")


def test_quarantine_keeps_and_counts_bad_lines(tmp_path):
    source = _folder(tmp_path / "source", train="a r b,a b,c r d", test="x,a r b")
    with (source / "test.tsv").open("ab") as file:
        file.write(b"\xff\tr\tb\n")
    graph, report = import_graph(source, tmp_path / "graph", QUARANTINE)
    assert _names(graph) == [("a", "r", "b"), ("c", "r", "d")]
    assert report.bad == 3 == graph.origin["bad_lines"]
    assert report.quarantine == tmp_path / "graph" / "quarantine.jsonl"
    records = [json.loads(line) for line in report.quarantine.read_text(encoding="utf-8").splitlines()]
    fields = "expected 3 tab-separated fields, found"
    assert records == [
        {"file": "train.tsv", "line": 2, "reason": f"{fields} 2", "raw": "a\tb"},
        {"file": "test.tsv", "line": 1, "reason": f"{fields} 1", "raw": "x"},
        {
            "file": "test.tsv",
            "line": 3,
            "reason": "not valid UTF-8 (byte 0xff at place 1 of the line)",
            "raw_base64": "/wlyCWI=",
        },
    ]
    assert [note for note in report.notes if "set aside" in note] == [
        "train.tsv: bad lines set aside: 1",
        "test.tsv: bad lines set aside: 2",
    ]


def test_a_file_of_bad_lines_only_is_an_error_even_in_quarantine(tmp_path):
    source = _folder(tmp_path / "source", train="a r b", test="x,y")
    with pytest.raises(
        UserError, match=r"test\.tsv: none of its 2 lines is a fact; the first: .*test\.tsv:1: expected"
    ):
        import_graph(source, tmp_path / "graph", QUARANTINE)
    assert _nothing_but(tmp_path, "source")


def test_a_good_source_makes_no_quarantine_file(tmp_path):
    _, report = import_graph(_folder(tmp_path / "source", train="a r b"), tmp_path / "graph", QUARANTINE)
    assert report.quarantine is None
    assert not (tmp_path / "graph" / "quarantine.jsonl").exists()


def test_a_destination_that_exists_is_left_alone(tmp_path, monkeypatch):
    source = _folder(tmp_path / "source", train="a r b")
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "mine").write_text("x")
    monkeypatch.setattr("bique.graph.readers.reading.read_files", lambda *_: pytest.fail("it was read"))
    with pytest.raises(UserError, match="exists already"):
        import_graph(source, tmp_path / "graph")
    assert _nothing_but(tmp_path / "graph", "mine")


def test_an_interrupt_leaves_nothing_behind(tmp_path):
    source = _folder(tmp_path / "source", train="a r b", test="a r b")

    def interrupt(name, done, total):
        if name == "test.tsv":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_graph(source, tmp_path / "graph", progress=interrupt)
    assert _nothing_but(tmp_path, "source")


def test_progress_reaches_the_size_of_each_file(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 30)
    source = _folder(tmp_path / "source", train=",".join(["a r b"] * 50), test="a r b")
    pl.DataFrame({"h": ["a"], "r": ["r"], "t": ["b"]}).write_parquet(source / "valid.parquet")
    seen = []
    import_graph(source, tmp_path / "graph", progress=lambda *event: seen.append(event))
    assert [event for event in seen if event[1] == event[2]] == [
        ("train.tsv", 300, 300),
        ("valid.parquet", 1, 1),
        ("test.tsv", 6, 6),
    ]
    assert len(seen) > 10


# notes ---------------------------------------------------------------------------------------------------------------


def test_odd_names_are_kept_and_told(tmp_path):
    source = tmp_path / "train.tsv"
    source.write_text(" a\tr\tb\0\nc \tr\tb\0\n")
    graph, report = import_graph({"train": source}, tmp_path / "graph")
    assert list(graph.entities) == [" a", "b\0", "c "]
    assert "entities that begin or end with blanks: 2, such as ' a'" in "\n".join(report.notes)
    assert "entities with the character NUL in them: 1" in "\n".join(report.notes)


def test_stripped_names_are_counted(tmp_path):
    (tmp_path / "train.tsv").write_text(" a\tr \tb\na\tr\tb \n")
    graph, report = import_graph({"train": tmp_path / "train.tsv"}, tmp_path / "graph", ReadOptions(strip=True))
    assert _names(graph) == [("a", "r", "b")] * 2
    assert "train.tsv: names that blanks were taken off: 3" in report.notes
    assert graph.origin["options"] == {"strip": True}


def test_entities_that_train_lacks_are_kept_and_told(tmp_path):
    source = _folder(tmp_path / "source", train="a r b", valid="a r c", test="d r c")
    graph, report = import_graph(source, tmp_path / "graph")
    assert graph.num_entities == 4
    assert report.notes == ["entities in valid or test only: 2; nothing can be learnt about them"]


def test_opening_a_graph_does_not_import_polars(small_graph_directory):
    program = (
        "import sys, bique.graph.ingest, bique.graph.checkup; from bique.graph import Graph;"
        f"graph = Graph.open({str(small_graph_directory)!r}); graph.answers; bique.graph.checkup.check_graph(graph);"
        "assert 'polars' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_split_that_is_a_broken_link_is_an_error_not_an_empty_split(tmp_path: Path) -> None:
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "train.tsv").write_text("a\tr\tb\n")
    (folder / "valid.tsv").symlink_to(tmp_path / "gone.tsv")
    with pytest.raises(UserError, match=r"valid\.tsv: looks like the valid split, but is not a file"):
        import_graph(folder, tmp_path / "graph")
    with pytest.raises(UserError, match="broken link or a pipe"):
        import_graph(folder / "valid.tsv", tmp_path / "graph", split=(1.0, 0.0, 0.0))
    assert not (tmp_path / "graph").exists()
