"""Facts as numbers: equal facts have equal numbers, whatever the size of the graph."""

from __future__ import annotations

import numpy as np

from bique.graph.graph import Triples
from bique.shapes import Int


def number_facts(triples: Triples) -> tuple[Int[np.ndarray, "n"], int]:
    """For each triple its place among the distinct triples in the order of (head, relation, tail), and their count."""
    order = np.lexsort((triples[:, 2], triples[:, 1], triples[:, 0]))
    ordered = triples[order]
    fresh = np.ones(len(triples), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    numbers = np.empty(len(triples), dtype=np.int64)
    numbers[order] = np.cumsum(fresh) - 1
    return numbers, int(fresh.sum())
