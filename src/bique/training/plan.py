"""What a run will need, said before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from bique.config import RunConfig
from bique.graph import Graph
from bique.kernels.all_candidates import SCORES
from bique.kernels.precision import Precision
from bique.models import Model
from bique.training.engine import touches_few_rows

_STATE_TABLES = {"adagrad": 1, "adam": 2}


@dataclass(frozen=True)
class Plan:
    parameters: int
    memory_bytes: int
    """Tables, gradient and optimizer state, plus the scores of one batch."""
    epochs: int
    steps_per_epoch: int
    device: str

    def line(self) -> str:
        work = {"epoch": self.epochs, "step": self.steps_per_epoch}
        steps = " × ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in work.items())
        memory = _size(float(self.memory_bytes))
        return f"{self.parameters:,} parameters · about {memory} of memory · {steps} · {self.device}"


def make_plan(
    config: RunConfig, graph: Graph, model: Model, steps_per_epoch: int, device: str, precision: Precision
) -> Plan:
    values = sum(table.numel() for table in model.parameters())
    real = sum(model.without_padding(name, table).numel() for name, table in model.named_parameters())
    tables = values * 4 * (1 + _STATE_TABLES[config.optimizer.name])
    batch = min(config.training.batch_size, 2 * len(graph.train))
    scores = batch * len(model.entity)
    negatives = config.objective.negatives
    if negatives:
        # the rows of target and negatives, and what autograd keeps of them
        rows = config.objective.lookups(batch)
        each = model.kept_scores + 6 * config.objective.filtered  # to look one up among the facts takes three numbers
        sparse = config.training.engine == "fast" and touches_few_rows(config, model)
        gradients = values - (model.entity.numel() if sparse else 0)
        working = 4 * (gradients + 4 * rows * model.entity_width + each * batch * negatives)
    elif config.training.engine == "plain" or not model.dot_product:
        # a gradient for each lookup and the product; the scores, their softmax and its gradient live at the same time
        working = 4 * (3 * values + model.kept_scores * scores)
    else:
        bytes_each = 2 if precision == "bf16" else 4
        shadow = 2 * values if precision == "bf16" else 0
        slopes = min(bytes_each * scores, config.training.score_memory_mb << 20)
        working = bytes_each * values + shadow + slopes + min(4 * scores, SCORES)
    queries = batch * (1 + negatives) if config.objective.sampler == "pairs" else batch
    working += 4 * model.kept_numbers(queries)
    return Plan(real, tables + working, config.training.epochs, steps_per_epoch, f"{device}, {precision}")


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
