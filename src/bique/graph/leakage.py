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
Column = Int[np.ndarray, "_"]

# counts that wait to be added up
AT_ONCE = 1 << 20


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
    first, second, shared = _shared_pairs(facts, num_entities, num_relations)
    turned, other = np.divmod(second, num_relations)
    # of two relations that share pairs the same way round, either may be the one that is told of
    both = turned == 0
    relations, others = np.concatenate([first, other[both]]), np.concatenate([other, first[both]])
    turned, shared = np.concatenate([turned, turned[both]]), np.concatenate([shared, shared[both]])
    # thousands of relations between few entities share in millions of ways: objects are made of the chosen ones alone
    shares = shared / sizes[relations]
    chosen = np.flatnonzero(shares >= threshold)
    columns = (column[chosen].tolist() for column in (relations, others, turned, shares, sizes[relations]))
    overlaps = [
        Overlap(relation, partner, _kind(relation, partner, inverse), share, pairs)
        for relation, partner, inverse, share, pairs in zip(*columns, strict=True)
    ]
    return sorted(overlaps, key=lambda found: (-found.pairs, found.relation, found.kind, found.other))


def _kind(relation: int, other: int, turned: int) -> Kind:
    if not turned:
        return "duplicate"
    return "symmetric" if relation == other else "inverse"


def _shared_pairs(facts: Triples, num_entities: int, num_relations: int) -> tuple[Column, Column, Column]:
    """r, s and how many pairs they share, with r < s; ids from num_relations on stand for relations turned round.

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
    codes, totals = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    waiting: list[tuple[Column, Column]] = [(codes, totals)]
    distance = 1
    while len(here):
        here = here[here + distance < len(pairs)]
        here = here[pairs[here] == pairs[here + distance]]
        waiting.append(np.unique(relations[here] * 2 * num_relations + relations[here + distance], return_counts=True))
        distance += 1
        # added up now and then, so that what waits is never much longer than the sums
        if not len(here) or sum(len(codes) for codes, _ in waiting) > AT_ONCE + 2 * len(waiting[0][0]):
            waiting = [_added_up(waiting)]
    codes, totals = waiting[0]
    return codes // (2 * num_relations), codes % (2 * num_relations), totals


def _added_up(counted: list[tuple[Column, Column]]) -> tuple[Column, Column]:
    codes, place = np.unique(np.concatenate([codes for codes, _ in counted]), return_inverse=True)
    weights = np.concatenate([counts for _, counts in counted])
    return codes, np.bincount(place, weights=weights, minlength=len(codes)).astype(np.int64)


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
