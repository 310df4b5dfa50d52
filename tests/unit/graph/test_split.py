"""One file becomes three splits: by its facts and a seed, and by nothing else."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bique.errors import UserError
from bique.graph.ingest import import_graph, split_facts

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
    assert any("in valid or test only" in note for note in report.notes)


@pytest.mark.parametrize(
    ("shares", "why"),
    [
        ((0.9, 0.1, 0.1), "sum to 1"),
        ((float("nan"), 0.5, 0.5), "sum to 1"),
        ((1.2, -0.1, -0.1), "none is below 0"),
        ((0.0, 0.5, 0.5), "train needs a share"),
    ],
)
def test_shares_that_make_no_split_are_refused_with_the_reason(tmp_path, shares, why):
    (tmp_path / "facts.tsv").write_text("a\tr\tb\n")
    with pytest.raises(UserError, match=why):
        import_graph(tmp_path / "facts.tsv", tmp_path / "graph", split=shares)


@pytest.mark.parametrize(("shares", "told"), [((1.0, 0.0, 0.0), []), ((0.9, 0.1, 0.0), ["valid"])])
def test_an_empty_split_is_noted_unless_it_was_asked_for(tmp_path, shares, told):
    (tmp_path / "facts.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    _, report = import_graph(tmp_path / "facts.tsv", tmp_path / "graph", split=shares)
    empty = [f"too few facts for a share of their own: the {name} split is empty" for name in told]
    assert [note for note in report.notes if "is empty" in note] == empty


def test_one_file_needs_shares_and_a_folder_has_none(tmp_path):
    (tmp_path / "train.tsv").write_text("a\tr\tb\n")
    with pytest.raises(UserError, match="--split"):
        import_graph(tmp_path / "train.tsv", tmp_path / "graph")
    with pytest.raises(UserError, match="leave it out"):
        import_graph(tmp_path, tmp_path / "graph", split=(0.8, 0.1, 0.1))
