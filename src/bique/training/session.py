"""The state of one training: model, optimizer, place in the data; saved and restored, on a CPU to the last bit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import torch

from bique.config import RunConfig
from bique.errors import DivergedError, UserError
from bique.graph import Graph
from bique.kernels.precision import products_in
from bique.models import build_model
from bique.runs import Checkpoint
from bique.training.batches import Batches
from bique.training.fronts import has_batch_norm
from bique.training.optimizers import load_optimizer_tensors, optimizer_tensors, rate_in
from bique.training.step import Objective
from bique.training.stepper import make_stepper

# of train that a model is settled with
QUERIES = 8192


@dataclass
class Place:
    """Where training stands: whole epochs done, steps done of the next one, and what was best so far."""

    epoch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    """Of the epoch under way, each batch weighted by its size."""
    best_mrr: float | None = None
    best_epoch: int = 0
    seconds: float = 0.0
    """Training time so far, over all sittings."""


class Session:
    """Everything that a step reads and writes."""

    def __init__(self, config: RunConfig, graph: Graph, device: torch.device) -> None:
        self.config, self.graph, self.device = config, graph, device
        self.place = Place()
        self.model = build_model(config.model, graph, config.training.seed).to(device)
        size, seed = config.training.batch_size, config.training.seed
        self.batches = Batches(graph, size, seed, device, queries=config.objective.one_to_n)
        self._refuse_a_batch_of_one()
        self.objective = Objective.of(config, graph, device)
        self._rate_of: int | None = None
        self._seeded = False
        self._copy: dict[str, torch.Tensor] | None = None
        self.optimizer, self.stepper = make_stepper(config, self.model, self.batches, self.objective)

    def _refuse_a_batch_of_one(self) -> None:
        """The statistics of a batch need two, those of CompGCN's messages two entities."""
        if self.model.needs_facts and self.graph.num_entities == 1:
            name = self.config.model.name
            raise UserError(f"the graph has one entity, and {name}'s message passing needs two; use another model")
        size, count = self.batches.batch_size, len(self.batches.facts)
        if (count % size == 1 or size == 1) and has_batch_norm(self.model):
            raise UserError(
                f"training.batch_size = {size} leaves a batch of one of {count:,} queries, and the batch norms of "
                f"{self.config.model.name} need two; use another batch size"
            )

    def step(self) -> None:
        if self.place.epoch != self._rate_of:
            self._rate_of = self.place.epoch
            epochs = self.config.training.epochs
            self.stepper.set_rate(rate_in(self.config.optimizer, self.place.epoch, epochs))
        if self.device.type == "cpu" or not self._seeded:
            # dropout and negatives of a step depend on its number alone; a captured step goes on from the first seed
            torch.manual_seed((self.config.training.seed * 0xD1342543DE82EF95 + self.steps_done) % 2**63)
            self._seeded = True
        self.stepper.step(self.batches.order(self.place.epoch), self.place.step)
        self.place.step += 1

    def look_ahead(self) -> None:
        """Draw the order of the next epoch while the device is still busy with this one."""
        self.batches.order(self.place.epoch + 1)

    @property
    def steps_done(self) -> int:
        return self.place.epoch * self.batches.per_epoch + self.place.step

    def epoch_loss(self) -> float:
        """The mean loss over the epoch so far; an error if it is not a finite number."""
        seen = min(self.place.step * self.batches.batch_size, len(self.batches.facts))
        mean = self.stepper.loss_sum.item() / max(seen, 1)
        if not np.isfinite(mean):
            raise NotFiniteError(self.place, mean)
        return mean

    def next_epoch(self) -> None:
        self.place.epoch, self.place.step = self.place.epoch + 1, 0
        self.stepper.loss_sum.zero_()

    def settle(self) -> None:
        """Before an evaluation."""
        facts = self.batches.facts[:: -(-len(self.batches.facts) // QUERIES)]  # from all of train
        with products_in("fp32", self.device):
            self.model.settle(facts[:, 0], facts[:, 1])

    def check_finite(self) -> None:
        """No checkpoint is written of a model that has diverged."""
        self.epoch_loss()
        tables = [table for table in self.model.state_dict().values() if table.is_floating_point()]
        if not all(bool(torch.isfinite(table).all()) for table in tables):
            raise NotFiniteError(self.place, float("nan"))

    def save(self) -> Checkpoint:
        self.check_finite()
        self.place.loss_sum = self.stepper.loss_sum.item()
        state = optimizer_tensors(self.optimizer, self.model, self.steps_done)
        tensors = {f"optimizer/{name}": tensor for name, tensor in state.items()}
        return Checkpoint(self.model_tensors() | tensors, {"place": asdict(self.place)})

    def model_tensors(self) -> dict[str, torch.Tensor]:
        return {f"model/{name}": table for name, table in self.model.tables().items()}

    def copy_of_model(self) -> dict[str, torch.Tensor]:
        """The model's tables in host memory, where training does not change them. The former copy is written over."""
        tensors = self.model_tensors()
        if self._copy is None:
            pinned = self.device.type == "cuda"  # thirty times the speed of a copy to pageable memory
            self._copy = {name: torch.empty_like(one, device="cpu", pin_memory=pinned) for name, one in tensors.items()}
        for name, one in tensors.items():
            self._copy[name].copy_(one)
        return self._copy

    def restore(self, checkpoint: Checkpoint) -> None:
        self.model.load_tables(checkpoint.group("model"))
        load_optimizer_tensors(self.optimizer, self.model, checkpoint.group("optimizer"))
        saved: dict[str, Any] = checkpoint.record["place"]
        self.place = Place(**{field.name: saved[field.name] for field in fields(Place)})
        self.stepper.tables_changed(self.steps_done)
        self.stepper.loss_sum.fill_(self.place.loss_sum)


class NotFiniteError(DivergedError):
    def __init__(self, place: Place, value: float) -> None:
        if (place.epoch, place.step) == (0, 0):
            super().__init__(f"a table has {value} in it before the first step")
            return
        when = f"in epoch {place.epoch + 1}" if place.step else f"after epoch {place.epoch}"
        super().__init__(f"the loss or a table became {value} {when}; the last good checkpoint is kept")


def choose_device(wanted: str) -> torch.device:
    if wanted == "cuda" and not torch.cuda.is_available():
        raise UserError("training.device = 'cuda', but no CUDA device is here; use 'auto' or 'cpu'")
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(wanted)
