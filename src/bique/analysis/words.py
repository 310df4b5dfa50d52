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
            f"{_circles(pattern.hierarchy)}: {1 - pattern.hierarchy:.0%} of the pairs that it connects lie on a circle",
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
    turn, boost = np.degrees(found.median("angle")), found.median("rapidity")
    null = f"{found.null} of its {found.units} biquaternions have no decomposition (null)" if found.null else None
    return Movement(
        f"shifts it by {found.translation:.2f} of an entity's length",
        f"turns it by {_number(turn, 0)}°{_of_a_turn(turn)}",
        f"stretches it by {_number(np.exp(boost))} one way and squeezes it by {_number(np.exp(-boost))} another",
        f"scales it by {_number(found.median('modulus'))}",
        f"turns real into imaginary parts by {_number(_phase(found), 0)}° (either way)",
        _together(found),
        null,
    )


def _phase(found: RelationGeometry) -> float:
    """The median of its size, in degrees: both signs are as frequent, and would cancel."""
    return float(np.degrees(np.median(np.abs(found.phase)))) if len(found.phase) else float("nan")


def _together(found: RelationGeometry) -> str:
    if not len(found.modulus):
        return "stretch and scale together: –"
    long, short = _lengths(found)
    line = f"stretch and scale together: half of its directions become {long:.2g} times as long, the others"
    return (
        f"{line} {short:.2g} times, which all but erases them"
        if short <= ERASED * long
        else f"{line} {short:.2g} times"
    )


def _lengths(found: RelationGeometry) -> tuple[float, float]:
    """By how much the stretched half of the directions and the squeezed half change, the scaling with it; medians."""
    long, short = (float(np.median(found.modulus * np.exp(sign * found.rapidity))) for sign in (1, -1))
    return long, short


def _number(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"


def _of_a_turn(degrees: float) -> str:
    """A word for the angles that have one."""
    for angle, word in ((0, "hardly at all"), (90, "about a quarter turn"), (180, "about a half turn")):
        if abs(degrees - angle) <= 10:
            return f", {word}"
    return ""


def in_short(pattern: RelationPattern, found: RelationGeometry | None, outstanding: str | None = None) -> str:
    """A sentence about the facts, one about the movement if something was learned, and what makes it stand out."""
    line = f"In the facts {CATEGORIES[pattern.category]}; {_ways(pattern.symmetry)}."
    if found is None or not len(found.modulus):
        return line
    far = f"by {found.translation:.0%} of an entity's length"
    turn = f"turns it by {_number(np.degrees(found.median('angle')), 0)}°"
    long, short = _lengths(found)
    erased = short <= ERASED * long or 2 * found.null > found.units  # a null one erases half of its directions
    kept = "keeps half of its directions and all but erases the others" if erased else "keeps all of its directions"
    line = f"{line} To get from a head to its tails the model shifts the head {far}, {turn} and {kept}."
    return f"{line} {outstanding[0].upper()}{outstanding[1:]}." if outstanding else line


def stands_out(learned: list[RelationGeometry], place: int) -> str | None:
    """In what a relation is the first or the last of all: figures mean little to whoever has not seen the others."""
    if len(learned) < 3:
        return None
    ways = (("shifts", "translation"), ("turns", "angle"), ("stretches", "rapidity"))
    said: list[str] = []
    for verb, quantity in ways:
        values = [one.translation if quantity == "translation" else one.median(quantity) for one in learned]
        if not np.isfinite(values).all() or min(values) == max(values):
            continue
        if values[place] == max(values):
            said.append(f"{verb} the most")
        elif values[place] == min(values):
            said.append(f"{verb} the least")
    return f"of all {len(learned)} relations it {' and '.join(said)}" if said else None


def compositions(model: BiQUE, graph: Graph) -> dict[int, list[str]]:
    """Relation → the pairs of relations that lead where it leads, and how far their learned product is from it."""
    lines: dict[int, list[str]] = {}
    for one in learned_compositions(model, graph):
        # in quotes: a name may be a sentence itself
        path = f"“{one.first}” then “{one.second}” ends at a tail of “{one.relation}” in {one.share:.0%}"
        often = f"of {one.paths:,} ways (those that lead back are left out)"
        away = f"the two learned movements together are {one.product_distance:.2f} away from its own"
        line = f"{path} {often}; {away} (0: the same, 1: unrelated)"
        lines.setdefault(graph.relations.index(one.relation), []).append(line)
    return lines


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
