"""What happens before the scores and its way back: the only parts of the engine that know the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from bique.config import PenaltyConfig
from bique.kernels.all_candidates import AllCandidates
from bique.kernels.row_product import GroupPenalty, RowProductKernel
from bique.kernels.sum_rows import Lookups, sort_lookups
from bique.models import Model, lookup
from bique.shapes import Float, Int
from bique.training.fusion import fused
from bique.training.step import Objective


class Batch(NamedTuple):
    """Triples with their share in the loss and in the penalty (0 for those that only fill up a short batch)."""

    heads: Int[Tensor, "*n batch"]
    relations: Int[Tensor, "*n batch"]
    tails: Int[Tensor, "*n batch"]
    numbers: Int[Tensor, "*n batch"]
    """What stands in a triple's third place: its tail, or the number of a query with many (which has tail 0)."""
    loss_weights: Float[Tensor, "*n batch"]
    penalty_weights: Float[Tensor, "*n batch"]
    size: Float[Tensor, "*n 1"]
    """How many triples are meant."""
    entities: Lookups
    """Heads, then tails."""
    relation_lookups: Lookups

    @property
    def triples(self) -> Int[Tensor, "*n batch 3"]:
        return torch.stack((self.heads, self.relations, self.numbers), dim=-1).long()


def make_batch(facts: Int[Tensor, "*n batch 3"], valid: Float[Tensor, "*n batch"], objective: Objective) -> Batch:
    """`valid` is 1 for the triples that are meant and 0 for those that fill up."""
    heads, relations, numbers = (one.contiguous() for one in facts.unbind(-1))  # kernels read them as they lie
    tails = numbers if objective.known is None else torch.zeros_like(numbers)
    weights = objective.weights(facts)
    weights = valid if weights is None else weights * valid
    count = valid.sum(-1, keepdim=True)
    return Batch(
        heads,
        relations,
        tails,
        numbers,
        weights / weights.sum(-1, keepdim=True),
        valid / count,
        count,
        sort_lookups(torch.cat((heads, tails), dim=-1)),
        sort_lookups(relations),
    )


def has_batch_norm(model: Model) -> bool:
    """Whether a query depends on the others of its batch: then none may fill up, and one alone is too few."""
    return any(isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)) for layer in model.modules())


class Gradients(NamedTuple):
    penalties: Float[Tensor, "batch"]
    """Weight · penalty of each triple."""
    entities: Float[Tensor, "twice_batch width"] | None
    """Of the looked-up heads, then tails; the table's own gradient comes on top."""
    relations: Float[Tensor, "batch relation_width"] | None
    """Of the looked-up relations."""
    dense: Mapping[str, Tensor]
    """Of whole parameters, by name; the entity table's may be sparse (`touches_few_rows`)."""


@runtime_checkable
class Front(Protocol):
    """What happens before the scores, and its way back."""

    def queries(self, batch: Batch, table: Tensor) -> tuple[Tensor, Tensor]:
        """The queries in the table's dtype, and the table they are compared with."""
        ...

    def gradients(self, batch: Batch, found: AllCandidates) -> Gradients: ...


class ProductFront:
    """A model whose transform is a product of rows: one kernel there, one back."""

    def __init__(self, model: Model, penalty: PenaltyConfig) -> None:
        assert model.row_product is not None
        weights = GroupPenalty(
            head=penalty.weight * penalty.entity,
            tail=penalty.weight * penalty.entity,
            factor=penalty.weight * penalty.relation,
            translation=penalty.weight * penalty.relation if penalty.relation_part == "both" else 0.0,
            translated_head=penalty.head == "translated",
        )
        self.model = model
        self.kernel = RowProductKernel(model.row_product, weights, model.device)

    def queries(self, batch: Batch, table: Tensor) -> tuple[Tensor, Tensor]:
        tables = self.model.entity, self.model.relation
        return self.kernel.queries(*tables, batch.heads, batch.relations, table.dtype), table

    def gradients(self, batch: Batch, found: AllCandidates) -> Gradients:
        tables = self.model.entity, self.model.relation
        ids = batch.heads, batch.relations, batch.tails
        rows = self.kernel.gradients(*tables, *ids, found.queries, batch.penalty_weights)
        return Gradients(rows[2], rows[0], rows[1], {})


