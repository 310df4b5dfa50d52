"""Questions in names, answers in names: load a run, ask, get a table."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, overload

import torch
from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text
from torch import Tensor

from bique.errors import UserError, shown
from bique.evaluation import Blocks, best_entities, refuse_if_not_finite
from bique.graph import Graph
from bique.kernels.precision import products_in
from bique.models import Model
from bique.runs import Run
from bique.serving.naming import Named, entity_named, find_entity, find_relation
from bique.shapes import Float, Int

PARTS = ("head", "relation", "tail")


@dataclass(frozen=True)
class Prediction:
    """One answer. `known` is None when the graph's facts were not at hand, `label` where there is only the name."""

    rank: int
    name: str
    score: float
    probability: float
    known: bool | None
    label: str | None = None


@dataclass(frozen=True)
class AnswerTable(Sequence[Prediction]):
    """The answers to one question, best first; prints itself as a table."""

    question: str
    predictions: list[Prediction]
    given: dict[str, Named] = field(default_factory=dict[str, Named])
    """What was found for the two that were given of head, relation and tail."""

    def __len__(self) -> int:
        return len(self.predictions)

    @overload
    def __getitem__(self, index: int) -> Prediction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Prediction]: ...
    def __getitem__(self, index: int | slice) -> Prediction | list[Prediction]:
        return self.predictions[index]

    def as_dict(self) -> dict[str, Any]:
        given = {part: asdict(named) for part, named in self.given.items()}
        answers = [asdict(prediction) for prediction in self.predictions]
        return {"question": self.question, "given": given, "answers": answers}

    def _title(self) -> Text:
        if not self.given:
            return Text(shown(self.question))
        head, relation, tail = (self.given.get(part, Named("?")).text() for part in PARTS)
        return Text.assemble(head, "  —", relation, "→  ", tail)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        table = Table(title=self._title(), title_justify="left", title_style="bold")
        for heading, justify in (("", "right"), ("answer", "left"), ("score", "right"), ("probability", "right")):
            table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
        marked = any(one.known is not None for one in self.predictions)
        if marked:
            table.add_column("in the graph?")
        for one in self.predictions:
            mark = Text({True: "known fact", False: "new", None: ""}[one.known], style="dim" if one.known else "green")
            table.add_row(
                str(one.rank),
                Named(one.name, one.label).text(),
                f"{one.score:.3f}",
                f"{one.probability:.1%}",
                *([mark] if marked else []),
            )
        yield table

    def __str__(self) -> str:
        page = io.StringIO()
        Console(file=page, width=100).print(self)
        return page.getvalue().rstrip()


@dataclass(frozen=True)
class Query:
    """One of the three is None: that is what is asked."""

    head: str | None
    relation: str | None
    tail: str | None
    place: str = field(default="", compare=False)
    """Where it was read, as `file:line: `, for errors."""

    def __post_init__(self) -> None:
        if (self.head, self.relation, self.tail).count(None) != 1:
            raise UserError("a question leaves out exactly one of head, relation and tail")

    def __str__(self) -> str:
        head, relation, tail = ("?" if name is None else name for name in (self.head, self.relation, self.tail))
        return f"{head}  —{relation}→  {tail}"


