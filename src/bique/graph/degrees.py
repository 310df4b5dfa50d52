"""Degrees in buckets that double: 0, 1, 2-3, 4-7, …"""

from __future__ import annotations

import numpy as np

from bique.shapes import Int


def degree_bucket(degrees: Int[np.ndarray, "entities"]) -> Int[np.ndarray, "entities"]:
    """The length of the degree in binary digits, which is frexp's exponent: 0 → 0, 1 → 1, 2 and 3 → 2."""
    return np.frexp(degrees)[1]


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """The least and the greatest degree of a bucket."""
    return (1 << bucket) >> 1, (1 << bucket) - 1
