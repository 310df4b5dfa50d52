"""How good: figures with intervals, by direction and category; side by side only what was measured alike."""

from __future__ import annotations

import numpy as np

from bique.analysis.report.gather import Told, alike
from bique.analysis.report.html import (
    Content,
    Markup,
    bullets,
    cell,
    element,
    entity,
    joined,
    name,
    number,
    sentence,
    table,
)
from bique.analysis.words import CATEGORIES
from bique.evaluation import Interval, Metrics
from bique.evaluation.significance import caution
from bique.graph import Graph
from bique.runs import compare, hardware_of

COLUMNS = {"mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_3": "Hits@3", "hits_at_10": "Hits@10"}
BASELINE = "baseline: the most frequent answers, no learning"
MEANING = (
    "MRR is the mean of 1/rank over all questions: 1 if the right answer always comes first, near 0 if it comes far "
    "behind. Hits@k is the share of questions whose right answer is among the first k. In brackets: the 95 % interval "
    "of a bootstrap over the test facts, which says how far chance in the choice of these facts may go."
)
UNLIKE = "These runs were not all measured alike; figures that cannot be compared do not stand side by side."

# questions behind a figure of a relation that is worth naming
ENOUGH = 20


def results(told: list[Told]) -> Markup:
    """A table for each way of measuring; what differs is said before the second one."""
    groups = alike(told)
    parts: list[Content] = [element("p", MEANING)]
    if not groups:
        parts.append(element("p", "No run has ranks of the test split yet.", class_="lacking"))
    if len(groups) > 1:
        parts.append(element("p", *_unlike(groups), class_="lacking"))
    for group in groups:
        parts += [_figures(group), _differences(group), _parts(group, "direction"), _parts(group, "category")]
    return joined(parts)


def _unlike(groups: list[list[Told]]) -> list[Content]:
    first = groups[0][0]
    words: list[Content] = [UNLIKE]
    for group in groups[1:]:
        assert first.evaluation is not None
        assert group[0].evaluation is not None
        unlike = first.evaluation.protocol.differences(group[0].evaluation.protocol)
        words += [" ", name(first.label), " and ", name(group[0].label), f" differ in {'; '.join(unlike)}."]
    return words


def _figures(group: list[Told]) -> Markup:
    first = group[0]
    rows = [_row(name(one.label), one.metrics, one.intervals) for one in group if one.metrics]
    note = None
    if first.baseline is None:
        note = element("p", "The baseline is left out: ranking it would take longer than this report should.")
    else:
        figures = first.baseline.intervals(first.run.config.evaluation.resamples)
        rows.append(_row(BASELINE, first.baseline.metrics, figures))
    headings = ["", *COLUMNS.values(), "mean rank", "MRR adjusted for chance"]
    line = first.evaluation.protocol.line() if first.evaluation else None
    return joined(table("Test split", headings, rows, "figures"), element("p", line, class_="small"), note)


def _row(label: Content, metrics: Metrics, intervals: dict[str, Interval]) -> list[Markup]:
    figures = [cell(getattr(metrics, key), 3, interval(intervals[key])) for key in COLUMNS]
    return [row_name(label), *figures, cell(metrics.mr, 0), cell(metrics.adjusted_mrr_index)]


def row_name(label: Content) -> Markup:
    return element("th", label, scope="row")


def interval(found: Interval | None) -> Markup | None:
    return None if found is None else element("small", f"[{number(found.low)} {number(found.high)}]")


