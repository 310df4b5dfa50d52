"""Training curves: the picture, and the figures behind it for whoever cannot see it or wants to count."""

from __future__ import annotations

import numpy as np

from bique.analysis.report.gather import Told
from bique.analysis.report.html import Content, Markup, cell, element, joined, name, table
from bique.analysis.report.pictures import picture
from bique.analysis.report.results import duration

# rows of the table of figures: a long run is thinned, first and last epoch stay
MOST_ROWS = 25


def curves(told: list[Told]) -> Markup:
    """Runs overlaid, but a validation MRR that counts ties otherwise in a picture of its own."""
    trained = [one for one in told if one.run.metrics()]
    rules = list(dict.fromkeys(one.run.config.evaluation.ties for one in trained))
    parts: list[Content] = []
    for rule in rules:
        group = [one for one in trained if one.run.config.evaluation.ties == rule]
        parts.append(_picture(group, rule if len(rules) > 1 else None))
    parts += [_figures(one, len(told) > 1) for one in trained]
    for one in told:
        if one not in trained:
            parts.append(element("p", name(one.label), " has no epoch behind it.", class_="lacking"))
    return joined(parts)


def _picture(group: list[Told], rule: str | None) -> Markup | None:
    from bique.analysis.plots import training_curves

    words = "Loss on the training facts and MRR on the validation split, over epochs and over seconds."
    if rule is not None:
        words += f" Ties {rule}."
    if len({one.run.config.objective.model_dump_json() for one in group}) > 1:
        words += " These runs have different objectives: of their losses only the shapes can be compared."
    return picture(lambda: training_curves([one.run for one in group]), words, words)


def _figures(one: Told, several: bool) -> Markup:
    records = one.run.metrics()
    chosen = np.unique(np.linspace(0, len(records) - 1, min(MOST_ROWS, len(records))).round().astype(int))
    rows = [
        [
            cell(record["epoch"]),
            cell(record.get("loss"), 4),
            cell(record.get("valid_mrr"), 4),
            element("td", duration(record.get("seconds", 0.0)), class_="figure"),
        ]
        for record in (records[place] for place in chosen.tolist())
    ]
    found = table(f"{one.label}: training", ["epoch", "loss", "validation MRR", "time"], rows, "figures")
    title: Content = ["The figures behind the curves", [" of ", name(one.label)] if several else None]
    return element("details", element("summary", title), found)
