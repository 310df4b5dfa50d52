"""The engine: the same step as `step.py`, at the speed of the hardware.

    looked-up rows → queries → all candidates → gradients of the rows → one pass over each table

Only the first and the fourth part know the model (`fronts.py`). The scores never enter autograd. A model without a dot
product, and a loss over sampled negatives, goes through autograd whole, fused by torch.compile on a CUDA device; with
negatives and Adagrad a CPU updates the looked-up rows alone, where they are few: the tables are the same to rounding.
Tables and optimizer state are float32; the products run in the precision of the settings.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import Literal, cast

import torch
from torch import Tensor

from bique.config import OptimizerConfig, RunConfig
from bique.errors import UserError
from bique.kernels.all_candidates import all_candidates
from bique.kernels.precision import Precision, layers_in, products_in
from bique.kernels.score_slopes import Labels
from bique.kernels.sum_rows import sum_rows
from bique.kernels.tally import tally_
from bique.kernels.update_table import Rule, State, update_rows_, update_table_
from bique.models import Model
from bique.shapes import Float
from bique.training.fronts import (
    Batch,
    Beside,
    EncodedFront,
    Front,
    Gradients,
    ProductFront,
    RowsFront,
    has_batch_norm,
)
from bique.training.fusion import can_be_fused, cannot_compile, fused
from bique.training.optimizers import set_rate
from bique.training.step import Objective


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
        self.objective = replace(objective, sparse=not kernels and touches_few_rows(config, model))
        self.config, self.model, self.optimizer, self.kernels = config, model, optimizer, kernels
        self.parameters = dict(model.named_parameters())
        self.beside = Beside(model.device)
        self.front = self._choose_front()
        self.terms = fused(self.objective.terms) if self.front is None and self.fuses else self.objective.terms
        self.precision: Precision = "fp32" if self.front is None else precision
        if self.front is None and config.training.precision in ("bf16", "tf32"):
            raise UserError(
                f"training.precision = {config.training.precision!r} is for products over all candidates; this model "
                "or loss has none: use 'auto' or 'fp32'"
            )
        self.compiles = (self.front is None or isinstance(self.front, RowsFront)) and self.fuses
        """Before its first step."""
        self.rule = make_rule(config.optimizer)
        self.steps_done = torch.zeros((), device=model.device)
        """Adam's corrections need it where the step runs."""
        self.rate = torch.full((), config.optimizer.learning_rate, device=model.device)
        rounds, cuda = self.precision == "bf16", model.device.type == "cuda"
        self.shadow = model.entity.detach().bfloat16() if rounds and cuda else None
        # a CPU has no product of bf16 with a float32 result: it makes scores of float32, and only slopes are bf16
        self.slopes_in = torch.bfloat16 if rounds else None
        self.places = {
            name: torch.zeros(len(table), dtype=torch.int32, device=table.device)
            for name, table in (("entity", model.entity), ("relation", model.relation))
        }

    @cached_property
    def fuses(self) -> bool:
        """Whether what has no kernel is compiled. A short last batch that is not filled up would be compiled anew."""
        fast = self.kernels and self.model.device.type == "cuda"
        return fast and not has_batch_norm(self.model) and can_be_fused(self.model)

    def _choose_front(self) -> Front | None:
        """None: this model or this loss goes through autograd whole."""
        model, options = self.model, self.config.objective
        if not model.dot_product or options.negatives:
            return None
        if model.encodes_entities:
            return EncodedFront(model, self.objective, self.beside)
        plain_penalty = self.config.penalty.kind == "group_n3" or not self.config.penalty.weight
        if self.kernels and plain_penalty and model.row_product is not None:
            return ProductFront(model, self.config.penalty)
        return RowsFront(model, self.objective, self.fuses)

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
        try:
            self._step(batch, loss_sum)
        except RuntimeError as error:
            if not (self.compiles and cannot_compile(error)):
                raise
            reason = str(error).strip().splitlines()[0]
            warnings.warn(f"this step cannot be compiled, so it is slower: {reason}", stacklevel=2)
            self._without_fusion()
            self._step(batch, loss_sum)  # nothing was written before the gradients were there

    def _step(self, batch: Batch, loss_sum: Tensor) -> None:
        with products_in(self.precision, self.model.device):
            if self.front is None:
                self._step_by_autograd(batch, loss_sum)
            else:
                self._step_over_all(self.front, batch, loss_sum)

    def _without_fusion(self) -> None:
        self.compiles, self.terms = False, self.objective.terms
        if isinstance(self.front, RowsFront):
            self.front.without_fusion()

    @torch.no_grad()
    def _step_over_all(self, front: Front, batch: Batch, loss_sum: Tensor) -> None:
        with layers_in(self.precision, self.model.device):
            queries, table = front.queries(batch, self.model.entity if self.shadow is None else self.shadow)
        options, candidates, known = self.config.objective, self.model.num_entities, self.objective.known
        found = all_candidates(
            queries,
            table,
            batch.tails if known is None else known.pairs(batch.numbers),
            # the binary loss is a mean over the candidates
            batch.loss_weights / candidates if options.loss == "binary" else batch.loss_weights,
            candidates=candidates,
            loss="softmax" if options.loss in ("softmax", "shared_softmax") else "logistic",
            labels=Labels.smoothed(options.label_smoothing, candidates, options.smoothing_share == "published"),
            slopes_in=self.slopes_in,
            memory=self.config.training.score_memory_mb << 20,
            beside=self.beside,
        )
        gradients = front.gradients(batch, found)
        self._update(batch, gradients, None if gradients.entities is None else found.table)
        tally_(loss_sum, found.losses, gradients.penalties, batch.size)

    def _step_by_autograd(self, batch: Batch, loss_sum: Tensor) -> None:
        with torch.enable_grad():
            terms = self.terms(self.model, batch.triples)
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
        dense = {name: one if one.is_sparse else one.contiguous() for name, one in gradients.dense.items()}
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
            if gradient.is_sparse:
                update_rows_(self.parameters[name], self._state(name), self.rule, self.rate, gradient)
            else:
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


def touches_few_rows(config: RunConfig, model: Model) -> bool:
    """Whether a step changes only entities that it looks up, so few of them that passing over the table takes longer.

    On a GPU that pass is a small part of a step (LOG.md).
    """
    alone = config.optimizer.name == "adagrad" and not model.encodes_entities
    lookups = config.objective.lookups(config.training.batch_size)
    return alone and model.device.type == "cpu" and 0 < 4 * lookups < len(model.entity)


def make_rule(config: OptimizerConfig) -> Rule:
    return Rule(config.name, config.eps, config.betas or (0.9, 0.999))


def choose_precision(wanted: Literal["auto", "bf16", "tf32", "fp32"], device: torch.device) -> Precision:
    """auto: bf16 on a CUDA device that has it, fp32 elsewhere."""
    if wanted == "tf32" and device.type != "cuda":
        raise UserError("training.precision = 'tf32' needs a CUDA device; use 'fp32', 'bf16' or 'auto'")
    if wanted != "auto":
        return cast("Precision", wanted)
    return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
