from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bique.algebra import decompose, right_matrix
from bique.analysis.geometry import QUANTITIES, RelationGeometry
from bique.analysis.patterns import RelationPattern
from bique.analysis.words import facts_in_words, in_short, movement, protocol_in_words, stands_out
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
    assert told.turn == "turns it by 90°, about a quarter turn"
    assert told.stretch == "stretches it by 1.00 one way and squeezes it by 1.00 another"
    assert told.null is None
    short = in_short(PATTERN, learned(turn))
    moved = (
        "the model shifts the head by {:.0%} of an entity's length, turns it by 90° and keeps all of its directions."
    )
    assert short.endswith(moved.format(learned(turn).translation))
    assert in_short(PATTERN, learned(turn), "of all 3 relations it turns the most").endswith(
        "directions. Of all 3 relations it turns the most."
    )


def test_a_relation_whose_biquaternions_are_all_null_has_dashes() -> None:
    null = torch.tensor([1, 1j, 0, 0], dtype=torch.complex128)[:, None]
    told = movement(learned(null))
    assert "–" in told.turn
    assert told.null == "1 of its 1 biquaternions have no decomposition (null)"
    assert in_short(PATTERN, learned(null)) == in_short(PATTERN, None)


def test_facts_are_told_with_the_figure_behind_each_word() -> None:
    *one_way, partner = facts_in_words(PATTERN)[1:]
    assert one_way[0] == "it goes one way: 2% of its facts hold the other way round, too"
    assert one_way[1].startswith("it leads on and does not come back: 3% of the pairs")
    assert partner.startswith("most like s⁻¹")
    assert "it goes both ways: 90%" in facts_in_words(replace(PATTERN, symmetry=0.9))[1]
    assert len(facts_in_words(replace(PATTERN, facts=0, partner=None))) == 1


def test_what_stands_out_is_the_most_or_the_least_of_all() -> None:
    q = torch.randn(4, 5, dtype=torch.complex128, generator=torch.Generator().manual_seed(1))
    three = [learned(q, translation) for translation in (0.1, 0.2, 0.3)]
    assert stands_out(three, 0) == "of all 3 relations it shifts the least"
    assert stands_out(three, 1) is None
    assert stands_out(three, 2) == "of all 3 relations it shifts the most"
    assert stands_out(three[:2], 0) is None


@pytest.mark.parametrize("ties", ["worst", "mean", "best"])
def test_a_protocol_in_words_says_filters_and_ties(ties: str) -> None:
    words = " ".join(protocol_in_words(Protocol("g", "0" * 64, "test", ("train", "valid"), ties, 0, "1")))  # type: ignore[arg-type]
    assert "facts of train, valid" in words
    assert f"ties {ties}" in words
