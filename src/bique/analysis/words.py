"""What a relation does, in words: one wording for the command line and for the report.

For whoever has never heard of biquaternions; figures go with every word, so that nobody has to believe one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bique.analysis.geometry import RelationGeometry, learned_compositions
from bique.analysis.patterns import RelationPattern
from bique.evaluation import Protocol
from bique.graph import Graph
from bique.models import BiQUE

# directions that end up so much shorter than the others count for nothing in a score
ERASED = 0.1
# the middle half of the blocks' turns may differ by so many degrees and still be told by one angle
ALIKE = 30.0
# a product that is so near to, or so far from, the third movement
LEARNED, UNLEARNED = 0.3, 0.7
# a gain that is worth a word; tails that are near their heads without any movement: hardly ever, or mostly
GAIN, FAR, NEAR = 0.05, 0.1, 0.5
# questions, or ways of a composition, that tell little
FEW = 20
CATEGORIES = {
    "1-1": "a head has about one tail, a tail about one head",
    "1-N": "a head often has several tails, a tail about one head",
    "N-1": "a head has about one tail, a tail often several heads",
    "N-N": "a head often has several tails, a tail several heads",
}
TIES = {
    "worst": "an answer that scores the same as others stands behind them",
    "mean": "an answer that scores the same as others stands in their middle",
    "best": "an answer that scores the same as others stands before them",
}


class Movement(NamedTuple):
    """What a relation does to a head, by the medians over its biquaternions; – where none has a decomposition."""

    shift: str
    turn: str
    stretch: str
    scale: str
    phase: str
    """‖q‖ is a complex number: its argument turns, too, each number's real into its imaginary part."""
    together: str
    """Stretch and scale at once: a hyperbolic rotation stretches half of a biquaternion's eight directions by e^φ and
    squeezes the other half by e^−φ, and circular turns change no length."""
    null: str | None
    """Said only where some biquaternions have no decomposition."""


def facts_in_words(pattern: RelationPattern) -> list[str]:
    """How a relation stands in the training facts: how many, one or many, one way or both, circles or not."""
    lines = [f"{pattern.facts:,} training facts, {pattern.category}: {CATEGORIES[pattern.category]}"]
    if pattern.facts:
        lines += [
            f"{_ways(pattern.symmetry)}: {pattern.symmetry:.0%} of its facts hold the other way round, too",
            f"{_circles(pattern.hierarchy)}: of the pairs with a way of one or more of its facts from the first to the "
            f"second, {1 - pattern.hierarchy:.0%} have one back, too",
        ]
    if pattern.partner:
        lines.append(f"most like {pattern.partner}, with which it shares half of its pairs or more")
    return lines


def _ways(symmetry: float) -> str:
    if symmetry >= 0.8:
        return "it goes both ways"
    return "it goes one way" if symmetry <= 0.05 else "it goes both ways for some pairs"


def _circles(hierarchy: float) -> str:
    if hierarchy >= 0.95:
        return "it leads on and does not come back"
    return "it comes back to where it began" if hierarchy <= 0.5 else "it comes back now and then"


def movement(found: RelationGeometry) -> Movement:
    boost = found.median("rapidity")
    null = f"{found.null} of its {found.units} biquaternions have no decomposition (null)" if found.null else None
    return Movement(
        f"shifts it by {found.translation:.0%} of an entity's length",
        _turn(found),
        f"stretches it by {_number(np.exp(boost))} one way and squeezes it by {_number(np.exp(-boost))} another",
        f"scales it by {_number(found.median('modulus'))}",
        f"turns real into imaginary parts by {_number(_phase(found), 0)}° (either way)",
        _together(found),
        null,
    )


def _turn(found: RelationGeometry) -> str:
    """The middle block's, and how far the others are from it: one angle may be the turn of hardly any."""
    if not len(found.angle):
        return "turns its blocks by –"
    low, middle, high = np.degrees(np.quantile(found.angle, (0.25, 0.5, 0.75)))
    return f"turns its blocks by {middle:.0f}°{_of_a_turn(middle)} (half of them by {low:.0f} to {high:.0f}°)"


def _phase(found: RelationGeometry) -> float:
    """The median of its size, in degrees: both signs are as frequent, and would cancel."""
    return float(np.degrees(np.median(np.abs(found.phase)))) if len(found.phase) else float("nan")


def _together(found: RelationGeometry) -> str:
    if not len(found.modulus):
        return "stretch and scale together: –"
    long, short = found.lengths
    line = f"stretch and scale together: half of its directions become {long:.2g} times as long, the others"
    return (
        f"{line} {short:.2g} times, which all but erases them"
        if short <= ERASED * long
        else f"{line} {short:.2g} times"
    )


def _number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def _of_a_turn(degrees: float) -> str:
    """A word for the angles that have one."""
    for angle, word in ((0, "hardly at all"), (90, "about a quarter turn"), (180, "about a half turn")):
        if abs(degrees - angle) <= 10:
            return f", {word}"
    return ""


