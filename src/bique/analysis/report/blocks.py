"""One block per relation, to be opened: what it is and what it does, for whoever knows nothing of biquaternions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bique.analysis.geometry import RelationGeometry, rapidity_range
from bique.analysis.patterns import RelationPattern
from bique.analysis.report.gather import Told
from bique.analysis.report.histograms import histogram
from bique.analysis.report.html import Content, Markup, bullets, element, entity, joined, name, number, sentence
from bique.analysis.report.pictures import picture
from bique.analysis.words import compositions, facts_in_words, in_short, movement, stands_out
from bique.evaluation import best_entities
from bique.graph import Graph
from bique.models import BiQUE

EXAMPLES = 3
# neighbours and answers shown of a worked question
NEAR = 3
# relations that get a map, the most frequent ones, and facts on it: a map has the size of a hundred sentences
MAPS, ON_A_MAP = 6, 60
MOST_COMPOSITIONS = 8


def blocks(one: Told, patterns: list[RelationPattern], place: int) -> Markup:
    composed = compositions(one.model, one.graph) if isinstance(one.model, BiQUE) else {}
    frequent = sorted(range(len(patterns)), key=lambda relation: -patterns[relation].facts)[:MAPS]
    maps = {relation: _map(one, patterns[relation]) for relation in frequent}
    found = [
        _block(one, patterns, relation, place, composed.get(relation, []), maps.get(relation))
        for relation in range(len(patterns))
    ]
    return joined(element("h3", "Each relation in words"), element("p", "Press one to open it."), found)


def _block(
    one: Told, patterns: list[RelationPattern], relation: int, place: int, composed: list[str], drawn: Markup | None
) -> Markup:
    pattern, learned, count = patterns[relation], one.learned, len(patterns)
    metrics = one.by.get("relation", {}).get(pattern.relation)
    figures = f"{pattern.facts:,} facts, MRR {number(metrics.mrr if metrics else None)}"
    title = element("summary", name(pattern.relation), " ", element("span", figures, class_="small"))
    parts: list[Content] = [
        element("p", _short(pattern, learned, relation, count), class_="short"),
        _examples(one.graph, relation),
        _worked(one, relation),
        element("h4", "In the facts"),
        bullets(map(sentence, facts_in_words(pattern))),
        element("h4", "How well this run answers it"),
        element("p", _answers(one, pattern.relation)),
    ]
    if learned is not None:
        high = rapidity_range(learned)
        meaning = element("a", "What shifting, turning and stretching mean", href=f"#run-{place}-meaning")
        parts += [
            _moves("What it does to a head", learned[relation], high),
            _moves("Asked the other way round: a movement of its own", learned[one.graph.inverse(relation)], high),
            element("p", meaning),
        ]
    parts.append(drawn)
    if composed:
        parts += [element("h4", "Two steps that lead the same way"), bullets(composed[:MOST_COMPOSITIONS])]
        if len(composed) > MOST_COMPOSITIONS:
            parts.append(element("p", f"… and {len(composed) - MOST_COMPOSITIONS} more.", class_="small"))
    # the anchor lies inside, so that a link opens the block even without a script
    return element("details", title, element("div", parts, id=f"run-{place}-relation-{relation}"), class_="relation")


def _map(one: Told, pattern: RelationPattern) -> Markup | None:
    """Where the heads of a relation arrive, and the tails they are to meet; only directions can be drawn so."""
    from bique.analysis.plots import entity_map

    model = one.model
    if model is None or not model.dot_product or not pattern.facts:
        return None
    words = (
        "Where the model takes heads of this relation: rings are heads, triangles where they arrive, squares the tails "
        f"they are to meet, a line from each to its own. The map has two directions, the model {model.entity_width}."
    )
    return picture(lambda: entity_map(model, one.graph, pattern.relation, ON_A_MAP), words, words)


def _examples(graph: Graph, relation: int) -> Markup:
    """Training facts, evenly from its first to its last."""
    facts = graph.train[graph.train[:, 1] == relation]
    if not len(facts):
        return element("p", "Training has no fact of it.")
    places = np.unique(np.linspace(0, len(facts) - 1, min(EXAMPLES, len(facts))).astype(int))
    lines = [
        [entity(graph, head), " —", name(graph.relations[relation]), "→ ", entity(graph, tail)]
        for head, _, tail in facts[places].tolist()
    ]
    return joined(element("h4", "For example"), bullets(lines))


def _worked(one: Told, relation: int) -> Markup | None:
    """One question, before and after the movement: names say more than degrees. A fact of test, if it has one."""
    graph, model = one.graph, one.model
    if model is None or one.learned is None:
        return None
    facts = next((part for split in (graph.test, graph.train) if len(part := split[split[:, 1] == relation])), None)
    if facts is None:
        return None
    head, _, tail = facts[len(facts) // 2].tolist()
    known = set(graph.answers.of(head, relation).tolist()) - {tail}
    with torch.no_grad():
        alike = one.directions @ one.directions[head]
        query = model.query(torch.tensor([head]), torch.tensor([relation]))
        ids, _, _ = best_entities(model, query, min(NEAR + len(known), graph.num_entities))
    before = [i for i in alike.topk(min(NEAR + 1, len(alike))).indices.tolist() if i != head][:NEAR]
    after = [i for i in ids[0].tolist() if i not in known][:NEAR]
    right = element("strong", "✓")
    answers = [[entity(graph, i), " ", right] if i == tail else entity(graph, i) for i in after]
    return joined(
        element("h4", "A question, before and after the movement"),
        element("p", entity(graph, head), " lies nearest to ", _listed([entity(graph, i) for i in before]), "."),
        element("p", "Moved by this relation it points at ", _listed(answers), ". Right: ", entity(graph, tail), "."),
    )


def _listed(names: Sequence[Content]) -> list[Content]:
    return [part for place, one in enumerate(names) for part in ((", " if place else ""), one)]


def _answers(one: Told, relation: str) -> str:
    metrics = one.by.get("relation", {}).get(relation)
    if metrics is None:
        return "It has no test question." if one.evaluation is not None else "This run has no ranks yet."
    low, high = one.mrr_intervals["relation"][relation]
    return (
        f"Of {metrics.queries:,} test questions the right answer comes first in {metrics.hits_at_1:.0%} and among the "
        f"first ten in {metrics.hits_at_10:.0%}; MRR {number(metrics.mrr)} [{number(low)} {number(high)}]."
    )


def _short(pattern: RelationPattern, learned: list[RelationGeometry] | None, relation: int, count: int) -> str:
    if learned is None:
        return in_short(pattern, None)
    return in_short(pattern, learned[relation], stands_out(learned[:count], relation))


def _moves(title: str, found: RelationGeometry, high: int) -> Markup:
    """The sentences of `bique geometry --relation`; those that mean little by themselves behind a further press."""
    told = movement(found)
    angles = histogram(found.angle, 0.0, np.pi, "histogram of the turns, from 0 to 180°")
    stretches = histogram(found.rapidity, 0.0, float(high), f"histogram of the stretches φ, from 0 to {high}")
    first = [sentence(told.shift), sentence(told.turn), sentence(told.together)]
    first += [sentence(told.null)] if told.null else []
    numbers: list[Content] = [
        ["Turns θ of the blocks ", angles, element("span", " 0 … 180°", class_="small")],
        ["Stretches φ of the blocks ", stretches, element("span", f" 0 … {high}", class_="small")],
        *map(sentence, (told.stretch, told.scale, told.phase)),
    ]
    behind = element("details", element("summary", "The numbers behind it"), bullets(numbers))
    return joined(element("h4", title), bullets(first), behind)
