"""One block per relation, to be opened: what it is and what it does, for whoever knows nothing of biquaternions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from bique.analysis.geometry import RelationGeometry, rapidity_range
from bique.analysis.patterns import RelationPattern
from bique.analysis.report.gather import Told
from bique.analysis.report.histograms import histogram
from bique.analysis.report.html import Content, Markup, bullets, element, entity, joined, name, number, sentence
from bique.analysis.report.pictures import can_draw, picture
from bique.analysis.words import FEW, compositions, facts_in_words, gained, in_short, movement
from bique.evaluation import Metrics, best_entities
from bique.graph import Graph, Triples
from bique.kernels.precision import products_in
from bique.models import BiQUE, Model

EXAMPLES = 3
# neighbours and answers shown of a worked question
NEAR = 3
# relations that get a map, the most frequent ones, and facts on it: a map has the size of a hundred sentences
MAPS, ON_A_MAP = 6, 60
MOST_COMPOSITIONS = 8
# test facts of a relation whose heads are compared with every entity, and how many at once
MOST_NEAR, BLOCK = 100, 32


def blocks(one: Told, patterns: list[RelationPattern], place: int, one_more: Callable[[], None]) -> Markup:
    """`one_more` is called after each block: of thousands of relations they take most of a report's time."""
    composed = compositions(one.model, one.graph, FEW) if isinstance(one.model, BiQUE) else {}
    frequent = sorted(range(len(patterns)), key=lambda relation: -patterns[relation].facts)[:MAPS]
    maps = {relation: _map(one, patterns[relation]) for relation in frequent}
    found = []
    for relation in range(len(patterns)):
        found.append(_block(one, patterns, relation, place, composed.get(relation, []), maps.get(relation)))
        one_more()
    return joined(element("h3", "Each relation in words"), element("p", "Press one to open it."), found)


def _block(
    one: Told, patterns: list[RelationPattern], relation: int, place: int, composed: list[str], drawn: Markup | None
) -> Markup:
    pattern, learned, count = patterns[relation], one.learned, len(patterns)
    metrics = one.by.get("relation", {}).get(pattern.relation)
    gain = _gain(one, relation)
    figures = f"{pattern.facts:,} facts" + (f"; the right answer is {_shares(metrics)}" if metrics else "")
    given = int((one.mirrored & (one.graph.test[:, 1] == relation)).sum())
    figures += (
        f"; training has {given:,} of {metrics.queries // 2:,} test facts turned round" if metrics and given else ""
    )
    title = element("summary", name(pattern.relation), " ", element("span", figures, class_="small"))
    parts: list[Content] = [
        element("p", in_short(patterns, learned and learned[:count], relation), class_="short"),
        gain and element("p", gain, class_="short"),
        _examples(one.graph, relation),
        _worked(one, relation),
        element("h4", "How well this run answers it"),
        bullets(_answers(one, relation)),
        element("h4", "In the facts"),
        bullets(map(sentence, facts_in_words(pattern))),
    ]
    if learned is not None:
        high = rapidity_range(learned)
        meaning = element("a", "What shifting, turning and stretching mean", href=f"#run-{place}-meaning")
        parts += [
            _moves("What it does to a head", learned[relation], high),
            _moves("Asked the other way round: a movement of its own", learned[one.graph.inverse(relation)], high),
            element("p", meaning),
        ]
    parts.append(drawn or _no_map(one, pattern))
    if composed:
        more = len(composed) - MOST_COMPOSITIONS
        rest = element("p", f"… and {more} more.", class_="small") if more > 0 else None
        heading = element("summary", "Two steps that often end where this relation leads")
        parts.append(element("details", heading, bullets(composed[:MOST_COMPOSITIONS]), rest))
    # the anchor lies inside, so that a link opens the block even without a script
    return element("details", title, element("div", parts, id=f"run-{place}-relation-{relation}"), class_="relation")


def _map(one: Told, pattern: RelationPattern) -> Markup | None:
    """Where the heads of a relation arrive, and the tails they are to meet; only directions can be drawn so."""
    from bique.analysis.plots import entity_map

    model = one.model
    if model is None or not model.dot_product or not pattern.facts:
        return None
    words = (
        "Where the model takes heads of this relation, in training facts: rings are heads, triangles where they "
        "arrive, squares the tails they are to meet (a ring around a square is both), a line from each arrival to its "
        "own tail; an arrow from up to three heads (in italics) to where they arrive. "
        f"The map has two directions and the model {model.entity_width}: what is near here may be far apart there."
    )
    return picture(lambda: entity_map(model, one.graph, pattern.relation, ON_A_MAP), words, words)


