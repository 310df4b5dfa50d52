"""The table of relations, which sorts by any column, and the pictures beside it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np

from bique.analysis.geometry import RelationGeometry, rapidity_range
from bique.analysis.patterns import RelationPattern, rank_correlation, relation_patterns
from bique.analysis.report.blocks import blocks
from bique.analysis.report.gather import Told, alike
from bique.analysis.report.histograms import histogram
from bique.analysis.report.html import Content, Markup, cell, element, joined, name, number, table
from bique.analysis.report.pictures import picture
from bique.analysis.words import erases
from bique.evaluation import Metrics

# panels of the picture of angles: a panel has a dot per biquaternion, and a page has a size
MOST_PANELS = 12
LEGEND = (
    "Facts: in train. Category: how many tails a head has, and heads a tail. MRR, Hits@1 and Hits@10: of the test "
    "questions of this relation, – where there is none. Hierarchy: share of connected pairs that are not in a cycle. "
    "Symmetry: share of facts that hold the other way round, too."
)
LEARNED = (
    " Turn θ (degrees), stretch (e^φ times), scale: medians over the blocks, with the histograms of θ from 0 to 180° "
    "and of φ from 0 to {high}. Shift: beside the length of an entity."
)


def relations(told: list[Told], progress: Callable[[int, int], None]) -> Markup:
    """`progress` is told how many of all relations, those of every run, have their block."""
    patterns = relation_patterns(told[0].graph)
    numbers = count(1)

    def one_more() -> None:
        progress(next(numbers), len(told) * len(patterns))

    parts: list[Content] = [_bars(group) for group in alike(told) if len(group) > 1]
    for place, one in enumerate(told):
        if len(told) > 1:
            parts.append(element("h3", name(one.label)))
        parts += [_meaning(one, len(patterns), place), _table(one, patterns, place), _geometry(one, patterns)]
        parts.append(blocks(one, patterns, place, one_more))
    return joined(parts)


def _bars(group: list[Told]) -> Markup | None:
    from bique.analysis.plots import relation_bars

    values = {one.label: {relation: found.mrr for relation, found in one.by["relation"].items()} for one in group}
    words = "MRR of each relation on the test split, runs that were measured alike side by side."
    return picture(lambda: relation_bars(values, "mrr"), words, words)


def _table(one: Told, patterns: list[RelationPattern], place: int) -> Markup:
    """Ordered by facts, the most frequent first, until somebody presses a heading."""
    order = np.argsort([-pattern.facts for pattern in patterns], kind="stable").tolist()
    headings = ["relation", "facts", "category", "MRR", "Hits@1", "Hits@10", "hierarchy", "symmetry"]
    learned, legend, high = one.learned, LEGEND, 1
    if learned is not None:
        headings += ["turn (°)", "stretch (times)", "scale (times)", "shift (%)"]
        high = rapidity_range(learned)
        legend += LEARNED.format(high=high)
    rows = []
    for relation in order:
        pattern = patterns[relation]
        link = element("a", name(pattern.relation), href=f"#run-{place}-relation-{relation}")
        cells = [
            element("th", link, scope="row", data_value=pattern.relation),
            cell(pattern.facts),
            element("td", pattern.category, data_value=pattern.category),
            *_figures(one.by.get("relation", {}).get(pattern.relation)),
            cell(pattern.hierarchy, 2),
            cell(pattern.symmetry, 2),
        ]
        rows.append(cells + (_movement(learned[relation], high) if learned is not None else []))
    title = f"The {len(patterns)} relations"
    found = table(title, [_sorter(heading, headings[1]) for heading in headings], rows, "figures sortable")
    return joined(found, element("p", legend, class_="small"))


def _sorter(heading: str, first: str) -> Markup:
    """A heading that a click or the keyboard sorts by; `first` is what the table is sorted by as it comes."""
    button = element("button", heading, type="button")
    return element("th", button, scope="col", aria_sort="descending" if heading == first else "none")


def _figures(found: Metrics | None) -> list[Markup]:
    return [cell(getattr(found, key) if found else None) for key in ("mrr", "hits_at_1", "hits_at_10")]


def _movement(found: RelationGeometry, high: int) -> list[Markup]:
    degrees = float(np.degrees(found.median("angle")))
    return [
        cell(degrees, 0, histogram(found.angle, 0.0, np.pi)),
        cell(float(np.exp(found.median("rapidity"))), 1, histogram(found.rapidity, 0.0, float(high))),
        cell(found.median("modulus"), 2),
        cell(100 * found.translation, 0),
    ]


def _geometry(one: Told, patterns: list[RelationPattern]) -> Markup | None:
    """The picture of all relations, and the question whether hierarchies stretch more."""
    if one.learned is None:
        return None
    forward = one.learned[: len(patterns)]
    rho, low, high = rank_correlation(
        [pattern.hierarchy for pattern in patterns], [found.median("rapidity") for found in forward]
    )
    found = (
        f"Rank correlation {number(rho, 2)} [{number(low, 2)} {number(high, 2)}] over {len(patterns)} relations; an "
        "interval that holds 0 may be chance."
    )
    told = found if np.isfinite((rho, low, high)).all() else "Relations that are all alike in it cannot tell."
    answer = f"Do relations that build a hierarchy stretch more? {told}"
    often = np.argsort([-pattern.facts for pattern in patterns], kind="stable")[:MOST_PANELS].tolist()
    drawn = _angles([forward[i] for i in sorted(often)], len(patterns))
    heading = element("summary", "All turns and stretches in one picture, and whether hierarchies stretch more")
    return element("details", heading, drawn, element("p", answer))


def _meaning(one: Told, count: int, place: int) -> Markup:
    """The four movements, once, before anybody meets a figure of them; other models have nothing of the kind."""
    if one.learned is None:
        why = f"this run is of {one.model_name}" if one.model is not None else "this run has no model yet"
        words = f"What a relation learned is read off the biquaternions of BiQUE; {why}."
        return element("p", words, " So the blocks below tell the facts and the figures of each relation, no movement.")
    units = getattr(one.model, "units", 0)
    words = (
        f"How to read this: the model keeps {units} small blocks of eight numbers for every entity: an arrow from the "
        "middle of a map with eight directions per block. A relation is a movement on that map, the same for every "
        "head: it shifts the head, turns it, stretches it in half of the directions while squeezing it in the others, "
        "and scales the whole. The entities that lie most in the direction of where the head arrives are the answers. "
        "A turn of 0° is none, one of 180° turns a block right round. Each block is moved in its own way; where one "
        "figure is told, it is that of the middle one (the median)."
    )
    half = None
    erasing = sum(map(erases, one.learned[:count]))
    if erasing == count:
        half = (
            " In this run every relation squeezes half of the directions so far that they count for nothing: it "
            "forgets one half of what is known of a head, and shifts and turns the other."
        )
    return element("p", words, half, id=f"run-{place}-meaning")


def _angles(shown: list[RelationGeometry], total: int) -> Markup | None:
    from bique.analysis.plots import angles_and_rapidities

    words = (
        "Turn θ against stretch φ (e^φ times): a dot for each block of numbers, a triangle for one beyond the edge, a "
        "cross at the medians."
    )
    if total > len(shown):
        words += f" The {len(shown)} relations with the most facts."
    return picture(lambda: angles_and_rapidities(shown), words, words)
