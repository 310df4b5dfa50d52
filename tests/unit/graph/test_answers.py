"""Answers against a dictionary of sets."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bique.graph import Answers

ENTITIES, RELATIONS = 5, 3
facts = st.lists(st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)))
queries = st.lists(st.tuples(st.integers(0, ENTITIES), st.integers(0, RELATIONS - 1)))


def _answers(rows):
    return Answers.from_triples(np.array(rows, dtype=np.int32).reshape(-1, 3), RELATIONS)


def _by_query(rows):
    known = defaultdict(set)
    for head, relation, tail in rows:
        known[head, relation].add(tail)
    return known


@given(facts)
def test_answers_are_the_distinct_tails_of_a_query(rows):
    answers, known = _answers(rows), _by_query(rows)
    for head in range(ENTITIES + 1):
        for relation in range(RELATIONS):
            assert answers.of(head, relation).tolist() == sorted(known[head, relation])


@given(facts, queries)
def test_a_block_of_queries_is_its_queries_one_by_one(rows, asked):
    answers = _answers(rows)
    heads, relations = np.array(asked, dtype=np.int32).reshape(-1, 2).T
    place, tails = answers.gather(heads, relations)
    expected = [(i, tail) for i, query in enumerate(asked) for tail in answers.of(*query).tolist()]
    assert list(zip(place.tolist(), tails.tolist(), strict=True)) == expected


@given(facts)
def test_answers_do_not_depend_on_order_or_repetition(rows):
    once, again = _answers(rows), _answers(rows[::-1] + rows)
    assert once.keys.tolist() == again.keys.tolist()
    assert once.starts.tolist() == again.starts.tolist()
    assert once.tails.tolist() == again.tails.tolist()


def test_keys_of_a_large_graph_do_not_overflow():
    last = 2**31 - 2
    answers = Answers.from_triples(np.array([[last, 1000, last], [0, 0, 1]], dtype=np.int32), 2000)
    assert answers.of(last, 1000).tolist() == [last]
