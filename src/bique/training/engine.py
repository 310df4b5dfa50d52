"""The engine: the same step as `step.py`, at the speed of the hardware.

    looked-up rows → queries → all candidates → gradients of the rows → one pass over each table

Only the first and the fourth part know the model; they run through autograd, or through one kernel each when the
model's transform is a product of rows. The scores never enter autograd. Tables and optimizer state are float32; the
products run in the precision of the settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple, Protocol, cast, runtime_checkable

import torch
from torch import Tensor

from bique.config import OptimizerConfig, PenaltyConfig, RunConfig
from bique.errors import UserError
from bique.kernels.all_candidates import all_candidates
from bique.kernels.row_product import GroupPenalty, RowProductKernel
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
    loss_weights: Float[Tensor, "*n batch"]
    penalty_weights: Float[Tensor, "*n batch"]
    size: Float[Tensor, "*n 1"]
    """How many triples are meant."""
    entities: Lookups
    """Heads, then tails."""
    relation_lookups: Lookups


def make_batch(facts: Int[Tensor, "*n batch 3"], valid: Float[Tensor, "*n batch"], objective: Objective) -> Batch:
    """`valid` is 1 for the triples that are meant and 0 for those that fill up."""
    heads, relations, tails = facts.unbind(-1)
    weights = objective.target_weights(tails)
    weights = valid if weights is None else weights * valid
    count = valid.sum(-1, keepdim=True)
    return Batch(
        heads,
        relations,
        tails,
        weights / weights.sum(-1, keepdim=True),
        valid / count,
        count,
        sort_lookups(torch.cat((heads, tails), dim=-1)),
        sort_lookups(relations),
    )


class RowGradients(NamedTuple):
    entities: Float[Tensor, "twice_batch width"]
    """Of heads, then tails."""
    relations: Float[Tensor, "batch relation_width"]
    penalties: Float[Tensor, "batch"]
    """Weight · penalty of each triple."""


@runtime_checkable
class Front(Protocol):
    """What happens before the scores, and its way back."""

    def queries(self, batch: Batch, dtype: torch.dtype) -> Float[Tensor, "batch width"]: ...

    def gradients(self, batch: Batch, query_gradients: Float[Tensor, "batch width"]) -> RowGradients: ...


class AutogradFront:
    """Any model, through its own `transform` and `factors`."""

    def __init__(self, model: Model, objective: Objective) -> None:
        self.model, self.objective = model, objective

    def queries(self, batch: Batch, dtype: torch.dtype) -> Float[Tensor, "batch width"]:
        model, size = self.model, len(batch.heads)
        ids = torch.cat((batch.heads, batch.tails))
        self.rows = model.entity.detach().index_select(0, ids).requires_grad_()
        self.relation = model.relation.detach().index_select(0, batch.relations).requires_grad_()
        with torch.enable_grad():
            head, tail = self.rows[:size], self.rows[size:]
            self.query = model.transform(head, self.relation)
            self.penalty = None
            if self.objective.penalty.weight:
                self.penalty = self.objective.penalties(model, head, self.relation, tail)
        return self.query.detach().to(dtype)

    def gradients(self, batch: Batch, query_gradients: Float[Tensor, "batch width"]) -> RowGradients:
        outputs, slopes = [self.query], [query_gradients.to(self.query.dtype)]
        penalties = torch.zeros_like(batch.penalty_weights)
        if self.penalty is not None:
            outputs.append(self.penalty)
            slopes.append(batch.penalty_weights)
            penalties = batch.penalty_weights * self.penalty.detach()
        entities, relations = torch.autograd.grad(outputs, (self.rows, self.relation), slopes)
        return RowGradients(entities, relations, penalties)


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

    def queries(self, batch: Batch, dtype: torch.dtype) -> Float[Tensor, "batch width"]:
        return self.kernel.queries(self.model.entity, self.model.relation, batch.heads, batch.relations, dtype)

    def gradients(self, batch: Batch, query_gradients: Float[Tensor, "batch width"]) -> RowGradients:
        tables = self.model.entity, self.model.relation
        ids = batch.heads, batch.relations, batch.tails
        return RowGradients(*self.kernel.gradients(*tables, *ids, query_gradients, batch.penalty_weights))


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
        self.config, self.model, self.optimizer = config, model, optimizer
        self.kernels = kernels
        self.precision: Precision = precision
        row_product = kernels and model.row_product is not None
        self.front: Front = ProductFront(model, config.penalty) if row_product else AutogradFront(model, objective)
        self.rule = make_rule(config.optimizer)
        self.steps_done = torch.zeros((), device=model.entity.device)
        """Adam's corrections need it where the step runs."""
        self.rate = torch.full((), config.optimizer.learning_rate, device=model.entity.device)
        self.shadow = model.entity.detach().bfloat16() if precision == "bf16" else None
        self.places = [
            torch.zeros(len(table), dtype=torch.int32, device=table.device) for table in (model.entity, model.relation)
        ]
        self.beside = Beside(model.entity.device)

    def set_rate(self, rate: float) -> None:
        self.rate.fill_(rate)
        set_rate(self.optimizer, rate)

    def tables_changed(self, steps_done: int) -> None:
        """Somebody else wrote the tables: a checkpoint was read."""
        self.steps_done.fill_(float(steps_done))
        if self.shadow is not None:
            self.shadow.copy_(self.model.entity)

    @torch.no_grad()
    def step(self, batch: Batch, loss_sum: Float[Tensor, "1"]) -> None:
        """`loss_sum` grows by the loss before the step, which is that of the plain step, times the batch's size."""
        with products_in(self.precision):
            table = self.model.entity if self.shadow is None else self.shadow
            queries = self.front.queries(batch, table.dtype)
            found = all_candidates(
                queries,
                table,
                batch.tails,
                batch.loss_weights,
                candidates=self.model.num_entities,
                loss=self.config.objective.loss,
                smoothing=self.config.objective.label_smoothing,
                memory=self.config.training.score_memory_mb << 20,
                beside=self.beside,
            )
            rows = self.front.gradients(batch, found.queries)
        if self.kernels:
            self._update_by_kernels(batch, found.table, rows)
        else:
            self.beside.join()
            self._update_by_torch(batch, found.table, rows)
        tally_(loss_sum, found.losses, rows.penalties, batch.size)

    def _update_by_kernels(self, batch: Batch, gradient: Tensor, rows: RowGradients) -> None:
        model = self.model
        if self.rule.name == "adam":
            self.steps_done += 1
        entity = sum_rows(rows.entities, batch.entities, self.places[0])
        self.beside.join()
        with self.beside():  # a small table's update hides behind the large one's
            relation = sum_rows(rows.relations, batch.relation_lookups, self.places[1])
            update_table_(model.relation, self._state(model.relation), self.rule, self.rate, relation)
        state = self._state(model.entity)
        update_table_(model.entity, state, self.rule, self.rate, entity, gradient, self.shadow)
        self.beside.join()

    def _state(self, table: Tensor) -> State:
        state = self.optimizer.state[table]
        if self.rule.name == "adagrad":
            return State(state["sum"])
        return State(state["exp_avg"], state["exp_avg_sq"], self.steps_done)

    def _update_by_torch(self, batch: Batch, gradient: Tensor, rows: RowGradients) -> None:
        model = self.model
        ids = torch.cat((batch.heads, batch.tails))
        model.entity.grad = gradient.to(model.entity.dtype).index_add_(0, ids, rows.entities)
        model.relation.grad = torch.zeros_like(model.relation).index_add_(0, batch.relations, rows.relations)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.shadow is not None:
            self.shadow.copy_(model.entity)


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
