"""Which step a run takes: the engine captured on a CUDA device, the engine on the CPU, or the plain step."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from bique.config import RunConfig
from bique.kernels.backend import why_no_triton
from bique.kernels.precision import Precision, products_in
from bique.models import Model
from bique.shapes import Float, Int
from bique.training.batches import Batches
from bique.training.capture import CapturedSteps
from bique.training.engine import Engine, choose_precision
from bique.training.fronts import make_batch
from bique.training.optimizers import make_optimizer, set_rate
from bique.training.step import Objective, take_step


@runtime_checkable
class Stepper(Protocol):
    """Takes the steps of an epoch in their order."""

    loss_sum: Float[Tensor, "1"]
    """Of the epoch so far: the batches' losses, each times its size."""
    precision: Precision
    """Of the products with the entity table."""
    note: str | None
    """What the user should know about this way of training."""

    def step(self, order: Int[Tensor, "facts"], step: int) -> None: ...

    def set_rate(self, rate: float) -> None: ...

    def tables_changed(self, steps_done: int) -> None: ...


class PlainSteps:
    """Autograd and torch's optimizer."""

    def __init__(self, model: Model, optimizer: torch.optim.Optimizer, batches: Batches, objective: Objective) -> None:
        self.model, self.optimizer, self.batches, self.objective = model, optimizer, batches, objective
        self.loss_sum = torch.zeros(1, dtype=torch.float64, device=batches.facts.device)
        self.precision: Precision = "fp32"
        self.note: str | None = None

    def step(self, order: Int[Tensor, "facts"], step: int) -> None:
        batch = self.batches.batch(order, step)
        with products_in("fp32", self.model.device):
            loss = take_step(self.model, self.objective, self.optimizer, batch)
        self.loss_sum += loss.double() * len(batch)

    def set_rate(self, rate: float) -> None:
        set_rate(self.optimizer, rate)

    def tables_changed(self, steps_done: int) -> None:
        """Nothing here depends on them."""


class EngineSteps:
    """The engine, one call per step: on the CPU, and on a CUDA device where there is no Triton."""

    def __init__(self, engine: Engine, batches: Batches, objective: Objective, note: str | None = None) -> None:
        self.engine, self.batches, self.objective, self.note = engine, batches, objective, note
        self.precision: Precision = engine.precision
        self.loss_sum = torch.zeros(1, dtype=torch.float64, device=batches.facts.device)

    def step(self, order: Int[Tensor, "facts"], step: int) -> None:
        facts = self.batches.batch(order, step)
        batch = make_batch(facts, torch.ones(len(facts), device=facts.device), self.objective)
        self.engine.step(batch, self.loss_sum)

    def set_rate(self, rate: float) -> None:
        self.engine.set_rate(rate)

    def tables_changed(self, steps_done: int) -> None:
        self.engine.tables_changed(steps_done)


def make_stepper(
    config: RunConfig, model: Model, batches: Batches, objective: Objective
) -> tuple[torch.optim.Optimizer, Stepper]:
    device = batches.facts.device
    precision = choose_precision(config.training.precision, device)
    if config.training.engine == "plain":
        optimizer = make_optimizer(config.optimizer, model)
        return optimizer, PlainSteps(model, optimizer, batches, objective)
    missing = why_no_triton(device)
    kernels = device.type == "cuda" and missing is None
    optimizer = make_optimizer(config.optimizer, model, fused=not kernels)
    engine = Engine(config, model, optimizer, objective, precision, kernels)
    if kernels:
        return optimizer, CapturedSteps(engine, batches, objective)
    note = f"{missing}: training without the fused kernels, which is slower" if missing else None
    return optimizer, EngineSteps(engine, batches, objective, note)
