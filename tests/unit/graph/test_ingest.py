"""Import: a graph directory appears complete or not at all, and nothing is dropped silently."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bique.errors import UserError
from bique.graph import Graph
from bique.graph.ingest import ReadOptions, import_graph, split_facts
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
        "train.tsv: 1 bad lines were set aside",
        "test.tsv: 2 bad lines were set aside",
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
    assert "2 entities begin or end with blanks, such as ' a'" in "\n".join(report.notes)
    assert "1 entities contain the character NUL" in "\n".join(report.notes)


def test_stripped_names_are_counted(tmp_path):
    (tmp_path / "train.tsv").write_text(" a\tr \tb\na\tr\tb \n")
    graph, report = import_graph({"train": tmp_path / "train.tsv"}, tmp_path / "graph", ReadOptions(strip=True))
    assert _names(graph) == [("a", "r", "b")] * 2
    assert "train.tsv: blanks were taken off 3 names" in report.notes
    assert graph.origin["options"] == {"strip": True}


def test_entities_that_train_lacks_are_kept_and_told(tmp_path):
    source = _folder(tmp_path / "source", train="a r b", valid="a r c", test="d r c")
    graph, report = import_graph(source, tmp_path / "graph")
    assert graph.num_entities == 4
    assert report.notes == ["2 entities occur in valid or test only; nothing can be learnt about them"]


# one file ------------------------------------------------------------------------------------------------------------

facts = st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=60).map(
    lambda rows: np.array(rows, np.int32).reshape(-1, 3)
)


@given(
    facts, st.integers(0, 5), st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.5, 0.0), (1.0, 0.0, 0.0), (0.34, 0.33, 0.33)])
)
def test_a_split_parts_the_distinct_facts(triples, seed, shares):
    parts = split_facts(triples, shares, seed)
    rows = {split: [tuple(row) for row in part.tolist()] for split, part in parts.items()}
    together = Counter(row for part in rows.values() for row in part)
    assert together == Counter(map(tuple, triples.tolist()))
    distinct = {split: set(part) for split, part in rows.items()}
    assert sum(map(len, distinct.values())) == len(together), "a fact is in two splits"
    for share, part in zip(shares, distinct.values(), strict=True):
        assert abs(len(part) - share * len(together)) <= 1


@given(facts, st.integers(0, 5))
def test_a_split_depends_on_the_facts_and_the_seed_only(triples, seed):
    shuffled = np.random.default_rng(seed).permutation(triples)
    first, second = (split_facts(part, (0.6, 0.2, 0.2), seed) for part in (triples, shuffled))
    for split in first:
        assert sorted(map(tuple, first[split].tolist())) == sorted(map(tuple, second[split].tolist()))


def test_seeds_split_differently():
    triples = np.arange(300, dtype=np.int32).reshape(100, 3)
    assert len({split_facts(triples, (0.5, 0.25, 0.25), seed)["train"].tobytes() for seed in range(5)}) == 5


def test_one_file_is_split_and_the_choice_recorded(tmp_path):
    (tmp_path / "facts.csv").write_text("".join(f"e{i},r,e{i + 1}\n" for i in range(100)))
    graph, report = import_graph(tmp_path / "facts.csv", tmp_path / "graph", split=(0.8, 0.1, 0.1), seed=3)
    assert (len(graph.train), len(graph.valid), len(graph.test)) == (80, 10, 10)
    assert graph.origin["options"] == {"split": [0.8, 0.1, 0.1], "seed": 3}
    again, _ = import_graph(tmp_path / "facts.csv", tmp_path / "again", split=(0.8, 0.1, 0.1), seed=3)
    assert again.hash == graph.hash
    assert any("occur in valid or test only" in note for note in report.notes)


@pytest.mark.parametrize("shares", [(0.9, 0.1, 0.1), (1.2, -0.1, -0.1), (0.0, 0.5, 0.5), (float("nan"), 0.5, 0.5)])
def test_shares_that_do_not_sum_to_one_are_refused(tmp_path, shares):
    (tmp_path / "facts.tsv").write_text("a\tr\tb\n")
    with pytest.raises(UserError, match="sum to 1"):
        import_graph(tmp_path / "facts.tsv", tmp_path / "graph", split=shares)


def test_one_file_needs_shares_and_a_folder_has_none(tmp_path):
    source = _folder(tmp_path / "source", train="a r b")
    with pytest.raises(UserError, match="--split"):
        import_graph(source / "train.tsv", tmp_path / "graph")
    with pytest.raises(UserError, match="leave it out"):
        import_graph(source, tmp_path / "graph", split=(0.8, 0.1, 0.1))


def test_opening_a_graph_does_not_import_polars(small_graph_directory):
    program = (
        "import sys, bique.graph.ingest, bique.graph.checkup; from bique.graph import Graph;"
        f"graph = Graph.open({str(small_graph_directory)!r}); graph.answers; bique.graph.checkup.check_graph(graph);"
        "assert 'polars' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
