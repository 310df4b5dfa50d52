"""Facts as numbers: equal facts have equal numbers, whatever the size of the graph."""

from __future__ import annotations

import math

import numpy as np

from bique.graph.graph import Triples
from bique.shapes import Bool, Int


def number_facts(triples: Triples) -> tuple[Int[np.ndarray, "n"], int]:
    """For each triple its place among the distinct triples in the order of (head, relation, tail), and their count."""
    order, fresh = _sorted(triples)
    numbers = np.empty(len(triples), dtype=np.int64)
    numbers[order] = np.cumsum(fresh) - 1
    return numbers, int(fresh.sum())


def distinct_facts(triples: Triples) -> Triples:
    """Each fact once, in the order of (head, relation, tail)."""
    order, fresh = _sorted(triples)
    return triples[order[fresh]]


def _sorted(triples: Triples) -> tuple[Int[np.ndarray, "n"], Bool[np.ndarray, "n"]]:
    """The order of the triples, and which of them, in this order, are not equal to the one before."""
    order = lexical_order(triples[:, 0], triples[:, 1], triples[:, 2])
    ordered = triples[order]
    fresh = np.ones(len(triples), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, fresh


def lexical_order(*keys: Int[np.ndarray, "n"]) -> Int[np.ndarray, "n"]:
    """The order by the first key, then the second, and so on; keys are not negative, ties come in any order."""
    sizes = [int(key.max(initial=0)) + 1 for key in keys]
    if math.prod(sizes) >= 2**63:
        return np.lexsort(keys[::-1])
    # one number for all keys sorts many times faster than the keys one after the other
    packed = keys[0].astype(np.int64)
    for key, size in zip(keys[1:], sizes[1:], strict=True):
        packed = packed * size + key
    return np.argsort(packed)