def _no_map(one: Told, pattern: RelationPattern) -> Markup | None:
    if one.model is None or not one.model.dot_product or not pattern.facts or not can_draw():
        return None
    words = (
        f"The {MAPS} relations with the most facts have a map here; for this one: bique plot map RUN --relation NAME"
    )
    return element("p", words, class_="small")


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
    """Questions before and after the movement, as names say more than degrees: a typical one, and one of the others."""
    if one.model is None or one.learned is None:
        return None
    chosen = _typical(one, relation)
    if not chosen:
        return None
    parts = [
        joined(element("p", element("em", sentence(why))), _before_and_after(one, one.model, fact, rank))
        for why, fact, rank in chosen
    ]
    note = "An entity may be its own answer here; one that is not marked as right may be true and missing in the graph."
    return joined(element("h4", "A question, before and after the movement"), parts, element("p", note, class_="small"))


def _typical(one: Told, relation: int) -> list[tuple[str, list[int], float | None]]:
    """(why it was chosen, fact, rank): of the test facts whose tail is asked, the one with the middle rank, and if that
    one is right the worst, if it is wrong the best."""
    graph = one.graph
    places = np.flatnonzero(graph.test[:, 1] == relation)
    if one.evaluation is None or not len(places):
        facts = graph.train[graph.train[:, 1] == relation]
        middle = facts[len(facts) // 2 :][:1].tolist()  # none, where it has no fact
        return [("a fact of training, as none of test was ranked", fact, None) for fact in middle]
    ranks = one.evaluation.ranks[places]
    order = np.argsort(ranks, kind="stable")
    middle = int(order[len(order) // 2])
    found = [("a typical one: of the test questions that ask for the tail, the one with the middle rank", middle)]
    if ranks[middle] == 1 and ranks[order[-1]] > 1:
        found.append(("the one that it answers worst", int(order[-1])))
    elif ranks[middle] > 1 and ranks[order[0]] < ranks[middle]:
        found.append(("the one that it answers best", int(order[0])))
    return [(why, graph.test[places[place]].tolist(), float(ranks[place])) for why, place in found]


def _before_and_after(one: Told, model: Model, fact: list[int], rank: float | None) -> Markup:
    graph, (head, relation, tail) = one.graph, fact
    known = set(graph.answers.of(head, relation).tolist()) - {tail}
    with torch.no_grad():
        alike = one.directions @ one.directions[head]
    most = min(NEAR + len(known), graph.num_entities)
    ids, _, _ = best_entities(model, torch.tensor([head]), torch.tensor([relation]), most)
    alike[[head, *known]] = -torch.inf  # in both lists the same are left out
    before = [i for i in alike.topk(min(NEAR, len(alike))).indices.tolist() if alike[i] > -torch.inf]
    after = [i for i in ids[0].tolist() if i not in known][:NEAR]
    neighbours, answers = (
        [[entity(graph, i), " ", element("strong", "✓")] if i == tail else entity(graph, i) for i in row]
        for row in (before, after)
    )
    place = None if rank is None else f", at place {number(int(rank) if rank.is_integer() else rank, 1)}"
    left: Content = None
    if known:
        left = f" (Left out: {len(known)} that {'is' if len(known) == 1 else 'are'} known to be right, too.)"
    return joined(
        element("p", entity(graph, head), " lies nearest to ", _listed(neighbours), "."),
        element(
            "p",
            "Moved by this relation it points at ",
            _listed(answers),
            ". Right: ",
            entity(graph, tail),
            place,
            ".",
            left,
        ),
    )


def _listed(names: Sequence[Content]) -> list[Content]:
    return [part for place, one in enumerate(names) for part in ((", " if place else ""), one)]


def _answers(one: Told, relation: int) -> list[str]:
    """All questions with the interval, each direction, and what is left without the facts that training gives away."""
    name = one.graph.relations[relation]
    metrics = one.by.get("relation", {}).get(name)
    if metrics is None or one.evaluation is None:
        return ["It has no test question." if one.evaluation is not None else "This run has no ranks yet."]
    low, high = one.mrr_intervals["relation"][name]
    few = " So few questions tell little." if metrics.queries < FEW else ""
    lines = [
        f"Of {metrics.queries:,} test questions the right answer is {_shares(metrics)}; MRR {number(metrics.mrr)} "
        f"[{number(low)} {number(high)}].{few}"
    ]
    mine = one.graph.test[:, 1] == relation
    nothing = np.zeros_like(mine)
    for asked, chosen in (("tail", (mine, nothing)), ("head", (nothing, mine))):
        questions = np.concatenate(chosen)
        line = f"Asked for the {asked}: {_shares(one.evaluation.where(questions))}"
        if one.baseline is not None:
            line += f" (naming the most frequent answers: {_shares(one.baseline.where(questions))})"
        lines.append(f"{line}.")
    mirrored = one.mirrored & mine
    if mirrored.any():
        given = f"{mirrored.sum():,} of its {mine.sum():,} test facts stand in training the other way round"
        others = np.tile(mine & ~mirrored, 2)
        rest = "no other is left"
        if others.any():
            few = ", too few to tell much" if others.sum() < FEW else ""
            rest = f"on the other {others.sum() // 2:,}: {_shares(one.evaluation.where(others))}{few}"
        lines.append(f"{given}, so they are no test of what it has learned; {rest}.")
    return lines


def _shares(metrics: Metrics) -> str:
    return f"first in {metrics.hits_at_1:.0%}, among the first ten in {metrics.hits_at_10:.0%}"


def _gain(one: Told, relation: int) -> str | None:
    """What the movement is good for: where right tails stand by nearness to their heads alone, and where after it."""
    places = np.flatnonzero(one.graph.test[:, 1] == relation)
    if one.model is None or one.evaluation is None or one.learned is None or not len(places):
        return None
    evenly = np.unique(np.linspace(0, len(places) - 1, min(len(places), MOST_NEAR)).astype(int))
    before, after = map(_first_and_ten, _ranks_before_and_after(one, one.model, one.graph.test[places[evenly]]))
    verdict = "too few questions to tell" if len(evenly) < FEW else gained(before, after)
    return (
        f"Asked for the tail of {len(evenly):,} test facts (and the head itself left out), nearness to the head alone, "
        f"without the movement, has the right one first in {before[0]:.0%} and among the first ten in {before[1]:.0%}; "
        f"the movement has it first in {after[0]:.0%} and among the first ten in {after[1]:.0%}: {verdict}."
    )


def _ranks_before_and_after(one: Told, model: Model, facts: Triples) -> tuple[list[int], list[int]]:
    """The place of each tail by nearness to its head, and by its score; without the head and other known tails."""
    found: tuple[list[int], list[int]] = ([], [])
    for start in range(0, len(facts), BLOCK):
        block = facts[start : start + BLOCK]
        heads, relations, _ = torch.from_numpy(block.astype(np.int64)).unbind(1)
        with torch.no_grad(), products_in("fp32", model.device):
            scores = model.score_all(heads, relations)
        for values, ranks in zip((one.directions[heads] @ one.directions.T, scores), found, strict=True):
            for row, (head, relation, tail) in zip(values, block.tolist(), strict=True):
                ahead = row >= row[tail]
                ahead[[*one.graph.answers.of(head, relation).tolist(), head, tail]] = False
                ranks.append(1 + int(ahead.sum()))
    return found


def _first_and_ten(ranks: list[int]) -> tuple[float, float]:
    return ranks.count(1) / len(ranks), sum(rank <= 10 for rank in ranks) / len(ranks)


def _moves(title: str, found: RelationGeometry, high: int) -> Markup:
    """The sentences of `bique geometry --relation`; those that mean little by themselves behind a further press."""
    told = movement(found)
    angles = histogram(found.angle, 0.0, np.pi, "histogram of the turns, from 0 to 180°")
    stretches = histogram(found.rapidity, 0.0, float(high), f"histogram of the stretches φ, from 0 to {high}")
    first = [sentence(told.shift), sentence(told.turn)]
    first += [sentence(told.null)] if told.null else []
    numbers: list[Content] = [
        ["Turns θ of the blocks ", angles, element("span", " 0 … 180°", class_="small")],
        ["Stretches φ of the blocks ", stretches, element("span", f" 0 … {high}", class_="small")],
        *map(sentence, (told.stretch, told.scale, told.together, told.phase)),
    ]
    behind = element("details", element("summary", "The numbers behind it"), bullets(numbers))
    return joined(element("h4", title), bullets(first), behind)
