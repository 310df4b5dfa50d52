"""Names to ids: exact whatever the hashes, ranks whatever the blocks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bique.graph.readers.encoding import Encoder, encode, number_by_hash

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.lists(text, max_size=30), st.integers(0, 64))
def test_numbers_of_names_do_not_depend_on_the_hash(names, bits):
    """From no hash at all to a full one."""
    series = pl.Series("name", names, dtype=pl.String)
    hashes = np.array([hash(name) % 2**64 for name in names], dtype=np.uint64)
    codes, distinct = number_by_hash(series, hashes & np.uint64(2**bits - 1))
    assert distinct.gather(codes).to_list() == names
    assert len(set(distinct.to_list())) == len(distinct) == len(set(names))


@given(st.lists(st.lists(st.tuples(text, text, text), min_size=1, max_size=8), max_size=6), st.integers(0, 10))
def test_ids_are_ranks_whenever_blocks_are_settled(blocks, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bique.graph.readers.encoding.NAMES_AT_ONCE", limit + 1)
        encoder = Encoder()
        for block in blocks:
            encoder.add(encode(pl.DataFrame(block, schema=["head", "relation", "tail"], orient="row")))
        combined = encoder.finish()
    entities = sorted({name for block in blocks for h, _, t in block for name in (h, t)}, key=str.encode)
    relations = sorted({r for block in blocks for _, r, _ in block}, key=str.encode)
    assert list(combined.entities) == entities
    assert list(combined.relations) == relations
    found = [[(entities[h], relations[r], entities[t]) for h, r, t in block.tolist()] for block in combined.triples]
    assert found == blocks
