"""Checkup against the plain definitions, written with Python sets."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bique.graph import Graph, Vocabulary, leakage
from bique.graph.categories import relation_categories
from bique.graph.checkup import check_graph
from bique.graph.leakage import find_overlaps, given_away

ENTITIES, RELATIONS = 6, 4
facts = st.lists(
    st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)), max_size=40
)


def _triples(rows):
    return np.array(rows, dtype=np.int32).reshape(-1, 3)


def _graph(train, valid=(), test=()):
    entities = Vocabulary.from_names(f"entity {i}" for i in range(ENTITIES))
    relations = Vocabulary.from_names(f"relation {i}" for i in range(RELATIONS))
    return Graph(entities, relations, _triples(train), _triples(valid), _triples(test))


def _overlaps_by_sets(train, threshold):
    pairs = {r: {(h, t) for h, q, t in train if q == r} for r in range(RELATIONS)}
    turned = {r: {(t, h) for h, t in pairs[r]} for r in pairs}
    found = set()
    for r, s in product(range(RELATIONS), repeat=2):
        size = len(pairs[r])
        same, reverse = len(pairs[r] & pairs[s]), len(pairs[r] & turned[s])
        if r != s and same and same >= threshold * size:
            found.add((r, s, "duplicate", same / size, size))
        if reverse and reverse >= threshold * size:
            found.add((r, s, "symmetric" if r == s else "inverse", reverse / size, size))
    return found


@given(facts, st.sampled_from([0.1, 0.5, 0.8, 1.0]))
def test_overlaps_are_those_of_sets_of_pairs(train, threshold):
    found = find_overlaps(_triples(train), ENTITIES, RELATIONS, threshold)
    as_tuples = [(o.relation, o.other, o.kind, o.share, o.pairs) for o in found]
    assert len(set(as_tuples)) == len(as_tuples)
    assert set(as_tuples) == _overlaps_by_sets(train, threshold)


@pytest.mark.parametrize("at_once", [0, 5])
def test_overlaps_are_the_same_however_often_they_are_added_up(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    triples = np.random.default_rng(0).integers(0, 6, (300, 3)).astype(np.int32)
    once = find_overlaps(triples, 6, 6, 0.1)
    monkeypatch.setattr(leakage, "AT_ONCE", at_once)
    assert find_overlaps(triples, 6, 6, 0.1) == once
    assert len(once) > 10


@given(facts, facts)
def test_a_test_fact_is_given_away_by_its_twin_in_train(train, test):
    overlaps = find_overlaps(_triples(train), ENTITIES, RELATIONS, 0.8)
    rules = {(o.relation, o.other, o.kind != "duplicate") for o in overlaps}
    rules |= {(s, r, turned) for r, s, turned in rules}
    known = set(train)

    def away(h, r, t):
        return any(((t, s, h) if turned else (h, s, t)) in known for q, s, turned in rules if q == r)

    assert given_away(_triples(train), _triples(test), overlaps) == sum(away(*fact) for fact in test)


@given(facts, facts, facts)
def test_counts_are_those_of_sets(train, valid, test):
    report = check_graph(_graph(train, valid, test))
    splits = {"train": train, "valid": valid, "test": test}
    assert report.duplicates == {name: len(rows) - len(set(rows)) for name, rows in splits.items()}
    assert report.shared == {
        "train and valid": len(set(train) & set(valid)),
        "train and test": len(set(train) & set(test)),
        "valid and test": len(set(valid) & set(test)),
    }
    assert report.self_loops == {name: sum(h == t for h, _, t in rows) for name, rows in splits.items()}
    seen = {entity for h, _, t in train for entity in (h, t)}
    seen_relations = {r for _, r, _ in train}
    for name in ("valid", "test"):
        rows = splits[name]
        assert report.unseen[name].entities == len({e for h, _, t in rows for e in (h, t)} - seen)
        assert report.unseen[name].relations == len({r for _, r, _ in rows} - seen_relations)
        assert report.unseen[name].facts == sum(
            not (h in seen and t in seen and r in seen_relations) for h, r, t in rows
        )


@given(facts)
def test_degrees_are_counted_and_binned_by_powers_of_two(train):
    report = check_graph(_graph(train))
    degree = Counter(entity for h, _, t in train for entity in (h, t))
    degrees = sorted(degree[entity] for entity in range(ENTITIES))
    assert report.degrees.mean == sum(degrees) / ENTITIES
    assert report.degrees.quantiles["0"] == degrees[0]
    assert report.degrees.quantiles["0.5"] == degrees[ENTITIES // 2 - 1]
    assert report.degrees.quantiles["1"] == degrees[-1]
    assert sum(bin_.entities for bin_ in report.degrees.histogram) == ENTITIES
    for bin_ in report.degrees.histogram:
        assert bin_.entities == sum(bin_.low <= d <= bin_.high for d in degrees)
        assert bin_.low == 0 == bin_.high or bin_.high == 2 * bin_.low - 1


@given(facts)
def test_category_follows_the_average_tails_and_heads(train):
    categories = relation_categories(_triples(train), RELATIONS)
    for relation in range(RELATIONS):
        pairs = {(h, t) for h, r, t in train if r == relation}
        many_tails = len(pairs) >= 1.5 * max(len({h for h, _ in pairs}), 1)
        many_heads = len(pairs) >= 1.5 * max(len({t for _, t in pairs}), 1)
        assert categories[relation] == f"{'N' if many_heads else '1'}-{'N' if many_tails else '1'}"


def test_the_known_shapes_have_their_names():
    one, many = range(1), range(1, 5)
    rows = [(1, 0, 2), (2, 0, 3)]
    rows += [(h, 1, t) for h in one for t in many]
    rows += [(h, 2, t) for h in many for t in one]
    rows += [(h, 3, t) for h in (1, 2) for t in (3, 4)]
    assert relation_categories(_triples(rows), RELATIONS) == ["1-1", "1-N", "N-1", "N-N"]


def test_an_inverse_copy_of_a_relation_is_found():
    train = [(0, 0, 1), (1, 0, 2), (2, 0, 3), (1, 1, 0), (2, 1, 1), (3, 1, 2), (5, 1, 4)]
    report = check_graph(_graph(train, test=[(4, 0, 5), (0, 0, 5)]))
    assert [(o.relation, o.other, o.kind, o.share) for o in report.overlaps] == [
        ("relation 0", "relation 1", "inverse", 1)
    ]
    assert report.given_away == 1


def test_a_damaged_file_is_told_by_the_hash(small_graph_directory):
    assert check_graph(Graph.open(small_graph_directory)).hash_matches is True
    triples = np.load(small_graph_directory / "train.npy")
    np.save(small_graph_directory / "train.npy", triples[::-1])
    assert check_graph(Graph.open(small_graph_directory)).hash_matches is False


def test_the_report_goes_into_json(small_graph):
    report = check_graph(small_graph)
    copy = json.loads(json.dumps(report.as_dict()))
    assert copy["counts"] == small_graph.counts()
    assert sum(copy["categories"].values()) == small_graph.num_relations
    assert copy["hash_matches"] is None
