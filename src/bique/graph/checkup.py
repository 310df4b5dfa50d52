"""Checkup: what is in a graph, and what would make its numbers look better or worse than they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bique.graph.categories import CATEGORIES, Category, categories_of, relation_averages
from bique.graph.degrees import bucket_bounds, degree_bucket
from bique.graph.facts import number_facts
from bique.graph.graph import SPLITS, Graph, Split, Triples
from bique.graph.leakage import Kind, find_overlaps, given_away
from bique.shapes import Bool, Int

THRESHOLD = 0.8
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Unseen:
    """What a split has that train has not: entities, relations, and the facts in which one of them stands."""

    entities: int
    relations: int
    facts: int


@dataclass(frozen=True)
class RelationRow:
    """One relation over train: facts as they stand, averages and category over distinct facts."""

    name: str
    facts: int
    tails_per_head: float
    heads_per_tail: float
    category: Category


@dataclass(frozen=True)
class NamedOverlap:
    """`share` of the distinct pairs of `relation` are also pairs of `other`, turned round unless it is a duplicate."""

    relation: str
    other: str
    kind: Kind
    share: float
    pairs: int


@dataclass(frozen=True)
class DegreeBin:
    """`entities` entities take part in `low` to `high` training facts."""

    low: int
    high: int
    entities: int


@dataclass(frozen=True)
class Degrees:
    """How many training facts an entity takes part in, a self-loop counted twice."""

    mean: float
    quantiles: dict[str, int]
    histogram: list[DegreeBin]


@dataclass(frozen=True)
class Checkup:
    """`duplicates` counts facts beyond the first of their kind; `shared` counts distinct facts of two splits.

    `hash_matches` is None for a graph that was not read from a directory.
    """

    name: str
    hash: str
    hash_matches: bool | None
    counts: dict[str, int]
    duplicates: dict[Split, int]
    shared: dict[str, int]
    unseen: dict[Split, Unseen]
    self_loops: dict[Split, int]
    categories: dict[Category, int]
    relations: list[RelationRow]
    overlaps: list[NamedOverlap]
    threshold: float
    given_away: int
    degrees: Degrees

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    def by_split(self) -> dict[str, list[int | None]]:
        """The rows of a table over train, valid and test; None where a split has no such number."""
        unseen, shared = [self.unseen["valid"], self.unseen["test"]], self.shared
        return {
            "facts": [self.counts[split] for split in SPLITS],
            "duplicates": list(self.duplicates.values()),
            "self-loops": list(self.self_loops.values()),
            "entities unseen in train": [None, *(one.entities for one in unseen)],
            "relations unseen in train": [None, *(one.relations for one in unseen)],
            "facts with something unseen": [None, *(one.facts for one in unseen)],
            "facts also in train": [None, shared["train and valid"], shared["train and test"]],
            "facts also in valid": [None, None, shared["valid and test"]],
            "given away: copied, inverted or mirrored in train": [None, None, self.given_away],
        }


def check_graph(graph: Graph, threshold: float = THRESHOLD) -> Checkup:
    """Relations that overlap are reported from the share `threshold` of their pairs on."""
    found = graph.content_hash()
    overlaps = find_overlaps(graph.train, graph.num_entities, graph.num_relations, threshold)
    duplicates, shared = _repeated(graph)
    rows = _relation_rows(graph)
    kinds = Counter(row.category for row in rows)
    return Checkup(
        name=graph.name,
        hash=found,
        hash_matches=None if graph.path is None else graph.hash == found,
        counts=graph.counts(),
        duplicates=duplicates,
        shared=shared,
        unseen={"valid": _unseen(graph, graph.valid), "test": _unseen(graph, graph.test)},
        self_loops={split: int((graph.split(split)[:, 0] == graph.split(split)[:, 2]).sum()) for split in SPLITS},
        categories={category: kinds[category] for category in CATEGORIES},
        relations=rows,
        overlaps=[
            NamedOverlap(graph.relations[o.relation], graph.relations[o.other], o.kind, o.share, o.pairs)
            for o in overlaps
        ],
        threshold=threshold,
        given_away=given_away(graph.train, graph.test, overlaps),
        degrees=_degrees(graph),
    )


def _repeated(graph: Graph) -> tuple[dict[Split, int], dict[str, int]]:
    """Facts that are twice in a split, and facts that are in two splits."""
    numbers, count = number_facts(np.concatenate([graph.split(split) for split in SPLITS]))
    sizes = [len(graph.split(split)) for split in SPLITS]
    holds = {
        split: _marked(part, count)
        for split, part in zip(SPLITS, np.split(numbers, np.cumsum(sizes)[:-1]), strict=True)
    }
    duplicates: dict[Split, int] = {split: len(graph.split(split)) - int(holds[split].sum()) for split in SPLITS}
    return duplicates, {f"{a} and {b}": int((holds[a] & holds[b]).sum()) for a, b in combinations(SPLITS, 2)}


def _marked(ids: Int[np.ndarray, "ids"], count: int) -> Bool[np.ndarray, "count"]:
    marks = np.zeros(count, dtype=bool)
    marks[ids] = True
    return marks


def _unseen(graph: Graph, triples: Triples) -> Unseen:
    entities = ~_marked(graph.train[:, [0, 2]].ravel(), graph.num_entities)
    relations = ~_marked(graph.train[:, 1], graph.num_relations)
    facts = entities[triples[:, 0]] | entities[triples[:, 2]] | relations[triples[:, 1]]
    return Unseen(
        entities=int((entities & _marked(triples[:, [0, 2]].ravel(), graph.num_entities)).sum()),
        relations=int((relations & _marked(triples[:, 1], graph.num_relations)).sum()),
        facts=int(facts.sum()),
    )


def _relation_rows(graph: Graph) -> list[RelationRow]:
    """All relations, the most frequent first."""
    facts = np.bincount(graph.train[:, 1], minlength=graph.num_relations)
    tails_per_head, heads_per_tail = relation_averages(graph.train, graph.num_relations)
    category = categories_of(tails_per_head, heads_per_tail)
    by_frequency: list[int] = np.argsort(-facts, kind="stable").tolist()
    return [
        RelationRow(graph.relations[r], int(facts[r]), float(tails_per_head[r]), float(heads_per_tail[r]), category[r])
        for r in by_frequency
    ]


def _degrees(graph: Graph) -> Degrees:
    degrees = graph.degrees
    histogram = [
        DegreeBin(*bucket_bounds(bucket), int(count))
        for bucket, count in enumerate(np.bincount(degree_bucket(degrees)))
        if count
    ]
    quantiles = np.quantile(degrees, QUANTILES, method="inverted_cdf") if len(degrees) else np.zeros(len(QUANTILES))
    shown = {f"{place:g}": int(value) for place, value in zip(QUANTILES, quantiles, strict=True)}
    return Degrees(float(degrees.mean()) if len(degrees) else 0.0, shown, histogram)
