"""Questions in names, answers in names: load a run, ask, get a table."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, overload

import torch
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text
from torch import Tensor

from bique.errors import UserError
from bique.evaluation import score_tiles
from bique.graph import Graph, Vocabulary
from bique.models import Model
from bique.runs import Run
from bique.shapes import Float

MEMORY = 256 << 20


@dataclass(frozen=True)
class Prediction:
    """One answer. `known` is None when the graph's facts were not at hand."""

    rank: int
    name: str
    score: float
    probability: float
    known: bool | None


@dataclass(frozen=True)
class AnswerTable(Sequence[Prediction]):
    """The answers to one question, best first; prints itself as a table."""

    question: str
    predictions: list[Prediction]

    def __len__(self) -> int:
        return len(self.predictions)

    @overload
    def __getitem__(self, index: int) -> Prediction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Prediction]: ...
    def __getitem__(self, index: int | slice) -> Prediction | list[Prediction]:
        return self.predictions[index]

    def as_dict(self) -> dict[str, Any]:
        return {"question": self.question, "answers": [asdict(prediction) for prediction in self.predictions]}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(title=Text(self.question), title_justify="left", title_style="bold")
        for heading, justify in (("", "right"), ("answer", "left"), ("score", "right"), ("probability", "right")):
            table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
        table.add_column("")
        for one in self.predictions:
            mark = Text({True: "known fact", False: "new", None: ""}[one.known], style="dim" if one.known else "green")
            table.add_row(str(one.rank), Text(one.name), f"{one.score:.3f}", f"{one.probability:.1%}", mark)
        yield table

    def __str__(self) -> str:
        page = io.StringIO()
        Console(file=page, width=100).print(self)
        return page.getvalue().rstrip()


class Predictor:
    """Answers (head, relation, ?), (?, relation, tail) and (head, ?, tail) with a trained model."""

    def __init__(self, model: Model, names: Graph, facts: Graph | None = None) -> None:
        """`names` gives the vocabulary; `facts`, if at hand, tells which answers are known already."""
        self.model, self.names, self.facts = model, names, facts

    @torch.no_grad()
    def tails(self, head: str, relation: str, top: int = 10, *, only_new: bool = False) -> AnswerTable:
        """What stands at ? in (head, relation, ?)."""
        ids = self._entity(head), self._relation(relation)
        return self._entities(f"{head}  —{relation}→  ?", *ids, top, only_new)

    @torch.no_grad()
    def heads(self, relation: str, tail: str, top: int = 10, *, only_new: bool = False) -> AnswerTable:
        """What stands at ? in (?, relation, tail)."""
        ids = self._entity(tail), self.names.inverse(self._relation(relation))
        return self._entities(f"?  —{relation}→  {tail}", *ids, top, only_new)

    @torch.no_grad()
    def relations(self, head: str, tail: str, top: int = 10, *, only_new: bool = False) -> AnswerTable:
        """What stands at ? in (head, ?, tail); the probabilities add up to 1 over all relations."""
        h, t, count = self._entity(head), self._entity(tail), self.names.num_relations
        every = torch.arange(count, device=self.model.entity.device)
        scores = self.model.score(torch.full_like(every, h), every, torch.full_like(every, t))
        self._refuse_if_not_finite(scores)
        known = None if self.facts is None else {r for r in range(count) if t in self.facts.answers.of(h, r)}
        order = torch.argsort(scores, descending=True, stable=True).tolist()
        return self._table(
            f"{head}  —?→  {tail}", order, scores, scores.logsumexp(0), known, self.names.relations, top, only_new
        )

    def _entities(self, question: str, head: int, relation: int, top: int, only_new: bool) -> AnswerTable:
        known = None if self.facts is None else set(self.facts.answers.of(head, relation).tolist())
        # among top + known answers there are top new ones
        wanted = top + len(known or ()) if only_new else top
        ids, scores, total = self._best_entities(head, relation, max(wanted, 1))
        by_id = torch.full((self.names.num_entities,), torch.nan, dtype=scores.dtype)
        by_id[ids] = scores
        return self._table(question, ids.tolist(), by_id, total, known, self.names.entities, top, only_new)

    def _best_entities(self, head: int, relation: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Ids and scores of the best entities, and the logsumexp over all, streamed over tiles."""
        device = self.model.entity.device
        query = self.model.query(torch.tensor([head], device=device), torch.tensor([relation], device=device))
        ids, scores, sums = [], [], []
        for start, tile in score_tiles(self.model, query, MEMORY):
            self._refuse_if_not_finite(tile)
            best = tile[0].topk(min(count, tile.shape[1]))
            ids.append(best.indices + start)
            scores.append(best.values)
            sums.append(tile[0].logsumexp(0))
        every_id, every_score = torch.cat(ids), torch.cat(scores)
        order = torch.argsort(every_score, descending=True, stable=True)[:count]
        return every_id[order].cpu(), every_score[order].cpu(), torch.stack(sums).logsumexp(0).cpu()

    def _table(
        self,
        question: str,
        order: list[int],
        scores: Float[Tensor, "candidates"],
        total: Float[Tensor, ""],
        known: set[int] | None,
        vocabulary: Vocabulary,
        top: int,
        only_new: bool,
    ) -> AnswerTable:
        if only_new and known is None:
            raise UserError("--only-new needs the graph of the run, which is not at its place; give it with --graph")
        predictions = [
            Prediction(
                rank,
                vocabulary[i],
                float(scores[i]),
                float((scores[i] - total).exp()),
                None if known is None else i in known,
            )
            for rank, i in enumerate(order, start=1)
            if not (only_new and known is not None and i in known)
        ]
        return AnswerTable(question, predictions[:top])

    def _refuse_if_not_finite(self, scores: Tensor) -> None:
        if not bool(torch.isfinite(scores).all()):
            raise UserError("the model gives a score that is not a finite number; it cannot answer (did it diverge?)")

    def _entity(self, name: str) -> int:
        return _find(self.names.entities, "entity", name)

    def _relation(self, name: str) -> int:
        return _find(self.names.relations, "relation", name)


def _find(vocabulary: Vocabulary, kind: str, name: str) -> int:
    found = vocabulary.find(name)
    if found is None:
        near = vocabulary.nearest(name)
        hint = f"the nearest are: {', '.join(near)}" if near else "nothing is near it"
        raise UserError(f"no {kind} is called {name!r}; {hint}")
    return found


def load(run: Path | str, graph: Path | str | None = None, device: str = "cpu") -> Predictor:
    """The predictor of a run: `bique.load("runs/mine").tails("dog.n.01", "_hypernym")`."""
    opened = Run.open(run)
    model, _ = opened.model(device)
    try:
        facts = opened.graph(Path(graph) if graph is not None else None)
    except UserError:
        if graph is not None:
            raise
        facts = None  # moved or removed: it still answers, but cannot say what is known
    return Predictor(model, opened.names, facts)
