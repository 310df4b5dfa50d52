"""A graph: inverse relations, and a directory that comes back as it was written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bique.errors import UserError
from bique.graph import SPLITS, Graph, Vocabulary

triples = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), max_size=12).map(
    lambda rows: np.array(rows, dtype=np.int32).reshape(-1, 3)
)


def _graph(train, valid, test):
    entities = Vocabulary.from_names(["a", "b\n", "ç\t", "日", " "])
    return Graph(entities, Vocabulary.from_names("rst"), train, valid, test, {"name": "five", "note": "ü"})


@given(triples, triples, triples)
def test_a_saved_graph_opens_the_same(tmp_path_factory, train, valid, test):
    graph = _graph(train, valid, test)
    opened = graph.save(tmp_path_factory.mktemp("graph") / "g")
    assert all(np.array_equal(opened.split(name), graph.split(name)) for name in SPLITS)
    assert (list(opened.entities), list(opened.relations)) == (list(graph.entities), list(graph.relations))
    assert opened.hash == opened.content_hash() == graph.hash
    assert (opened.name, opened.origin["note"]) == ("five", "ü")


@given(triples, triples)
def test_the_hash_tells_graphs_apart(train, valid):
    graphs = [_graph(train, valid, train[:0]), _graph(valid, train, train[:0]), _graph(train, valid, train)]
    contents = [tuple(graph.split(name).tobytes() for name in SPLITS) for graph in graphs]
    assert len({graph.hash for graph in graphs}) == len(set(contents))


@given(triples)
def test_the_inverse_of_the_inverse_is_the_fact_itself(train):
    graph = _graph(train, train, train)
    assert np.array_equal(graph.inverted(graph.inverted(train)), train)
    assert [graph.inverse(graph.inverse(relation)) for relation in range(6)] == list(range(6))
    both = graph.both_directions(train)
    assert both.tolist() == train.tolist() + [[t, graph.inverse(r), h] for h, r, t in train.tolist()]


@given(triples, triples, triples)
def test_every_fact_answers_two_questions(train, valid, test):
    graph = _graph(train, valid, test)
    facts = np.concatenate([train, valid, test]).tolist()
    for head, relation, tail in facts:
        assert tail in graph.answers.of(head, relation)
        assert head in graph.answers.of(tail, graph.inverse(relation))
    assert len(graph.answers.tails) == 2 * len(set(map(tuple, facts)))


def test_inverse_relations_have_names_of_their_own(small_graph):
    names = [small_graph.relation_name(r) for r in range(small_graph.num_directed_relations)]
    assert names == ["a next", "b pair", "c parent", "a next⁻¹", "b pair⁻¹", "c parent⁻¹"]


def test_an_unknown_split_is_told_with_a_near_one(small_graph):
    with pytest.raises(UserError, match="did you mean 'valid'"):
        small_graph.split("valdi")


def test_triples_stay_on_the_disk(small_graph_directory):
    assert isinstance(Graph.open(small_graph_directory).train, np.memmap)


def _rewrite(directory, **changes):
    file = directory / "graph.json"
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


DAMAGE = {
    "no directory": lambda directory: directory.rename(directory.with_name("elsewhere")),
    "no record": lambda directory: (directory / "graph.json").unlink(),
    "no json": lambda directory: (directory / "graph.json").write_text("{"),
    "a list": lambda directory: (directory / "graph.json").write_text("[]"),
    "empty record": lambda directory: (directory / "graph.json").write_text("{}"),
    "other format": lambda directory: _rewrite(directory, format=2),
    "no hash": lambda directory: _rewrite(directory, hash=None),
    "no counts": lambda directory: (directory / "graph.json").write_text('{"format": 1, "hash": "", "origin": {}}'),
    "other counts": lambda directory: _rewrite(directory, counts={"entities": 1}),
    "no triples": lambda directory: (directory / "test.npy").unlink(),
    "not triples": lambda directory: np.save(directory / "test.npy", np.zeros((2, 2), dtype=np.int32)),
    "wide ids": lambda directory: np.save(directory / "test.npy", np.zeros((2, 3), dtype=np.int64)),
    "negative id": lambda directory: np.save(directory / "test.npy", np.full((15, 3), -1, dtype=np.int32)),
    "large id": lambda directory: np.save(directory / "test.npy", np.full((15, 3), 39, dtype=np.int32)),
    "pickle": lambda directory: np.save(directory / "test.npy", np.array([[None] * 3]), allow_pickle=True),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_directory_is_told_with_a_remedy(small_graph_directory, damage):
    DAMAGE[damage](small_graph_directory)
    with pytest.raises(UserError, match="import"):
        Graph.open(small_graph_directory)
