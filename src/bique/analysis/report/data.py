"""The checkup of the graph: what would make its figures look better or worse than they are, in words and counts."""

from __future__ import annotations

from bique.analysis.report.html import Content, Markup, bullets, cell, element, joined, name, table
from bique.analysis.report.results import row_name
from bique.graph import SPLITS, Graph
from bique.graph.checkup import Checkup, check_graph

# more overlaps than this are counted, not listed
MOST_OVERLAPS = 20


def data(graph: Graph) -> Markup:
    found = check_graph(graph)
    rows = [[row_name(label), *map(cell, counts)] for label, counts in found.by_split().items()]
    counts = table("The three splits", ["", *SPLITS], rows, "figures")
    return joined(bullets(findings(found)), counts, _overlaps(found), _degrees(found))


def findings(found: Checkup) -> list[Content]:
    """One sentence for each thing that a reader of the figures should know."""
    lines: list[Content] = []
    test, unseen = found.counts["test"], found.unseen["test"]
    if found.given_away:
        share = found.given_away / test
        lines.append(
            f"{found.given_away:,} of {test:,} test facts ({share:.0%}) are given away: train has them too, turned "
            "round or under another relation. They make every model look better."
        )
    if unseen.facts:
        lines.append(
            f"{unseen.facts:,} test facts have an entity or a relation that training never shows. "
            "No model can learn anything about them; they stay in the figures."
        )
    for splits, count in found.shared.items():
        if count:
            lines.append(f"{count:,} facts are both in {splits.replace(' and ', ' and in ')}.")
    if found.unseen["valid"].facts:
        lines.append(f"{found.unseen['valid'].facts:,} facts of valid have an entity or a relation unseen in train.")
    if sum(found.duplicates.values()):
        lines.append(f"{sum(found.duplicates.values()):,} facts stand twice in their split.")
    if sum(found.self_loops.values()):
        lines.append(f"{sum(found.self_loops.values()):,} facts lead from an entity to itself.")
    if found.overlaps:
        lines.append(
            f"{len(found.overlaps)} times a relation shares {found.threshold:.0%} of its pairs or more with another "
            "one or with its own mirror image."
        )
    return lines or ["Nothing was found that would spoil the figures."]


def _overlaps(found: Checkup) -> Markup | None:
    if not found.overlaps:
        return None
    rows = [
        [
            row_name(name(one.relation)),
            element("td", one.kind),
            element("td", name(one.other)),
            element("td", f"{one.share:.0%}", class_="figure"),
            cell(one.pairs),
        ]
        for one in found.overlaps[:MOST_OVERLAPS]
    ]
    more = len(found.overlaps) - MOST_OVERLAPS
    note = element("p", f"… and {more} more; bique checkup --json lists all.", class_="small") if more > 0 else None
    caption = f"Relations that share at least {found.threshold:.0%} of their pairs"
    return joined(table(caption, ["relation", "what it is", "other", "share", "pairs"], rows), note)


def _degrees(found: Checkup) -> Markup:
    median, largest = found.degrees.quantiles["0.5"], found.degrees.quantiles["1"]
    words = f"An entity takes part in {found.degrees.mean:.1f} training facts on average"
    return element("p", f"{words}, median {median}, most {largest:,}.")
