"""Questions of the test split that a run answers best and worst, with names and with what it would have said."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import torch

from bique.analysis.report.gather import Told
from bique.analysis.report.html import Content, Markup, element, entity, joined, name, number, sentence
from bique.errors import UserError
from bique.evaluation import Blocks, best_entities
from bique.graph import Graph, Triples
from bique.models import Model
from bique.shapes import Float, Int

# answers shown of each question
TOP = 5


class Answer(NamedTuple):
    entity: Markup
    score: float
    right: bool


class Question(NamedTuple):
    given: Markup
    relation: str
    asked: str
    """head or tail."""
    right: Markup
    rank: float
    candidates: int
    remark: Content
    """Why it is no wonder that it is answered so."""
    answers: list[Answer]
    """The first ones, without those that are known to be true: as the rank counts."""


def questions(told: list[Told], count: int) -> Markup:
    introduction = (
        "Of equal ranks, one of each relation comes first. Other answers that are true already (facts of train, valid "
        "or test) are left out, as they do not count against the right one; those that are left may be wrong, or "
        "missing in the graph. The higher a score the better; scores of different questions cannot be compared."
    )
    return joined(element("p", introduction), [_of_run(one, count, len(told) > 1) for one in told])


def _of_run(one: Told, count: int, several: bool) -> Markup:
    title = element("h3", name(one.label)) if several else None
    if one.evaluation is None or one.model is None:
        return joined(title, element("p", "No ranks, so no questions to show.", class_="lacking"))
    triples = one.graph.both_directions(one.graph.test)
    parts: list[Content] = [title]
    for heading, worst in (("Answered best", False), ("Answered worst", True)):
        chosen = choose(one.evaluation.ranks, triples[:, 1], count, worst=worst)
        try:
            asked = _ask(one, one.model, triples[chosen], chosen)
        except UserError as error:  # scores that are not numbers
            return joined(title, element("p", sentence(str(error)), class_="lacking"))
        parts += [element("h4" if several else "h3", heading), element("div", map(_card, asked), class_="cards")]
    return joined(parts)


def choose(
    ranks: Float[np.ndarray, "queries"], relations: Int[np.ndarray, "queries"], count: int, *, worst: bool
) -> Int[np.ndarray, "chosen"]:
    """Places of the lowest ranks, or of the highest; among equal ones each relation's first before any second."""
    keys: list[tuple[float, int, int]] = []
    seen: Counter[tuple[float, int]] = Counter()
    for place, (rank, relation) in enumerate(zip(ranks.tolist(), relations.tolist(), strict=True)):
        keys.append((-rank if worst else rank, seen[rank, relation], place))
        seen[rank, relation] += 1
    return np.array([place for _, _, place in sorted(keys)[:count]], dtype=np.int64)


def _ask(one: Told, model: Model, triples: Triples, places: Int[np.ndarray, "chosen"]) -> list[Question]:
    assert one.evaluation is not None
    graph, test = one.graph, len(one.graph.test)
    shown = set(np.unique(graph.train[:, [0, 2]]).tolist())
    answers = _best(model, graph, triples)
    found: list[Question] = []
    for triple, place, best in zip(triples.tolist(), places.tolist(), answers, strict=True):
        head, relation, target = triple
        asked = "tail" if place < test else "head"
        base = relation if asked == "tail" else graph.inverse(relation)
        rank, candidates = float(one.evaluation.ranks[place]), int(one.evaluation.ranking.candidates[place])
        names = entity(graph, head), graph.relations[base], asked, entity(graph, target)
        unseen = [entity(graph, i) for i in (head, target) if i not in shown]
        remark: Content = ["Training never showed ", unseen[0], "."] if unseen else None
        if one.mirrored[place % test]:
            remark = "Training had this fact the other way round."
        found.append(Question(*names, rank, candidates, remark, best))
    return found


def _best(model: Model, graph: Graph, triples: Triples) -> list[list[Answer]]:
    """The first answers of each question, without other known ones."""
    size = Blocks.on(model.device).queries
    found: list[list[Answer]] = []
    for start in range(0, len(triples), size):
        block = triples[start : start + size]
        heads, relations, _ = torch.as_tensor(block.astype(np.int64)).to(model.device).unbind(1)
        known = [set(graph.answers.of(head, relation).tolist()) - {target} for head, relation, target in block.tolist()]
        most = min(TOP + max(map(len, known)), graph.num_entities)
        ids, scores, _ = best_entities(model, heads, relations, most)
        for target, taken, row, values in zip(block[:, 2].tolist(), known, ids.tolist(), scores.tolist(), strict=True):
            left = [(i, score) for i, score in zip(row, values, strict=True) if i not in taken]
            found.append([Answer(entity(graph, i), score, i == target) for i, score in left[:TOP]])
    return found


def _card(asked: Question) -> Markup:
    given, relation = asked.given, name(asked.relation)
    arrow: Content = [given, " —", relation, "→ ?"] if asked.asked == "tail" else ["? —", relation, "→ ", given]
    rank = number(int(asked.rank) if asked.rank.is_integer() else asked.rank, 1)
    place = f" at place {rank} of {asked.candidates:,}. "
    right = element("strong", "✓ right")
    items = [
        element(
            "li",
            one.entity,
            " ",
            element("span", number(one.score, 2), class_="score"),
            " ",
            right if one.right else None,
        )
        for one in asked.answers
    ]
    lines = [element("p", arrow, class_="question"), element("p", "Right: ", asked.right, place, asked.remark)]
    return element("div", lines, element("ol", items), class_="card")
