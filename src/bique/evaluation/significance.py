"""How sure a figure is: bootstrap over test triples.

A triple is drawn with both of its questions, because the two are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bique.shapes import Float

# resamples drawn at once: bounds the memory to CHUNK × triples numbers
CHUNK = 50
# triples below which resampling says little
FEW = 30


class Interval(NamedTuple):
    """The middle 95 % of what resampling gives."""

    low: float
    high: float


class PairedDifference(NamedTuple):
    """b − a on the same triples. `p_value`: how often resampling would turn the sign round, both sides."""

    difference: float
    interval: Interval
    p_value: float


def bootstrap(values: Float[np.ndarray, "triples"], resamples: int, seed: int = 0) -> Interval:
    """The interval of a mean."""
    means = np.concatenate([values[draw].mean(axis=1) for draw in _draws(len(values), resamples, seed)])
    return _middle(means)


def paired_bootstrap(
    a: Float[np.ndarray, "triples"], b: Float[np.ndarray, "triples"], resamples: int, seed: int = 0
) -> PairedDifference:
    difference = b - a
    means = np.concatenate([difference[draw].mean(axis=1) for draw in _draws(len(a), resamples, seed)])
    # one is added on both sides of the fraction: a bootstrap of n resamples cannot show a p below 1/(n + 1)
    below, above = np.sum(means <= 0) + 1, np.sum(means >= 0) + 1
    found = 2 * float(min(below, above)) / (resamples + 1)
    # nor can n triples that differ: were it chance, all of them would lean one way in 2 of 2ⁿ cases
    p_value = min(1.0, max(found, 2.0 ** (1 - min(np.count_nonzero(difference), 1000))))
    return PairedDifference(float(difference.mean()), _middle(means), p_value)


def caution(triples: int) -> str | None:
    """A sentence for figures of so few triples that their intervals are too narrow."""
    if triples >= FEW:
        return None
    return f"of {triples} fact{'s' if triples != 1 else ''} only: too few for an interval or a difference to say much"


def _draws(size: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.Generator(np.random.PCG64(seed))
    for start in range(0, resamples, CHUNK):
        yield generator.integers(0, size, (min(CHUNK, resamples - start), size))


def _middle(means: Float[np.ndarray, "resamples"]) -> Interval:
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(low), float(high))
