"""Facts as numbers: equal facts have equal numbers, whatever the size of the graph."""

from __future__ import annotations

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
    order = np.lexsort((triples[:, 2], triples[:, 1], triples[:, 0]))
    fresh = np.ones(len(triples), dtype=bool)
    fresh[1:] = (triples[order[1:]] != triples[order[:-1]]).any(axis=1)
    return order, fresh
