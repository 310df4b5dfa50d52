from __future__ import annotations

import tracemalloc
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bique.algebra import as_biquaternion, as_reals, decompose, multiply
from bique.analysis.geometry import learned_compositions, product_distance, rapidity_range, relation_geometry
from bique.analysis.patterns import (
    composition_triples,
    hierarchy,
    rank_correlation,
    relation_patterns,
    strong_components,
    symmetry,
    tree_likeness,
)
from bique.config import BiQUEConfig, parse_config
from bique.errors import UserError
from bique.graph import Graph, Vocabulary
from bique.models import BiQUE, Size, build_model
from bique.runs import Run
from bique.training import train


def pairs(*rows: tuple[int, int]) -> np.ndarray:
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


graphs = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20)


def closure(rows: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Every pair with a path between them, the slow way."""
    found = {(a, b) for a, b in rows if a != b}
    while True:
        more = found | {(a, d) for (a, b), (c, d) in product(found, found) if b == c}
        if more == found:
            return {(a, b) for a, b in found if a != b}
        found = more


@given(graphs)
def test_hierarchy_is_krackhardts_share_over_the_closure(rows: list[tuple[int, int]]) -> None:
    connected = closure(rows)
    one_way = [pair for pair in connected if pair[::-1] not in connected]
    expected = len(one_way) / len(connected) if connected else 0.0
    assert hierarchy(pairs(*rows)) == pytest.approx(expected)


@given(graphs)
def test_strong_components_are_those_of_the_closure(rows: list[tuple[int, int]]) -> None:
    forward: dict[int, list[int]] = {}
    for head, tail in rows:
        forward.setdefault(head, []).append(tail)
    component, connected = strong_components(forward), closure(rows)
    for one, other in product(component, component):
        together = one == other or ((one, other) in connected and (other, one) in connected)
        assert (component[one] == component[other]) == together


def test_trees_cycles_and_mirrors() -> None:
    tree, ring = pairs((1, 0), (2, 0), (3, 1)), pairs((0, 1), (1, 2), (2, 0))
    assert (tree_likeness(tree), hierarchy(tree), symmetry(tree)) == (1.0, 1.0, 0.0)
    assert (tree_likeness(ring), hierarchy(ring), symmetry(ring)) == (pytest.approx(2 / 3), 0.0, 0.0)
    mirror = pairs((0, 1), (1, 0), (2, 3))
    assert (tree_likeness(mirror), symmetry(mirror)) == (1.0, pytest.approx(2 / 3))
    assert (tree_likeness(pairs()), hierarchy(pairs()), symmetry(pairs())) == (1.0, 0.0, 0.0)


def test_the_patterns_of_the_small_graph_are_what_it_was_made_of(small_graph: Graph) -> None:
    ring, pair, tree = relation_patterns(small_graph)
    assert ring.facts == int((small_graph.train[:, 1] == 0).sum())
    assert pair.symmetry > 0.5 > tree.symmetry
    assert tree.tree == 1.0
    assert tree.hierarchy == 1.0
    assert pair.hierarchy == pytest.approx(1 - pair.symmetry)  # a pair without its mirror image is one-way


@given(st.integers(0, 2**31))
def test_the_rank_correlation_is_that_of_ranks(seed: int) -> None:
    scipy = pytest.importorskip("scipy.stats")
    generator = np.random.default_rng(seed)
    x, y = generator.integers(0, 5, (2, 12)).astype(float).tolist()
    rho, low, high = rank_correlation(x, y, resamples=200)
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert rho == pytest.approx(scipy.spearmanr(x, y).statistic)
        assert -1 <= low <= high <= 1


def test_compositions_are_found_with_their_confidence(small_graph: Graph) -> None:
    from dataclasses import replace

    first = [(i, 0, i + 10) for i in range(10)]
    second = [(i + 10, 1, i + 20) for i in range(10)]
    third = [(i, 2, i + 20) for i in range(10)]
    made = replace(small_graph, train=np.array(first + second + third[:10], dtype=np.int32))
    assert composition_triples(made, at_least=10) == [(0, 1, 2, 1.0, 10)]
    assert composition_triples(made, at_least=11) == []


def compositions_one_by_one(facts: set[tuple[int, int, int]], at_least: int) -> dict[tuple[int, int, int], tuple]:
    seen: dict[tuple[int, int], int] = defaultdict(int)
    closed: dict[tuple[int, int, int], int] = defaultdict(int)
    for (a, first, b), (again, second, c) in product(facts, repeat=2):
        if again == b and len({a, b, c}) == 3:
            seen[first, second] += 1
            for third in {r for h, r, t in facts if (h, t) == (a, c)}:
                closed[first, second, third] += 1
    return {key: (n / seen[key[:2]], seen[key[:2]]) for key, n in closed.items() if n >= at_least}


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), max_size=30), st.integers(1, 3))
def test_compositions_are_those_of_paths_followed_one_by_one(facts: set[tuple[int, int, int]], at_least: int) -> None:
    entities, relations = (Vocabulary.from_names(f"{i}" for i in range(count)) for count in (5, 3))
    triples = np.array(sorted(facts), dtype=np.int32).reshape(-1, 3)
    made = Graph(entities, relations, triples, triples[:0], triples[:0], {"name": "drawn"})
    found = composition_triples(made, at_least)
    assert {one[:3]: one[3:] for one in found} == compositions_one_by_one(facts, at_least)
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)


def test_many_relations_between_few_entities_need_no_more_memory_than_other_graphs() -> None:
    """Half a million paths, closed by 27 facts each: counted one by one, those of 20,000 need ten times the memory."""
    generator = np.random.default_rng(0)
    columns = generator.integers(0, 10, 3000), np.repeat(np.arange(150), 20), generator.integers(0, 10, 3000)
    triples = np.stack(columns, axis=1).astype(np.int32)
    entities, relations = (Vocabulary.from_names(f"{i:03d}" for i in range(count)) for count in (10, 150))
    made = Graph(entities, relations, triples, triples[:0], triples[:0], {"name": "dense"})
    tracemalloc.start()
    try:
        found = composition_triples(made, at_least=1, paths=20_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found
    assert all(0 < one.share <= 1 for one in found)
    assert peak < 400 * 20_000  # bytes


def test_compositions_come_with_the_distance_of_the_learned_product(small_graph: Graph) -> None:
    from dataclasses import replace

    steps = [(i, 0, i + 10) for i in range(10)] + [(i + 10, 1, i + 20) for i in range(10)]
    made = replace(small_graph, train=np.array(steps + [(i, 2, i + 20) for i in range(10)], dtype=np.int32))
    model = BiQUE(BiQUEConfig(units=3, initial_scale=1.0), Size(40, 6), torch.Generator().manual_seed(0))
    (found,) = learned_compositions(model, made)
    assert (found.first, found.second, found.relation, found.share) == ("a next", "b pair", "c parent", 1.0)
    assert found.product_distance == product_distance(model, 0, 1, 2)
    assert found.as_dict()["product_distance"] == found.product_distance


def test_a_trained_runs_decomposition_multiplies_back(small_graph_directory: Path, tmp_path: Path) -> None:
    graph = Graph.open(small_graph_directory)
    config = parse_config({"graph": str(small_graph_directory), "model": {"units": 8}, "training": {"epochs": 5}})
    run = Run.create(config, graph, tmp_path / "run")
    train(run, graph)
    model, _ = run.model()
    assert isinstance(model, BiQUE)
    q = as_biquaternion(model.relation[:, : 8 * 8].double())
    parts = decompose(q, null="mask")
    wrong = (parts.compose() - q).abs().amax(1)[parts.exists]
    assert wrong.max() <= 1e-5
    found = relation_geometry(model, graph)
    assert [one.relation for one in found] == [graph.relation_name(i) for i in range(6)]
    for number, one in enumerate(found):
        np.testing.assert_allclose(one.angle, parts.angle[number][parts.exists[number]].numpy())
        np.testing.assert_allclose(one.rapidity, parts.rapidity[number][parts.exists[number]].numpy())
        assert len(one.angle) == 8 - one.null
        length = model.relation[number, 64:].norm() / model.entities.norm(dim=1).mean()
        assert one.translation == pytest.approx(length.item(), rel=1e-5)


def test_null_biquaternions_are_counted_never_hidden(small_graph: Graph) -> None:
    model = BiQUE(BiQUEConfig(units=4, initial_scale=1.0), Size(40, 6), torch.Generator().manual_seed(0))
    with torch.no_grad():
        q = model.relation[0, :32].view(4, 4, 2)
        q[:, 0] = 0
        q[0, 0, 0], q[1, 0, 1] = 1.0, 1.0  # 1 + 𝐈i
        q[:, 1] = 0
    first = relation_geometry(model, small_graph)[0]
    assert first.null == 2
    assert first.near_null >= 2
    assert len(first.angle) == 2
    with torch.no_grad():
        model.relation[0, :32] = 0
    nothing = relation_geometry(model, small_graph)[0]
    assert nothing.null == 4
    assert nothing.as_dict()["angle"] == {"low": None, "median": None, "high": None}
    assert rapidity_range([nothing]) == 1


def test_the_product_distance_is_0_for_a_multiple_of_the_product_and_1_for_what_is_orthogonal() -> None:
    model = BiQUE(BiQUEConfig(units=3, initial_scale=1.0), Size(5, 4), torch.Generator().manual_seed(0)).double()
    one, other = (as_biquaternion(model.relation[[i], :24]) for i in (0, 1))
    product = as_reals(multiply(one, other))
    with torch.no_grad():
        model.relation[2, :24] = -3 * product[0]
        across = torch.randn(24, dtype=torch.float64)
        model.relation[3, :24] = across - (across @ product[0]) / (product[0] @ product[0]) * product[0]
    assert product_distance(model, 0, 1, 2) == pytest.approx(0, abs=1e-7)
    assert product_distance(model, 0, 1, 3) == pytest.approx(1)
    assert 0.1 < product_distance(model, 1, 0, 2) < 1  # products do not commute


def test_a_run_of_another_model_is_refused(small_graph: Graph) -> None:
    config = parse_config({"dataset": "small", "model": {"name": "complex", "units": 2}}).model
    with pytest.raises(UserError, match="ComplEx"):
        relation_geometry(build_model(config, small_graph, 0), small_graph)
