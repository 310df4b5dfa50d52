from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bique.algebra import decompose, right_matrix
from bique.analysis.geometry import QUANTITIES, RelationGeometry
from bique.analysis.patterns import RelationPattern
from bique.analysis.words import facts_in_words, gained, in_short, movement, protocol_in_words
from bique.evaluation import Protocol

PATTERN = RelationPattern("r", 1200, "N-1", 0.02, 0.97, 0.9, "s⁻¹")


def learned(q: torch.Tensor, translation: float = 0.3) -> RelationGeometry:
    """What a relation with these biquaternions would be told to have learned."""
    parts = decompose(q, null="mask")
    values = {name: getattr(parts, name)[parts.exists].numpy() for name in QUANTITIES}
    null = int((~parts.exists).sum())
    return RelationGeometry("r", q.shape[-1], null, null, translation=translation, **values)


def test_half_of_the_directions_grow_by_what_is_told_and_half_shrink() -> None:
    """The singular values of the matrix of q are |‖q‖|·e^φ and |‖q‖|·e^−φ, half of them each."""
    q = torch.randn(4, 1, dtype=torch.complex128, generator=torch.Generator().manual_seed(0))
    sizes = torch.linalg.svdvals(right_matrix(q))[0]
    found = learned(q)
    long, short = (float(found.modulus[0] * np.exp(sign * found.rapidity[0])) for sign in (1, -1))
    torch.testing.assert_close(sizes, torch.tensor([long, long, short, short], dtype=sizes.dtype))
    told = movement(found).together
    assert f"half of its directions become {long:.2g} times as long, the others {short:.2g}" in told
    assert ("erases" in told) == (short <= 0.1 * long)


def test_a_quaternion_turns_and_stretches_nothing() -> None:
    turn = torch.tensor([np.cos(np.pi / 2), np.sin(np.pi / 2), 0, 0], dtype=torch.complex128)[:, None]
    told = movement(learned(turn))
    assert told.turn == "turns its blocks by 90°, about a quarter turn (half of them by 90 to 90°)"
    assert told.stretch == "stretches it by 1.00 one way and squeezes it by 1.00 another"
    assert told.null is None
    assert short(learned(turn)).endswith(
        "the model shifts the head by 30% of an entity's length and turns its blocks alike, by about 90°."
    )


def test_a_relation_whose_biquaternions_are_all_null_has_dashes() -> None:
    null = torch.tensor([1, 1j, 0, 0], dtype=torch.complex128)[:, None]
    told = movement(learned(null))
    assert "–" in told.turn
    assert told.null == "1 of its 1 biquaternions have no decomposition (null)"
    assert short(learned(null)) == in_short([PATTERN], None, 0)


def test_facts_are_told_with_the_figure_behind_each_word() -> None:
    *one_way, partner = facts_in_words(PATTERN)[1:]
    assert one_way[0] == "it goes one way: 2% of its facts hold the other way round, too"
    assert one_way[1].startswith("it leads on and does not come back: of the pairs")
    assert one_way[1].endswith("3% have one back, too")
    assert partner.startswith("most like s⁻¹")
    assert "it goes both ways: 90%" in facts_in_words(replace(PATTERN, symmetry=0.9))[1]
    assert len(facts_in_words(replace(PATTERN, facts=0, partner=None))) == 1


def short(*all_of_them: RelationGeometry) -> str:
    """Of the first."""
    return in_short([PATTERN] * len(all_of_them), list(all_of_them), 0)


def turned(*degrees: float, translation: float = 0.3) -> RelationGeometry:
    angles = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    nothing = torch.zeros_like(angles)
    return learned(torch.stack((angles.cos(), angles.sin(), nothing, nothing)).to(torch.complex128), translation)


def test_a_movement_is_told_beside_those_of_the_other_relations() -> None:
    all_of_them = [turned(40 + place, translation=place / 10) for place in range(1, 7)]
    told = [in_short([PATTERN] * 6, all_of_them, place) for place in range(6)]
    assert "by 10% of an entity's length (the least of all 6 relations) and" in told[0]
    assert told[5].endswith(" (the most of all 6 relations).")
    assert ["more than most" in one for one in told] == [False] * 4 + [True, False]
    assert ["less than most" in one for one in told] == [False, True] + [False] * 4
    assert "of all" not in short(*all_of_them[:2])
    # what has no fact was not learned
    new = replace(PATTERN, facts=0)
    assert "the most of all 5" in in_short([PATTERN] * 5 + [new], all_of_them, 4)
    assert in_short([PATTERN] * 5 + [new], all_of_them, 5) == "Training has no fact of it, so nothing could be learned."


def test_one_angle_is_told_only_where_the_blocks_turn_alike() -> None:
    assert "alike, by about 50°" in short(turned(40, 50, 60))
    assert "by 90°, each in its own way: half of them by 45 to 125°" in short(turned(0, 90, 160))
    assert "half of them by 45 to 125°" in movement(turned(0, 90, 160)).turn


def test_what_all_relations_erase_is_not_told_of_each() -> None:
    h = torch.tensor([np.cosh(2.0), 1j * np.sinh(2.0), 0, 0], dtype=torch.complex128)[:, None]
    keeps, erases = turned(90), learned(h)
    null = learned(torch.tensor([1, 1j, 0, 0], dtype=torch.complex128)[:, None])
    assert "directions" not in short(keeps, keeps)
    assert "directions" not in short(erases, erases)
    assert "directions" not in short(erases, null)
    assert short(keeps, erases).endswith("keeps all of its directions.")
    assert short(erases, keeps).endswith("all but erases half of its directions.")


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ((0.2, 0.8), (0.2, 0.8), "next to nothing"),
        ((0.4, 0.8), (0.2, 0.8), "does harm"),
        ((0.0, 0.9), (0.1, 0.3), "harms with others"),
        ((0.0, 0.0), (0.6, 0.9), "seldom lie near"),
        ((0.4, 1.0), (0.9, 1.0), "picks the right one"),
        ((0.0, 0.2), (0.1, 0.4), "the movement helps"),
    ],
)
def test_what_a_movement_gains_has_a_word(before: tuple[float, float], after: tuple[float, float], word: str) -> None:
    assert word in gained(before, after)


@pytest.mark.parametrize("ties", ["worst", "mean", "best"])
def test_a_protocol_in_words_says_filters_and_ties(ties: str) -> None:
    words = " ".join(protocol_in_words(Protocol("g", "0" * 64, "test", ("train", "valid"), ties, 0, "1")))  # type: ignore[arg-type]
    assert "facts of train, valid" in words
    assert f"ties {ties}" in words