def in_short(patterns: list[RelationPattern], learned: list[RelationGeometry] | None, place: int) -> str:
    """A sentence about the facts of the relation at `place`, and one about its movement: what sets it apart from the
    others', if something was learned."""
    pattern = patterns[place]
    if not pattern.facts:
        return "Training has no fact of it, so nothing could be learned."
    line = f"In the facts {CATEGORIES[pattern.category]}; {_ways(pattern.symmetry)}."
    if learned is None or not len(learned[place].modulus):
        return line
    # one without a fact moves at random, and is no measure for the others
    others = [one for one, facts in zip(learned, patterns, strict=True) if facts.facts]
    found = learned[place]
    far = f"by {found.translation:.0%} of an entity's length{_beside(others, found, 'translation')}"
    moved = f"To get from a head to its tails the model shifts the head {far} and {_turns(others, found)}"
    kept = [erases(one) for one in others]
    if all(kept) or not any(kept):  # told once, of all of them
        return f"{line} {moved}."
    half = "all but erases half of its directions" if erases(found) else "keeps all of its directions"
    return f"{line} {moved}; it {half}."


def gained(before: tuple[float, float], after: tuple[float, float]) -> str:
    """What a movement is good for, by the shares of right tails that are first and among the first ten."""
    gains = [now - then for now, then in zip(after, before, strict=True)]
    if min(gains) <= -GAIN:
        return f"so the movement {'does harm' if max(gains) < GAIN else 'helps with some and harms with others'}"
    if max(gains) < GAIN:
        return "so the movement gains next to nothing"
    if before[1] < FAR:
        return "so it is the movement that finds them: tails seldom lie near their heads"
    if before[1] > NEAR:
        return "so tails lie near their heads to begin with, and the movement picks the right one"
    return "so the movement helps"


def erases(found: RelationGeometry) -> bool:
    """Whether half of the directions end up so short that they count for nothing."""
    if 2 * found.null > found.units:  # a null one erases half of its directions
        return True
    if not len(found.modulus):
        return False
    long, short = found.lengths
    return short <= ERASED * long


def _turns(others: list[RelationGeometry], found: RelationGeometry) -> str:
    """One angle where the blocks turn alike; where they do not, it would be the turn of hardly any."""
    low, middle, high = np.degrees(np.quantile(found.angle, (0.25, 0.5, 0.75)))
    beside = _beside(others, found, "angle")
    if high - low <= ALIKE:
        return f"turns its blocks alike, by about {middle:.0f}°{beside}"
    return f"turns its blocks by {middle:.0f}°{beside}, each in its own way: half of them by {low:.0f} to {high:.0f}°"


def _beside(others: list[RelationGeometry], found: RelationGeometry, quantity: str) -> str:
    """How much that is among the relations: a figure means little to whoever has not seen the others."""
    mine, *values = (one.translation if quantity == "translation" else one.median(quantity) for one in (found, *others))
    if len(values) < 3 or not np.isfinite(values).all():
        return ""
    less, more = sum(value < mine for value in values), sum(value > mine for value in values)
    rest = len(values) - 1
    if less == rest:
        return f" (the most of all {len(values)} relations)"
    if more == rest:
        return f" (the least of all {len(values)} relations)"
    if 3 * less >= 2 * rest:
        return " (more than most)"
    return " (less than most)" if 3 * more >= 2 * rest else ""


def compositions(model: BiQUE, graph: Graph, least: int = 1) -> dict[int, list[str]]:
    """Relation → the pairs of relations that lead where it leads, and how far their learned product is from it.

    Those of fewer than `least` ways are left out.
    """
    lines: dict[int, list[str]] = {}
    for one in learned_compositions(model, graph):
        if one.paths < least:
            continue
        # in quotes: a name may be a sentence itself
        path = f"“{one.first}” then “{one.second}” ends at a tail of “{one.relation}” in {one.share:.0%}"
        often = f"of {one.paths:,} ways (those that lead back are left out)"
        away = f"from the two learned movements together to that of “{one.relation}” it is {one.product_distance:.2f}"
        line = f"{path} {often}; {away}, where 0 is the same and 1 unrelated{_verdict(one.product_distance)}"
        lines.setdefault(graph.relations.index(one.relation), []).append(line)
    return lines


def _verdict(distance: float) -> str:
    if distance <= LEARNED:
        return ": the model has learned it"
    return ": the facts do this, the model has not learned it so" if distance >= UNLEARNED else ""


def protocol_in_words(protocol: Protocol) -> list[str]:
    """How a figure was made, for whoever has never ranked anything."""
    filters = ", ".join(protocol.filtered_by) or "nothing"
    return [
        f"each fact of the {protocol.split} split asks two questions: (head, relation, ?) and (?, relation, tail)",
        f"the model scores {protocol.candidates} as answers, best first; the rank is the place of the right one",
        f"other answers that are known to be true (facts of {filters}) are taken out before counting",
        f"ties {protocol.ties}: {TIES[protocol.ties]}",
        f"facts with an entity that training never showed are {protocol.unseen_entities}",
    ]
