"""The step as a CUDA graph: captured once, replayed from then on, fed from a plan of batches that lies on the device.

Nothing waits for the host inside an epoch. A short last batch is filled up with triples of weight 0, so one graph does
for all. The first steps of a sitting run uncaptured, as a capture needs warm kernels: they are steps like any other.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from bique.kernels.precision import Precision
from bique.kernels.sum_rows import Lookups
from bique.shapes import Int
from bique.training.batches import Batches
from bique.training.engine import Engine
from bique.training.fronts import Batch, has_batch_norm, make_batch
from bique.training.step import Objective

WARM_UP = 3
# bytes of batches planned at once, however long the epoch is
PLANNED = 16 << 20


class CapturedSteps:
    def __init__(self, engine: Engine, batches: Batches, objective: Objective) -> None:
        self.engine, self.batches, self.objective = engine, batches, objective
        device = batches.facts.device
        first, self.layout = _pack(self._plan(torch.zeros(1, dtype=torch.int64, device=device), 0, 1))
        planned = max(1, PLANNED // (4 * first.shape[1]))
        self.plan = torch.zeros(min(planned, batches.per_epoch), first.shape[1], dtype=torch.int32, device=device)
        self.current = torch.zeros_like(first)
        self.cursor = torch.zeros(1, dtype=torch.int64, device=device)
        self.batch = _unpack(self.current[0], self.layout)
        self.loss_sum = torch.zeros(1, dtype=torch.float64, device=device)
        self.fills_up = not has_batch_norm(engine.model)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.can_be_captured = True
        self.warm = 0
        self.planned = range(0)
        self.order: Tensor | None = None
        self.precision: Precision = engine.precision
        self.note = "the first step is compiled, which takes some seconds" if engine.compiles else None

    def set_rate(self, rate: float) -> None:
        self.engine.set_rate(rate)

    def tables_changed(self, steps_done: int) -> None:
        self.engine.tables_changed(steps_done)

    def step(self, order: Int[Tensor, "facts"], step: int) -> None:
        if not self.fills_up and step == self.batches.per_epoch - 1:
            self._short_step(order, step)
            return
        if order is not self.order or step not in self.planned:
            self._make_plan(order, step)
        if self.cursor.device.type != "cuda":  # nothing to capture: the kernels are being interpreted
            self._one()
            return
        if self.warm < WARM_UP:
            self._warm_step()
            return
        if self.graph is None and self.can_be_captured:
            self.graph = self._capture()
        if self.graph is None:
            self._one()
        else:
            self.graph.replay()

    def _make_plan(self, order: Tensor, step: int) -> None:
        count = min(len(self.plan), self.batches.per_epoch - step)
        self.plan[:count] = _pack(self._plan(order, step, count))[0]
        self.cursor.zero_()
        self.order, self.planned = order, range(step, step + count)

    def _plan(self, order: Tensor, first: int, count: int) -> Batch:
        size, facts = self.batches.batch_size, self.batches.facts
        chosen = order[first * size : (first + count) * size]
        short = count * size - len(chosen)
        padded = torch.nn.functional.pad(chosen, (0, short))
        valid = (torch.arange(count * size, device=facts.device) < len(chosen)).float()
        return make_batch(facts[padded].view(count, size, 3), valid.view(count, size), self.objective)

    def _short_step(self, order: Tensor, step: int) -> None:
        """The last batch by itself, as long as it is: triples that fill up would count in a batch's statistics."""
        facts = self.batches.batch(order, step)
        batch = make_batch(facts, torch.ones(len(facts), device=facts.device), self.objective)
        self.engine.step(batch, self.loss_sum)
        self.order = None  # the plan holds it, too: make a new one

    def _one(self) -> None:
        torch.index_select(self.plan, 0, self.cursor, out=self.current)
        self.cursor += 1
        self.engine.step(self.batch, self.loss_sum)

    def _warm_step(self) -> None:
        self.warm += 1
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._one()
        torch.cuda.current_stream().wait_stream(stream)

    def _capture(self) -> torch.cuda.CUDAGraph | None:
        """None where an operation of the model cannot be captured: then it runs as it is, and says so once."""
        graph = torch.cuda.CUDAGraph()
        generator = torch.cuda.default_generators[torch.cuda.current_device()]
        untouched = generator.clone_state()
        try:
            with torch.cuda.graph(graph):
                self._one()
        except RuntimeError as error:
            self.can_be_captured = False
            generator.graphsafe_set_state(untouched)  # the other one waits for the end of the capture
            first = str(error).splitlines()[0]
            warnings.warn(f"this step cannot be captured, so it is slower: {first}", stacklevel=2)
            return None
        return graph


Layout = list[tuple[torch.dtype, int]]


def _pack(batch: Batch) -> tuple[Int[Tensor, "n numbers"], Layout]:
    """Every tensor of the batches side by side as 32-bit numbers: one copy fetches a batch."""
    tensors = [*batch[:7], *batch.entities, *batch.relation_lookups]
    small = [one if one.is_floating_point() else one.int() for one in tensors]
    layout = [(one.dtype, one.shape[-1]) for one in small]
    return torch.cat([one.view(torch.int32) for one in small], dim=-1), layout


def _unpack(numbers: Int[Tensor, "numbers"], layout: Layout) -> Batch:
    parts = numbers.split([width for _, width in layout])
    one = iter([part.view(dtype) for part, (dtype, _) in zip(parts, layout, strict=True)])
    triples = (next(one), next(one), next(one), next(one), next(one), next(one), next(one))
    return Batch(*triples, Lookups(next(one), next(one), next(one)), Lookups(next(one), next(one), next(one)))