class Predictor:
    """Answers (head, relation, ?), (?, relation, tail) and (head, ?, tail) with a trained model."""

    def __init__(self, model: Model, names: Graph, facts: Graph | None = None) -> None:
        """`names` gives the vocabulary; `facts`, if at hand, tells which answers are known already."""
        self.model, self.names, self.facts = model, names, facts

    def __repr__(self) -> str:
        counts = f"{self.names.num_entities:,} entities, {self.names.num_relations:,} relations"
        return f"<Predictor of {self.names.name}: {counts}>"

    def tails(self, head: str, relation: str, top: int = 10, *, only_new: bool = False) -> AnswerTable:
        """What stands at ? in (head, relation, ?)."""
        return self.answer([Query(head, relation, None)], top, only_new=only_new)[0]

    def heads(self, relation: str, tail: str, top: int = 10, *, only_new: bool = False) -> AnswerTable:
        """What stands at ? in (?, relation, tail)."""
        return self.answer([Query(None, relation, tail)], top, only_new=only_new)[0]

    def relations(self, head: str, tail: str, top: int = 10, *, only_new: bool = False) -> AnswerTable:
        """What stands at ? in (head, ?, tail); the probabilities add up to 1 over all relations."""
        return self.answer([Query(head, None, tail)], top, only_new=only_new)[0]

    @torch.no_grad()
    def answer(self, queries: Sequence[Query], top: int = 10, *, only_new: bool = False) -> list[AnswerTable]:
        """One table per question, in their order; questions for entities share their matrix products."""
        if top < 1:
            raise UserError(f"top = {top}: ask for at least one answer")
        if only_new and self.facts is None:
            raise UserError("leaving out known facts needs the graph of the run; give its place with --graph")
        ids = [self._ids(query) for query in queries]
        tables: dict[int, AnswerTable] = {}
        for place, query in enumerate(queries):
            if query.relation is None:
                tables[place] = self._rank_relations(query, *ids[place], top, only_new)
        rest = [place for place in range(len(queries)) if place not in tables]
        size = Blocks.on(self.model.device).queries
        for start in range(0, len(rest), size):
            block = rest[start : start + size]
            found = self._rank_entities([queries[i] for i in block], [ids[i] for i in block], top, only_new)
            tables |= dict(zip(block, found, strict=True))
        return [tables[place] for place in range(len(queries))]

    def _ids(self, query: Query) -> tuple[int, int]:
        """(head, tail) of a question for relations; else (head, relation), with r⁻¹ where a head is asked."""
        names, place = self.names, query.place
        head, tail = (None if one is None else find_entity(names, one, place) for one in (query.head, query.tail))
        if query.relation is None:
            pair = head, tail
        else:
            relation = find_relation(names, query.relation, place)
            pair = (tail, names.inverse(relation)) if head is None else (head, relation)
        assert pair[0] is not None
        assert pair[1] is not None
        return pair[0], pair[1]

    def _given(self, query: Query, first: int, second: int) -> dict[str, Named]:
        """What the ids of a question stand for; a relation is called as it was."""
        if query.relation is None:
            return {"head": entity_named(self.names, first), "tail": entity_named(self.names, second)}
        entity, relation = entity_named(self.names, first), Named(query.relation)
        return {"head": entity, "relation": relation} if query.tail is None else {"relation": relation, "tail": entity}

    def _rank_relations(self, query: Query, head: int, tail: int, top: int, only_new: bool) -> AnswerTable:
        count = self.names.num_relations
        every = torch.arange(count, device=self.model.device)
        with products_in("fp32", self.model.device):
            scores = self.model.score(torch.full_like(every, head), every, torch.full_like(every, tail)).cpu()
        refuse_if_not_finite(scores)
        known = None if self.facts is None else {r for r in range(count) if tail in self.facts.answers.of(head, r)}
        order = torch.argsort(scores, descending=True, stable=True)
        best = order, scores[order], scores.logsumexp(0)

        def named(relation: int) -> Named:
            return Named(self.names.relations[relation])

        return _table(query, self._given(query, head, tail), named, best, known, top, only_new)

    def _rank_entities(
        self, queries: list[Query], ids: list[tuple[int, int]], top: int, only_new: bool
    ) -> list[AnswerTable]:
        known = [None if self.facts is None else set(self.facts.answers.of(*pair).tolist()) for pair in ids]
        # among the best top + known answers there are top new ones
        wanted = top + max(len(facts or ()) for facts in known) if only_new else top
        heads, relations = torch.tensor(ids, device=self.model.device).unbind(1)
        best_ids, scores, totals = best_entities(self.model, heads, relations, wanted)
        named = partial(entity_named, self.names)
        return [
            _table(
                query, self._given(query, *pair), named, (best_ids[i], scores[i], totals[i]), known[i], top, only_new
            )
            for i, (query, pair) in enumerate(zip(queries, ids, strict=True))
        ]


def _table(
    query: Query,
    given: dict[str, Named],
    named: Callable[[int], Named],
    best: tuple[Int[Tensor, "best"], Float[Tensor, "best"], Float[Tensor, ""]],
    known: set[int] | None,
    top: int,
    only_new: bool,
) -> AnswerTable:
    """`best`: ids and scores in descending order, and the logsumexp over all candidates; `named`: what an id is."""
    ids, scores, total = best
    rows = zip(ids.tolist(), scores.tolist(), (scores - total).exp().tolist(), strict=True)
    predictions: list[Prediction] = []
    for rank, (i, score, probability) in enumerate(rows, start=1):
        if not (only_new and known is not None and i in known):
            one, fact = named(i), None if known is None else i in known
            predictions.append(Prediction(rank, one.name, score, probability, fact, one.label))
    return AnswerTable(str(query), predictions[:top], given)


def load(run: Path | str, graph: Path | str | None = None, device: str = "cpu") -> Predictor:
    """The predictor of a run: `bique.load("runs/mine").tails("dog.n.01", "_hypernym")`."""
    opened = Run.open(run)
    try:
        facts = opened.graph(Path(graph) if graph is not None else None)
    except UserError:
        if graph is not None:
            raise
        facts = None  # moved or removed: it still answers, but cannot say what is known
    model, _ = opened.model(device, facts)
    return Predictor(model, facts or opened.names, facts)
