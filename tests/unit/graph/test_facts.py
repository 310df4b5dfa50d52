"""Facts as numbers against sorted lists of tuples."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bique.graph.facts import distinct_facts, number_facts

# small ids repeat; large ones do not fit into one number of 63 bits together
ids = st.integers(0, 3) | st.integers(2**31 - 4, 2**31 - 1)
facts = st.lists(st.tuples(ids, ids, ids), max_size=30)


@given(facts)
def test_a_number_is_the_rank_of_a_distinct_fact(rows):
    numbers, count = number_facts(np.array(rows, dtype=np.int32).reshape(-1, 3))
    distinct = sorted(set(rows))
    assert count == len(distinct)
    assert [distinct[number] for number in numbers] == rows


@given(facts)
def test_distinct_facts_are_a_sorted_set(rows):
    found = distinct_facts(np.array(rows, dtype=np.int32).reshape(-1, 3))
    assert [tuple(row) for row in found.tolist()] == sorted(set(rows))
