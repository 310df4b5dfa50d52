"""The engine: the same step as `step.py`, at the speed of the hardware.

    looked-up rows → queries → all candidates → gradients of the rows → one pass over each table

Only the first and the fourth part know the model; they run through autograd, or through one kernel each when the
model's transform is a product of rows. The scores never enter autograd. A model without a dot product, and a loss over
sampled negatives, goes through autograd whole. Tables and optimizer state are float32; the
products run in the precision of the settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple, Protocol, cast, runtime_checkable

import torch
from torch import Tensor

from bique.config import OptimizerConfig, PenaltyConfig, RunConfig
from bique.errors import UserError
from bique.kernels.all_candidates import AllCandidates, all_candidates
from bique.kernels.row_product import GroupPenalty, RowProductKernel
from bique.kernels.score_slopes import Labels
from bique.kernels.sum_rows import Lookups, sort_lookups, sum_rows
from bique.kernels.tally import tally_
from bique.kernels.update_table import Rule, State, update_table_
from bique.models import Model
from bique.shapes import Float, Int
from bique.training.optimizers import set_rate
from bique.training.step import Objective

Precision = Literal["bf16", "tf32", "fp32"]


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


class Gradients(NamedTuple):
    penalties: Float[Tensor, "batch"]
    """Weight · penalty of each triple."""
    entities: Float[Tensor, "twice_batch width"] | None
    """Of the looked-up heads, then tails; the table's own gradient comes on top."""
    relations: Float[Tensor, "batch relation_width"] | None
    """Of the looked-up relations."""
    dense: Mapping[str, Tensor]
    """Of whole parameters, by name."""


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
        self.kernel = RowProductKernel(model.row_product, weights, model.entity.device)

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

    def __init__(self, model: Model, objective: Objective) -> None:
        self.model, self.objective = model, objective
        self.others = {name: one for name, one in model.named_parameters() if name not in ("entity", "relation")}

    def queries(self, batch: Batch, table: Tensor) -> tuple[Tensor, Tensor]:
        model, size = self.model, len(batch.heads)
        ids = torch.cat((batch.heads, batch.tails))
        self.rows = model.entity.detach().index_select(0, ids).requires_grad_()
        self.relation = model.relation.detach().index_select(0, batch.relations).requires_grad_()
        with torch.enable_grad():
            head, tail = self.rows[:size], self.rows[size:]
            self.query = model.transform(head, self.relation)
            self.penalty = None
            if self.objective.penalty.weight:
                self.penalty = self.objective.penalties(model, head, self.relation, tail, self.query)
        return self.query.detach().to(table.dtype), table

    def gradients(self, batch: Batch, found: AllCandidates) -> Gradients:
        outputs, slopes, penalties = [self.query], [found.queries.to(self.query.dtype)], batch.penalty_weights * 0
        if self.penalty is not None:
            outputs.append(self.penalty)
            slopes.append(batch.penalty_weights)
            penalties = batch.penalty_weights * self.penalty.detach()
        inputs = self.rows, self.relation, *self.others.values()
        rows, relations, *others = torch.autograd.grad(outputs, inputs, slopes)
        return Gradients(penalties, rows, relations, dict(zip(self.others, others, strict=True)))


