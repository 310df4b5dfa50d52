"""Leakage: relations that repeat or reverse one another, so that a test fact can be read off the training facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bique.graph.facts import distinct_facts, lexical_order, number_facts
from bique.graph.graph import Triples
from bique.shapes import Int

Kind = Literal["duplicate", "inverse", "symmetric"]


@dataclass(frozen=True)
class Overlap:
    """A `share` of the distinct (head, tail) pairs of `relation` are pairs of `other` too, turned round if inverse."""

    relation: int
    other: int
    kind: Kind
    share: float
    pairs: int


def find_overlaps(triples: Triples, num_entities: int, num_relations: int, threshold: float) -> list[Overlap]:
    """All overlaps of at least `threshold`, those with the most facts first.

    Only relations that do share a pair are ever compared, so the work grows with the facts, not with the square of
    the number of relations.
    """
    facts = distinct_facts(triples)
    sizes = np.bincount(facts[:, 1], minlength=num_relations)
    overlaps: list[Overlap] = []
    for first, second, shared in _shared_pairs(facts, num_entities, num_relations):
        turned, other = divmod(second, num_relations)
        if turned:
            kind: Kind = "symmetric" if other == first else "inverse"
            directions = [(first, other)]
        else:
            kind, directions = "duplicate", [(first, other), (other, first)]
        for relation, partner in directions:
            share = shared / int(sizes[relation])
            if share >= threshold:
                overlaps.append(Overlap(relation, partner, kind, share, int(sizes[relation])))
    return sorted(overlaps, key=lambda found: (-found.pairs, found.relation, found.kind, found.other))


def _shared_pairs(facts: Triples, num_entities: int, num_relations: int) -> list[tuple[int, int, int]]:
    """(r, s, how many pairs they share) with r < s; ids from num_relations on stand for relations turned round.

    Facts and turned facts are sorted by pair, then a fact is compared with its first neighbour, its second, and so on
    as long as the pair is the same.
    """
    head, relation, tail = facts.astype(np.int64).T
    pairs = np.concatenate([head * num_entities + tail, tail * num_entities + head])
    relations = np.concatenate([relation, relation + num_relations])
    order = lexical_order(pairs, relations)
    pairs, relations = pairs[order], relations[order]
    # a pair of turned relations is the mirror of one that is counted already
    here = np.flatnonzero(relations < num_relations)
    found, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    distance = 1
    while len(here):
        here = here[here + distance < len(pairs)]
        here = here[pairs[here] == pairs[here + distance]]
        codes, count = np.unique(relations[here] * 2 * num_relations + relations[here + distance], return_counts=True)
        found.append(codes)
        counts.append(count)
        distance += 1
    codes, place = np.unique(np.concatenate(found), return_inverse=True)
    totals = np.bincount(place, weights=np.concatenate(counts), minlength=len(codes)).astype(np.int64)
    return [
        (code // (2 * num_relations), code % (2 * num_relations), total)
        for code, total in zip(codes.tolist(), totals.tolist(), strict=True)
    ]


def given_away(train: Triples, test: Triples, overlaps: Sequence[Overlap]) -> int:
    """How many test facts have, under an overlapping relation, their twin in train.

    Either relation of an overlap gives the other away: the larger one most facts of the smaller, the smaller one with
    near certainty a fact of the larger.
    """
    if not overlaps:
        return 0
    rules = {(found.relation, found.other, found.kind != "duplicate") for found in overlaps}
    rules |= {(other, relation, turned) for relation, other, turned in rules}
    twins: list[Triples] = [test[:0]]
    places: list[Int[np.ndarray, "found"]] = [np.empty(0, dtype=np.int64)]
    for relation, other, turned in sorted(rules):
        place = np.flatnonzero(test[:, 1] == relation)
        twin = test[place][:, [2, 1, 0] if turned else [0, 1, 2]]
        twin[:, 1] = other
        twins.append(twin)
        places.append(place)
    numbers, count = number_facts(np.concatenate([train, *twins]))
    known = np.zeros(count, dtype=bool)
    known[numbers[: len(train)]] = True
    return len(np.unique(np.concatenate(places)[known[numbers[len(train) :]]]))
