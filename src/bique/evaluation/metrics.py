"""Figures from ranks."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from bique.shapes import Float, Int

HITS = (1, 3, 10)
# the figures that are means over questions, so that a bootstrap can resample them
MEANS = ("mrr", *(f"hits_at_{k}" for k in HITS))


@dataclass(frozen=True)
class Metrics:
    """Mean reciprocal rank, mean rank, Hits@k, and the MRR adjusted for chance (0 = random order, 1 = perfect)."""

    mrr: float
    mr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    adjusted_mrr_index: float
    queries: int

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def summarise(ranks: Float[np.ndarray, "queries"], candidates: Int[np.ndarray, "queries"]) -> Metrics:
    mrr = float(np.mean(1 / ranks))
    chance = float(np.mean(expected_reciprocal_rank(candidates)))
    hits_at_1, hits_at_3, hits_at_10 = (float(np.mean(ranks <= k)) for k in HITS)
    # with a single candidate everywhere chance is perfect already
    index = (mrr - chance) / (1 - chance) if chance < 1 else 0.0
    return Metrics(mrr, float(np.mean(ranks)), hits_at_1, hits_at_3, hits_at_10, index, len(ranks))


def expected_reciprocal_rank(candidates: Int[np.ndarray, "queries"]) -> Float[np.ndarray, "queries"]:
    """E[1/rank] = H_n / n for a rank drawn evenly from 1…n, H_n the harmonic number."""
    largest = int(candidates.max(initial=1))
    harmonic = np.cumsum(1 / np.arange(1, largest + 1, dtype=np.float64))
    return harmonic[candidates - 1] / candidates
