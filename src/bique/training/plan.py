"""What a run will need, said before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from bique.config import RunConfig
from bique.graph import Graph
from bique.models import Model

_STATE_TABLES = {"adagrad": 1, "adam": 2}


@dataclass(frozen=True)
class Plan:
    parameters: int
    memory_bytes: int
    """Tables, gradients and optimizer state, plus the scores of one batch."""
    epochs: int
    steps_per_epoch: int
    device: str

    def line(self) -> str:
        steps = f"{self.epochs} epochs × {self.steps_per_epoch} steps"
        memory = _size(float(self.memory_bytes))
        return f"{self.parameters:,} parameters · about {memory} of memory · {steps} · {self.device}"


def make_plan(config: RunConfig, graph: Graph, model: Model, steps_per_epoch: int, device: str) -> Plan:
    values = sum(table.numel() for table in model.parameters())
    real = model.without_padding("entity", model.entity).numel() + model.relation.numel()
    tables = values * 4 * (2 + _STATE_TABLES[config.optimizer.name])
    batch = min(config.training.batch_size, 2 * len(graph.train))
    # the scores, their softmax and its gradient live at the same time
    scores = 3 * batch * graph.num_entities * 4
    return Plan(real, tables + scores, config.training.epochs, steps_per_epoch, device)


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
