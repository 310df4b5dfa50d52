"""Relation categories: how many tails a head has, and how many heads a tail has."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bique.graph.facts import distinct_facts
from bique.graph.graph import Triples
from bique.shapes import Float

Category = Literal["1-1", "1-N", "N-1", "N-N"]
CATEGORIES: tuple[Category, ...] = ("1-1", "1-N", "N-1", "N-N")
# the usual border between "one" and "many", as an average
MANY = 1.5


def relation_categories(triples: Triples, num_relations: int) -> list[Category]:
    """By average tails per head and heads per tail over distinct facts; a relation without facts is 1-1."""
    return categories_of(*relation_averages(triples, num_relations))


def categories_of(
    tails_per_head: Float[np.ndarray, "relations"], heads_per_tail: Float[np.ndarray, "relations"]
) -> list[Category]:
    places = 2 * (heads_per_tail >= MANY) + (tails_per_head >= MANY)
    return [CATEGORIES[place] for place in places.tolist()]


def relation_averages(
    triples: Triples, num_relations: int
) -> tuple[Float[np.ndarray, "relations"], Float[np.ndarray, "relations"]]:
    """Per relation, distinct tails per head and distinct heads per tail, on average; 0 for a relation without facts."""
    facts = distinct_facts(triples)
    count = np.bincount(facts[:, 1], minlength=num_relations)
    new_head = np.ones(len(facts), dtype=bool)
    new_head[1:] = (facts[1:, :2] != facts[:-1, :2]).any(axis=1)
    heads = np.bincount(facts[new_head, 1], minlength=num_relations)
    ends = np.sort(facts[:, 2].astype(np.int64) * num_relations + facts[:, 1])
    new_tail = np.ones(len(facts), dtype=bool)
    new_tail[1:] = ends[1:] != ends[:-1]
    tails = np.bincount(ends[new_tail] % max(num_relations, 1), minlength=num_relations)
    return count / np.maximum(heads, 1), count / np.maximum(tails, 1)
