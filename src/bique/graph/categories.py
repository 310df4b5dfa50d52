"""Relation categories: how many tails a head has, and how many heads a tail has."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bique.shapes import Int

Category = Literal["1-1", "1-N", "N-1", "N-N"]
# the usual border between "one" and "many", as an average
MANY = 1.5


def relation_categories(triples: Int[np.ndarray, "n 3"], num_relations: int) -> list[Category]:
    """Per relation, by average tails per head and heads per tail over distinct facts; a relation without facts is 1-1."""
    facts = np.unique(triples, axis=0)
    count = np.bincount(facts[:, 1], minlength=num_relations)
    heads = np.bincount(np.unique(facts[:, :2], axis=0)[:, 1], minlength=num_relations)
    tails = np.bincount(np.unique(facts[:, 1:], axis=0)[:, 0], minlength=num_relations)
    many_tails = count >= MANY * np.maximum(heads, 1)
    many_heads = count >= MANY * np.maximum(tails, 1)
    names: dict[tuple[bool, bool], Category] = {
        (False, False): "1-1",
        (False, True): "1-N",
        (True, False): "N-1",
        (True, True): "N-N",
    }
    return [
        names[bool(heads_many), bool(tails_many)] for heads_many, tails_many in zip(many_heads, many_tails, strict=True)
    ]
