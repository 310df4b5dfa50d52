"""Names and ids against a sorted list of Python strings."""

from __future__ import annotations

import difflib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bique.errors import UserError
from bique.graph import Vocabulary, nearest

names = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), max_size=20)


@given(names)
@example(["\ue000", "\U0001f600", "z", "Z", "é"])
def test_an_id_is_the_rank_in_the_order_of_utf8_bytes(given_names):
    vocabulary = Vocabulary.from_names(given_names)
    expected = sorted(set(given_names), key=lambda name: name.encode("utf-8"))
    assert list(vocabulary) == expected
    assert vocabulary[:] == expected
    assert vocabulary[1:5] == expected[1:5]
    assert [vocabulary.index(name) for name in expected] == list(range(len(expected)))


@given(names, st.text(max_size=8))
def test_find_is_exact(given_names, wanted):
    """Lone surrogates, which are no UTF-8, are simply not there."""
    vocabulary = Vocabulary.from_names(given_names)
    expected = sorted(set(given_names), key=str.encode)
    for name in [wanted, *expected, *(name[:-1] for name in expected), *(name + "x" for name in expected)]:
        assert vocabulary.find(name) == (expected.index(name) if name in expected else None)
        assert (name in vocabulary) == (name in expected)


@given(names)
def test_a_saved_vocabulary_opens_the_same(tmp_path_factory, given_names):
    directory = tmp_path_factory.mktemp("names")
    vocabulary = Vocabulary.from_names(given_names)
    vocabulary.save(directory, "entities")
    opened = Vocabulary.open(directory, "entities")
    assert list(opened) == list(vocabulary)
    assert list(opened.digest_parts()) == list(vocabulary.digest_parts())


def test_places_are_counted_from_both_ends():
    vocabulary = Vocabulary.from_names("abc")
    assert (vocabulary[-1], vocabulary[-3]) == ("c", "a")
    for place in (3, -4):
        with pytest.raises(IndexError):
            vocabulary[place]
    with pytest.raises(ValueError, match="not in the vocabulary"):
        vocabulary.index("d")


@pytest.mark.parametrize("damage", ["cut", "longer", "offsets", "none"])
def test_damaged_files_are_told(tmp_path, damage):
    Vocabulary.from_names(["one", "two"]).save(tmp_path, "entities")
    text, offsets = tmp_path / "entities.utf8", tmp_path / "entities.offsets.npy"
    if damage == "none":
        text.unlink()
    elif damage == "offsets":
        np.save(offsets, np.array([0, 4, 3, 6], dtype=np.int64))
    else:
        text.write_bytes(text.read_bytes()[:-1] if damage == "cut" else b"x" + text.read_bytes())
    with pytest.raises(UserError, match="make it again"):
        Vocabulary.open(tmp_path, "entities")


def _nearest(vocabulary, name):
    return [vocabulary[place] for _, place in vocabulary.nearest(name)]


def test_the_nearest_names_are_the_misspelt_ones():
    vocabulary = Vocabulary.from_names(["Berlin", "Bern", "Paris", "Bergen", "Lima"])
    assert _nearest(vocabulary, "Berlinn")[0] == "Berlin"
    assert _nearest(vocabulary, "PARIS")[0] == "Paris"
    assert _nearest(vocabulary, "qqqq") == []


def test_a_likeness_is_that_of_difflib_and_falls():
    found = Vocabulary.from_names(["Berlin", "Bern", "Bergen"]).nearest("berlinn")
    assert found[0] == (difflib.SequenceMatcher(a="berlin", b="berlinn").ratio(), 1)
    assert [likeness for likeness, _ in found] == sorted((likeness for likeness, _ in found), reverse=True)


@pytest.mark.parametrize(
    "name", ["name 07x31", "NAME 0731", "nme 0731", "é 12", "é", "07", "\ud800x", "", "x" * 10_000]
)
def test_among_many_names_the_nearest_are_those_of_comparing_each(name, monkeypatch):
    names = [f"name {i:04d}" for i in range(3000)] + ["é 12", "é", "07", "x" * 10_000]
    vocabulary = Vocabulary.from_names(names)
    # blocks that end within the names, so that no piece may reach across
    monkeypatch.setattr(nearest, "TEXTS_AT_ONCE", 700)
    quick = vocabulary.nearest(name, 1)
    monkeypatch.setattr(nearest, "PROMISING", len(names))
    exact = vocabulary.nearest(name, 1)
    assert [likeness for likeness, _ in quick] == [likeness for likeness, _ in exact]


def test_pieces_that_reach_across_two_names_do_not_count(monkeypatch):
    monkeypatch.setattr(nearest, "PROMISING", 2)
    names = ["xxab", "cyyy", "zzzz", "zzzy", "zabc"]
    text, offsets = "".join(names).encode(), np.arange(0, 21, 4)
    assert nearest.promising(text, offsets, "abc") == [4]