class RowsFront:
    """Any model over its own two tables, through its `transform`, `factors` and further parameters."""

    def __init__(self, model: Model, objective: Objective, fuses: bool) -> None:
        self.model, self.objective = model, objective
        self.forward = fused(self._forward) if fuses else self._forward
        self.others = {name: one for name, one in model.named_parameters() if name not in ("entity", "relation")}

    def queries(self, batch: Batch, table: Tensor) -> tuple[Tensor, Tensor]:
        model, size = self.model, len(batch.heads)
        ids = torch.cat((batch.heads, batch.tails))
        self.rows = model.entity.detach().index_select(0, ids).requires_grad_()
        self.relation = model.relation.detach().index_select(0, batch.relations).requires_grad_()
        with torch.enable_grad():
            self.query, self.penalty = self.forward(self.rows[:size], self.relation, self.rows[size:])
        return self.query.detach().to(table.dtype), table

    def without_fusion(self) -> None:
        self.forward = self._forward

    def _forward(self, head: Tensor, relation: Tensor, tail: Tensor) -> tuple[Tensor, Tensor | None]:
        query = self.model.transform(head, relation)
        if not self.objective.penalty.weight:
            return query, None
        return query, self.objective.penalties(self.model, head, relation, tail, query)

    def gradients(self, batch: Batch, found: AllCandidates) -> Gradients:
        inputs = [self.rows, self.relation, *self.others.values()]
        (rows, relations, *others), penalties = _back([(self.query, found.queries)], self.penalty, batch, inputs)
        del self.query, self.penalty  # a graph kept alive would hold on to its stream when the next step is captured
        return Gradients(penalties, rows, relations, dict(zip(self.others, others, strict=True)))


class EncodedFront:
    """A model whose tables are made from its parameters anew in every step: gradients flow back through the making."""

    def __init__(self, model: Model, objective: Objective, beside: Beside) -> None:
        self.model, self.objective, self.beside = model, objective, beside
        self.parameters = dict(model.named_parameters())

    def queries(self, batch: Batch, table: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            self.table, relations = self.model.encode()
            head, relation = lookup(self.table, batch.heads), lookup(relations, batch.relations)
            self.query = self.model.transform(head, relation)
            self.penalty = None
            if self.objective.penalty.weight:
                tail = lookup(self.table, batch.tails)
                self.penalty = self.objective.penalties(self.model, head, relation, tail, self.query)
        return self.query.detach().to(table.dtype), self.table.detach().to(table.dtype)

    def gradients(self, batch: Batch, found: AllCandidates) -> Gradients:
        self.beside.join()
        ends = [(self.query, found.queries), (self.table, found.table)]
        dense, penalties = _back(ends, self.penalty, batch, list(self.parameters.values()))
        del self.table, self.query, self.penalty  # as above
        return Gradients(penalties, None, None, dict(zip(self.parameters, dense, strict=True)))


def _back(
    ends: list[tuple[Tensor, Tensor]], penalty: Tensor | None, batch: Batch, inputs: list[Tensor]
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Gradients of the inputs from those of the ends, and weight · penalty of each triple."""
    outputs, slopes = [end for end, _ in ends], [slope.to(end.dtype) for end, slope in ends]
    penalties = torch.zeros_like(batch.penalty_weights)
    if penalty is not None:
        outputs.append(penalty)
        slopes.append(batch.penalty_weights)
        penalties = batch.penalty_weights * penalty.detach()
    return torch.autograd.grad(outputs, inputs, slopes), penalties


class Beside:
    """A second stream of the device for work that nobody waits for yet; on the CPU there is none."""

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.busy = False

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if self.stream is None:
            yield
            return
        self.busy = True
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield

    def join(self) -> None:
        """Nothing to wait for is nothing to do: a step that is being captured may not wait for a stream outside it."""
        if self.stream is not None and self.busy:
            torch.cuda.current_stream().wait_stream(self.stream)
            self.busy = False