class EncodedFront:
    """A model whose tables are made from its parameters anew in every step: gradients flow back through the making."""

    def __init__(self, model: Model, objective: Objective, beside: Beside) -> None:
        self.model, self.objective, self.beside = model, objective, beside
        self.parameters = dict(model.named_parameters())

    def queries(self, batch: Batch, table: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            self.table, relations = self.model.encode()
            head, relation = self.table[batch.heads], relations[batch.relations]
            self.query = self.model.transform(head, relation)
            self.penalty = None
            if self.objective.penalty.weight:
                tail = self.table[batch.tails]
                self.penalty = self.objective.penalties(self.model, head, relation, tail, self.query)
        return self.query.detach().to(table.dtype), self.table.detach().to(table.dtype)

    def gradients(self, batch: Batch, found: AllCandidates) -> Gradients:
        self.beside.join()
        outputs, penalties = [self.query, self.table], batch.penalty_weights * 0
        slopes = [found.queries.to(self.query.dtype), found.table.to(self.table.dtype)]
        if self.penalty is not None:
            outputs.append(self.penalty)
            slopes.append(batch.penalty_weights)
            penalties = batch.penalty_weights * self.penalty.detach()
        dense = torch.autograd.grad(outputs, list(self.parameters.values()), slopes)
        return Gradients(penalties, None, None, dict(zip(self.parameters, dense, strict=True)))


class Engine:
    """Takes steps. With `kernels`, every pass over a table is one Triton kernel; without, torch's fused optimizer."""

    def __init__(
        self,
        config: RunConfig,
        model: Model,
        optimizer: torch.optim.Optimizer,
        objective: Objective,
        precision: Precision,
        kernels: bool,
    ) -> None:
        self.config, self.model, self.optimizer, self.objective = config, model, optimizer, objective
        self.kernels = kernels
        self.precision: Precision = precision
        self.parameters = dict(model.named_parameters())
        self.beside = Beside(model.entity.device)
        self.front = self._choose_front()
        self.rule = make_rule(config.optimizer)
        self.steps_done = torch.zeros((), device=model.entity.device)
        """Adam's corrections need it where the step runs."""
        self.rate = torch.full((), config.optimizer.learning_rate, device=model.entity.device)
        self.shadow = model.entity.detach().bfloat16() if precision == "bf16" and self.front else None
        self.places = {
            name: torch.zeros(len(table), dtype=torch.int32, device=table.device)
            for name, table in (("entity", model.entity), ("relation", model.relation))
        }

    def _choose_front(self) -> Front | None:
        """None: this model or this loss goes through autograd whole."""
        model, options = self.model, self.config.objective
        if not model.dot_product or options.negatives or options.loss not in ("softmax", "logistic", "binary"):
            return None
        if type(model).encode is not Model.encode:
            return EncodedFront(model, self.objective, self.beside)
        plain_penalty = self.config.penalty.kind == "group_n3" or not self.config.penalty.weight
        if self.kernels and plain_penalty and model.row_product is not None:
            return ProductFront(model, self.config.penalty)
        return RowsFront(model, self.objective)

    def set_rate(self, rate: float) -> None:
        self.rate.fill_(rate)
        set_rate(self.optimizer, rate)

    def tables_changed(self, steps_done: int) -> None:
        """Somebody else wrote the tables: a checkpoint was read."""
        self.steps_done.fill_(float(steps_done))
        if self.shadow is not None:
            self.shadow.copy_(self.model.entity)

    def step(self, batch: Batch, loss_sum: Float[Tensor, "1"]) -> None:
        """`loss_sum` grows by the loss before the step, which is that of the plain step, times the batch's size."""
        with products_in(self.precision):
            if self.front is None:
                self._step_by_autograd(batch, loss_sum)
            else:
                self._step_over_all(self.front, batch, loss_sum)

    @torch.no_grad()
    def _step_over_all(self, front: Front, batch: Batch, loss_sum: Tensor) -> None:
        queries, table = front.queries(batch, self.model.entity if self.shadow is None else self.shadow)
        options, candidates, known = self.config.objective, self.model.num_entities, self.objective.known
        found = all_candidates(
            queries,
            table,
            batch.tails if known is None else known.pairs(batch.numbers),
            # the binary loss is a mean over the candidates
            batch.loss_weights if known is None else batch.loss_weights / candidates,
            candidates=candidates,
            loss="softmax" if options.loss == "softmax" else "logistic",
            labels=Labels.smoothed(options.label_smoothing, candidates, options.smoothing_share == "published"),
            memory=self.config.training.score_memory_mb << 20,
            beside=self.beside,
        )
        gradients = front.gradients(batch, found)
        self._update(batch, gradients, None if gradients.entities is None else found.table)
        tally_(loss_sum, found.losses, gradients.penalties, batch.size)

    def _step_by_autograd(self, batch: Batch, loss_sum: Tensor) -> None:
        with torch.enable_grad():
            terms = self.objective.terms(self.model, batch.triples)
            losses = batch.loss_weights * terms.losses
            penalties = batch.penalty_weights * (0 if terms.penalties is None else terms.penalties)
            total = losses.sum() + penalties.sum()
            dense = torch.autograd.grad(total, list(self.parameters.values()), allow_unused=True)
        found = {name: one for name, one in zip(self.parameters, dense, strict=True) if one is not None}
        with torch.no_grad():
            self._update(batch, Gradients(penalties.detach(), None, None, found), None)
            tally_(loss_sum, losses.detach(), penalties.detach(), batch.size)

    def _update(self, batch: Batch, gradients: Gradients, table: Tensor | None) -> None:
        """`table`: the dense part of the entity table's gradient, when its rows were looked up."""
        # one-pass optimizers, torch's and ours, read a gradient as it lies in memory: a strided one would be misread
        dense = {name: one.contiguous() for name, one in gradients.dense.items()}
        gradients = gradients._replace(dense=dense)
        if self.kernels:
            self._update_by_kernels(batch, gradients, table)
        else:
            self.beside.join()
            self._update_by_torch(batch, gradients, table)

    def _update_by_kernels(self, batch: Batch, gradients: Gradients, table: Tensor | None) -> None:
        model, rule, rate = self.model, self.rule, self.rate
        if rule.name == "adam":
            self.steps_done += 1
        entity = None
        if gradients.entities is not None:
            entity = sum_rows(gradients.entities, batch.entities, self.places["entity"])
        self.beside.join()
        with self.beside():  # the small tables' updates hide behind the large one's
            if gradients.relations is not None:
                relation = sum_rows(gradients.relations, batch.relation_lookups, self.places["relation"])
                update_table_(model.relation, self._state("relation"), rule, rate, relation)
            for name, gradient in gradients.dense.items():
                if name != "entity":
                    update_table_(
                        _as_rows(self.parameters[name]), self._state(name), rule, rate, None, _as_rows(gradient)
                    )
        dense = gradients.dense.get("entity", table)
        update_table_(model.entity, self._state("entity"), rule, rate, entity, dense, self.shadow)
        self.beside.join()

    def _state(self, name: str) -> State:
        state = self.optimizer.state[self.parameters[name]]
        if self.rule.name == "adagrad":
            return State(_as_rows(state["sum"]))
        return State(_as_rows(state["exp_avg"]), _as_rows(state["exp_avg_sq"]), self.steps_done)

    def _update_by_torch(self, batch: Batch, gradients: Gradients, table: Tensor | None) -> None:
        model = self.model
        for name, gradient in gradients.dense.items():
            self.parameters[name].grad = gradient
        if gradients.entities is not None and table is not None:
            ids = torch.cat((batch.heads, batch.tails))
            model.entity.grad = table.to(model.entity.dtype).index_add_(0, ids, gradients.entities)
        if gradients.relations is not None:
            zeros = torch.zeros_like(model.relation)
            model.relation.grad = zeros.index_add_(0, batch.relations, gradients.relations)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.shadow is not None:
            self.shadow.copy_(model.entity)


def _as_rows(values: Tensor) -> Tensor:
    """Any parameter as rows."""
    return values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)


class Beside:
    """A second stream of the device for work that nobody waits for yet; on the CPU there is none."""

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if self.stream is None:
            yield
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            yield

    def join(self) -> None:
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)


def make_rule(config: OptimizerConfig) -> Rule:
    return Rule(config.name, config.eps, config.betas or (0.9, 0.999))


def choose_precision(wanted: Literal["auto", "bf16", "tf32", "fp32"], device: torch.device) -> Precision:
    """auto: bf16 on a CUDA device that has it, fp32 elsewhere."""
    if wanted == "tf32" and device.type != "cuda":
        raise UserError("training.precision = 'tf32' needs a CUDA device; use 'fp32', 'bf16' or 'auto'")
    if wanted != "auto":
        return cast("Precision", wanted)
    return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """torch's switch for tf32 holds for the whole process: set for this step, then as the caller had it."""
    former = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = former