def _differences(group: list[Told]) -> Markup | None:
    """Each later run minus the first, on the same questions."""
    if len(group) < 2:
        return None
    found = compare([one.run for one in group], "test")
    rows = []
    for one, differences in zip(group[1:], found.differences, strict=True):
        cells = [
            element(
                "td",
                f"{differences[key].difference:+.3f}",
                element("small", "[{:+.3f} {:+.3f}]".format(*differences[key].interval)),
                element("small", f"p = {differences[key].p_value:.2g}"),
                class_="figure",
            )
            for key in COLUMNS
        ]
        rows.append([row_name(name(one.label)), *cells])
    caption = f"Difference from {group[0].label}, on the same questions"
    few = caution(len(found.evaluations[0].ranks) // 2)
    told = "A difference whose interval holds 0, or whose p is above 0.05, may be chance."
    told += f" {few.capitalize()}." if few else ""
    note = element("p", told, class_="small")
    return joined(table(caption, ["", *COLUMNS.values()], rows, "figures"), note)


def _parts(group: list[Told], kind: str) -> Markup:
    several = len(group) > 1
    rows = []
    for part in group[0].by[kind]:
        for one in group:
            metrics = one.by[kind][part]
            label = [_part_name(kind, part), " · ", name(one.label)] if several else _part_name(kind, part)
            figures = [
                cell(getattr(metrics, key), 3, interval(one.mrr_intervals[kind][part]) if key == "mrr" else None)
                for key in COLUMNS
            ]
            rows.append([row_name(label), cell(metrics.queries), *figures, cell(metrics.mr, 0)])
    headings = [kind, "questions", *COLUMNS.values(), "mean rank"]
    captions = {"direction": "By what is asked", "category": "By category of the relation"}
    return table(captions[kind], headings, rows, "figures")


def _part_name(kind: str, part: str) -> str:
    if kind == "direction":
        return {"tail": "tail asked: (head, relation, ?)", "head": "head asked: (?, relation, tail)"}[part]
    return f"{part}: {CATEGORIES[part]}"


# the summary in words ------------------------------------------------------------------------------------------------


def summary(told: list[Told]) -> Markup:
    """What graph, what model, how good, against what, how long, on what."""
    counts = told[0].graph.counts()
    facts = sum(counts[split] for split in ("train", "valid", "test"))
    graph = [
        "The graph ",
        name(told[0].graph.name),
        f" has {counts['entities']:,} entities, {counts['relations']:,} relations and {facts:,} facts, of which "
        f"{counts['train']:,} were trained, {counts['valid']:,} chose the best model and {counts['test']:,} test it.",
        _example(told[0].graph),
    ]
    unlike = element("p", UNLIKE, class_="lacking") if len(alike(told)) > 1 else None
    return joined(element("p", graph), [_of_run(one, len(told) > 1) for one in told], unlike)


def _example(graph: Graph) -> Content:
    """What head, relation and tail are, shown once: every table speaks of them."""
    if not len(graph.train):
        return None
    head, relation, tail = graph.train[0].tolist()
    fact = [entity(graph, head), " —", name(graph.relations[relation]), "→ ", entity(graph, tail)]
    return [" A fact leads from a head along a relation to a tail, for example ", fact, "."]


def _of_run(one: Told, several: bool) -> Markup:
    where = hardware_of(one.summary["environment"])
    epochs = one.summary["epochs"]
    words: list[Content] = [f"{one.model_name} was trained for {epochs} {'epoch' if epochs == 1 else 'epochs'}"]
    words.append(f" in {duration(one.summary['seconds'])} on {where}. ")
    words.append(element("strong", _how_good(one)) if one.metrics else "It has no figures on the test split yet.")
    plain = one.baseline
    if plain is not None:
        words.append(f" Naming the most frequent answers, without learning, has MRR {number(plain.metrics.mrr)}.")
    words += [_given_away(one), _trust(one)]
    lacking = bullets(map(sentence, one.lacking)) if one.lacking else None
    title = element("h3", name(one.label)) if several else None
    return element("div", title, element("p", words), lacking and element("div", lacking, class_="lacking"))


def _given_away(one: Told) -> str | None:
    """Beside the headline, as it may be most of it."""
    mirrored = one.mirrored
    if one.evaluation is None or not mirrored.any():
        return None
    if mirrored.all():
        return " Every test fact stands in training the other way round, so these figures test nothing new."
    rest = one.evaluation.where(np.tile(~mirrored, 2))
    return (
        f" {mirrored.sum():,} of the {len(mirrored):,} test facts stand in training the other way round; on the others "
        f"the right answer comes first in {rest.hits_at_1:.0%} and among the first ten in {rest.hits_at_10:.0%} "
        f"(MRR {number(rest.mrr)})."
    )


def _trust(one: Told) -> Content:
    """For whoever wants to know what to ask it: the relations at both ends, of those with enough questions."""
    if one.evaluation is None:
        return None
    asked: dict[str, float] = {}
    for relation in range(one.graph.num_relations):
        chosen = np.tile((one.graph.test[:, 1] == relation) & ~one.mirrored, 2)
        if chosen.sum() >= ENOUGH:
            asked[one.graph.relations[relation]] = one.evaluation.where(chosen).mrr
    if len(asked) < 3:
        return None
    ordered = sorted(asked, key=lambda relation: -asked[relation])
    best, worst = ([name(one), f" ({number(asked[one])})"] for one in (ordered[0], ordered[-1]))
    without = " without facts that are turned round in training," if one.mirrored.any() else ""
    return [
        " Of the relations it answers ",
        best,
        " best and ",
        worst,
        f" worst (MRR,{without} {ENOUGH} questions or more).",
    ]


def _how_good(one: Told) -> str:
    assert one.metrics is not None
    first, ten = one.metrics.hits_at_1, one.metrics.hits_at_10
    low, high = one.intervals["mrr"]
    return (
        f"On the test split the right answer comes first in {first:.0%} of the questions and among the first ten in "
        f"{ten:.0%} (MRR {number(one.metrics.mrr)}, 95 % interval {number(low)} to {number(high)})."
        + (f" {few.capitalize()}." if (few := caution(one.metrics.queries // 2)) else "")
    )


def duration(seconds: float) -> str:
    """Two units at most: nobody needs the seconds of a day."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
