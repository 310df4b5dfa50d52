"""What the facts say about a relation: hierarchy, symmetry, tree-likeness, category, partner."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from bique.graph import Graph
from bique.graph.categories import relation_categories
from bique.graph.facts import distinct_facts
from bique.graph.leakage import find_overlaps
from bique.shapes import Int

# from so many heads the reachable entities are counted; all of them in most graphs
SOURCES = 2000
PARTNER = 0.5


@dataclass(frozen=True)
class RelationPattern:
    relation: str
    facts: int
    """Distinct training facts."""
    category: str
    symmetry: float
    """Share of facts (h, t) whose mirror image (t, h) is a fact, too."""
    hierarchy: float
    """Krackhardt's score: of the pairs that are connected along the relation, the share that is not in a cycle."""
    tree: float
    """1 for a forest: 1 − independent cycles / edges, direction disregarded."""
    partner: str | None
    """The relation with which it shares most pairs (⁻¹ when turned round), if it shares half of its own."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def relation_patterns(graph: Graph, seed: int = 0) -> list[RelationPattern]:
    """Of every relation, from the training facts."""
    categories = relation_categories(graph.train, graph.num_relations)
    partners = _partners(graph)
    patterns = []
    for relation in range(graph.num_relations):
        pairs = np.unique(graph.train[graph.train[:, 1] == relation][:, [0, 2]], axis=0)
        patterns.append(
            RelationPattern(
                graph.relations[relation],
                len(pairs),
                categories[relation],
                symmetry(pairs),
                hierarchy(pairs, seed),
                tree_likeness(pairs),
                partners.get(relation),
            )
        )
    return patterns


def symmetry(pairs: Int[np.ndarray, "facts 2"]) -> float:
    known = {(h, t) for h, t in pairs.tolist()}
    return sum((t, h) in known for h, t in known) / max(len(known), 1)


def hierarchy(pairs: Int[np.ndarray, "facts 2"], seed: int = 0) -> float:
    """Of the ordered pairs (a, b) with a path from a to b, the share without a path back; 0 for no facts.

    Counted exactly for up to SOURCES starting points, else from that many, drawn by the seed.
    """
    forward: dict[int, list[int]] = defaultdict(list)
    for head, tail in pairs.tolist():
        if head != tail:
            forward[head].append(tail)
    component = strong_components(forward)
    sources = sorted(forward)
    if len(sources) > SOURCES:
        sources = np.random.default_rng(seed).choice(sources, SOURCES, replace=False).tolist()
    reached = one_way = 0
    for source in sources:
        found = _reachable(source, forward) - {source}
        reached += len(found)
        one_way += sum(component[other] != component[source] for other in found)
    return one_way / reached if reached else 0.0


def tree_likeness(pairs: Int[np.ndarray, "facts 2"]) -> float:
    edges = {(min(h, t), max(h, t)) for h, t in pairs.tolist() if h != t}
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    cycles = 0
    for one, other in edges:
        first, second = root(one), root(other)
        cycles += first == second
        parent[first] = second
    return 1 - cycles / len(edges) if edges else 1.0


def strong_components(forward: dict[int, list[int]]) -> dict[int, int]:
    """Node → number of its strongly connected component (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    component: dict[int, int] = {}
    waiting: list[int] = []
    for start in list(forward):
        if start in index:
            continue
        path = [(start, iter(forward[start]))]
        index[start] = low[start] = len(index)
        waiting.append(start)
        while path:
            node, others = path[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    waiting.append(other)
                    path.append((other, iter(forward.get(other, ()))))
                    break
                if other not in component:
                    low[node] = min(low[node], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    while True:
                        member = waiting.pop()
                        component[member] = index[node]
                        if member == node:
                            break
    return component


def _reachable(source: int, forward: dict[int, list[int]]) -> set[int]:
    seen, todo = {source}, [source]
    while todo:
        for other in forward.get(todo.pop(), ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def _partners(graph: Graph) -> dict[int, str]:
    """The largest overlap of each relation with another one."""
    partners: dict[int, tuple[float, str]] = {}
    for overlap in find_overlaps(graph.train, graph.num_entities, graph.num_relations, PARTNER):
        if overlap.kind == "symmetric":
            continue
        name = graph.relations[overlap.other] + ("⁻¹" if overlap.kind == "inverse" else "")
        if overlap.share > partners.get(overlap.relation, (0.0, ""))[0]:
            partners[overlap.relation] = overlap.share, name
    return {relation: name for relation, (_, name) in partners.items()}


def rank_correlation(
    x: list[float], y: list[float], resamples: int = 10_000, seed: int = 0
) -> tuple[float, float, float]:
    """Spearman's ρ with a 95 % bootstrap interval over the pairs; NaN where one side does not vary."""
    first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    generator = np.random.default_rng(seed)
    draws = generator.integers(0, len(first), (resamples, len(first)))
    found = np.array([_spearman(first[draw], second[draw]) for draw in draws])
    found = found[~np.isnan(found)]
    low, high = np.quantile(found, (0.025, 0.975)).tolist() if len(found) else (np.nan, np.nan)
    return _spearman(first, second), low, high


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    a, b = (_ranks(values) for values in (x, y))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale else float("nan")


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ties share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[place]


class Path(NamedTuple):
    """Of the paths a –first→ b –second→ c with three different entities, the share with a –third→ c."""

    first: int
    second: int
    third: int
    share: float
    paths: int


def composition_triples(graph: Graph, at_least: int = 10, paths: int = 2_000_000) -> list[Path]:
    """The surest first; those with ten facts or more.

    Of more than `paths` paths, those from every n-th fact on are looked at; of more than `paths` facts that close them,
    every n-th path.
    """
    facts = distinct_facts(graph.train).astype(np.int64)
    head, first, second, tail = _paths(facts, graph.num_entities, paths)
    pairs = facts[:, 0] * graph.num_entities + facts[:, 2]
    by_pair = np.argsort(pairs, kind="stable")
    low, high = (np.searchsorted(pairs[by_pair], head * graph.num_entities + tail, side) for side in ("left", "right"))
    every = _every(int((high - low).sum()), paths)
    first, second, low, high = (column[::every] for column in (first, second, low, high))
    kinds, kind, seen = np.unique(first * graph.num_relations + second, return_inverse=True, return_counts=True)
    path, closing = _runs(low, high)
    codes, counts = np.unique(kind[path] * graph.num_relations + facts[by_pair[closing], 1], return_counts=True)
    often = np.flatnonzero(counts >= at_least)
    kind, third = np.divmod(codes[often], graph.num_relations)
    first, second = np.divmod(kinds[kind], graph.num_relations)
    columns = (column.tolist() for column in (first, second, third, counts[often] / seen[kind], seen[kind]))
    return sorted(map(Path._make, zip(*columns, strict=True)), key=lambda one: -one.share)


def _paths(facts: Int[np.ndarray, "facts 3"], num_entities: int, most: int) -> Int[np.ndarray, "4 paths"]:
    """head, first, second and tail of paths between three different entities."""
    leaving = np.searchsorted(facts[:, 0], np.arange(num_entities + 1))
    low, high = leaving[facts[:, 2]], leaving[facts[:, 2] + 1]
    every = _every(int((high - low).sum()), most)
    start, onward = _runs(low[::every], high[::every])
    head, first, middle = facts[::every][start].T
    second, tail = facts[onward, 1], facts[onward, 2]
    different = (head != middle) & (middle != tail) & (tail != head)
    return np.stack((head, first, second, tail))[:, different]


def _every(count: int, most: int) -> int:
    return max(1, -(-count // most))


def _runs(
    low: Int[np.ndarray, "runs"], high: Int[np.ndarray, "runs"]
) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"]]:
    """Every number from low to high, high not included, of one run after the other; before it the run's place."""
    lengths = high - low
    run = np.repeat(np.arange(len(low)), lengths)
    return run, np.arange(len(run)) + (low - (np.cumsum(lengths) - lengths))[run]
