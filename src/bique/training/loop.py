"""The loop: epochs of steps, validation, checkpoints; stops when asked, goes on where it stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch

from bique.errors import DivergedError, UserError
from bique.evaluation import evaluate
from bique.graph import Graph
from bique.runs import Checkpoint, Run
from bique.training.curves import Curves
from bique.training.plan import make_plan
from bique.training.progress import Reporter, Silent, StopRequest
from bique.training.session import Session, choose_device


@dataclass(frozen=True)
class Outcome:
    """How training ended, and the best validation on the way."""

    ended: Literal["finished", "early", "stopped"]
    epoch: int
    best_mrr: float | None
    best_epoch: int
    seconds: float


def train(run: Run, graph: Graph, reporter: Reporter = Silent(), stop: StopRequest | None = None) -> Outcome:
    """Train a run to its end, from its last checkpoint if it has one."""
    # the random state of the process is the caller's
    with run.locked(), _determinism(run.config.training.deterministic), torch.random.fork_rng():
        try:
            return _Loop(run, graph, reporter, stop or StopRequest()).run_to_end()
        except DivergedError as error:
            run.log_divergence(error)
            raise


@contextmanager
def _determinism(wanted: bool) -> Iterator[None]:
    """torch's switch holds for the whole process: set for this training, then as the caller had it."""
    former = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it CUDA refuses every product
    torch.use_deterministic_algorithms(wanted)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(former[0], warn_only=former[1])


class _Loop:
    def __init__(self, run: Run, graph: Graph, reporter: Reporter, stop: StopRequest) -> None:
        self.run, self.graph, self.reporter, self.stop = run, graph, reporter, stop
        self.options = run.config.training
        device = choose_device(self.options.device)
        self.session = Session(run.config, graph, device)
        run.remove_leftovers()
        if run.last.exists():
            self.session.restore(run.read_last())
        elif run.best.exists() or run.metrics():
            raise UserError(
                f"{run.last}: is missing, so this run cannot go on; restore it, or train anew in another place"
            )
        self.place = self.session.place
        run.forget_after(self.place.epoch)
        self.saved_at = self.sat_down_at = time.monotonic()
        self.seconds_before = self.place.seconds
        self.new_best: Checkpoint | None = None
        self.curves = Curves(run, self.place.epoch) if self.options.tensorboard else None

    def run_to_end(self) -> Outcome:
        session = self.session
        per_epoch, precision = session.batches.per_epoch, session.stepper.precision
        plan = make_plan(self.run.config, self.graph, session.model, per_epoch, self._device(), precision)
        self.run.remember(precision=precision, device=self._device())
        self.reporter.started(plan, self.place.epoch)
        self.run.log(f"started at epoch {self.place.epoch}, step {self.place.step}: {plan.line()}")
        if self.session.stepper.note:
            self.reporter.note(self.session.stepper.note)
        if not len(self.graph.valid):
            self.reporter.note(
                "the validation split is empty: the last epoch counts as the best, patience has no effect"
            )
        if not self.run.last.exists():
            self.save()  # so that there is a good checkpoint to keep, whatever happens next
        ended = self._epochs()
        if ended != "stopped" and self.new_best is None and not self.run.best.exists():
            self.reporter.note("the best checkpoint was missing: the last one takes its place")
            self._keep_as_best((self.run.metrics() or [{}])[-1].get("valid_mrr"))
        self.save()
        self.run.log(f"{ended} after epoch {self.place.epoch}, step {self.place.step}, {self.place.seconds:.1f} s")
        return Outcome(ended, self.place.epoch, self.place.best_mrr, self.place.best_epoch, self.place.seconds)

    def _epochs(self) -> Literal["finished", "early", "stopped"]:
        while self.place.epoch < self.options.epochs:
            if self._out_of_patience():
                return "early"
            while self.place.step < self.session.batches.per_epoch:
                self.session.step()
                self.reporter.stepped(self.place.epoch, self.place.step)
                if self.stop.signal is not None:
                    return "stopped"
                if time.monotonic() - self.saved_at >= self.options.checkpoint_seconds:
                    self.save()
            self.session.look_ahead()
            self._end_epoch()
        return "finished"

    def _end_epoch(self) -> None:
        loss = self.session.epoch_loss()
        self.session.next_epoch()
        record: dict[str, Any] = {"epoch": self.place.epoch, "loss": loss, "seconds": round(self._seconds(), 3)}
        if self._validation_is_due():
            record |= self._validate()
        self.run.append_metrics(record)
        if self.curves:
            self.curves.add(record)
        self.reporter.epoch_ended(record)

    def _validation_is_due(self) -> bool:
        return self.place.epoch % self.options.validate_every == 0 or self.place.epoch == self.options.epochs

    def _validate(self) -> dict[str, Any]:
        """Rank the validation split; keep the model if it is the best so far."""
        self.session.settle()
        if not len(self.graph.valid):
            self._keep_as_best(None)
            return {}
        self.session.check_finite()
        metrics = evaluate(self.session.model.eval(), self.graph, "valid", self.run.config.evaluation).metrics
        self.session.model.train()
        if self.place.best_mrr is None or metrics.mrr > self.place.best_mrr:
            self._keep_as_best(metrics.mrr)
        return {"valid_mrr": metrics.mrr, "valid_hits_at_10": metrics.hits_at_10, "best_epoch": self.place.best_epoch}

    def _keep_as_best(self, mrr: float | None) -> None:
        self.session.check_finite()
        self.place.best_mrr, self.place.best_epoch = mrr, self.place.epoch
        record = {"epoch": self.place.epoch, "valid_mrr": mrr, "seed": self.options.seed}
        self.new_best = Checkpoint(self.session.copy_of_model(), record)

    def _out_of_patience(self) -> bool:
        if self.options.patience is None or self.place.best_mrr is None or self.place.step:
            return False
        return self.place.epoch - self.place.best_epoch >= self.options.patience * self.options.validate_every

    def save(self) -> None:
        """The best first: what `last` says of it is then true, and a process killed in between finds it again."""
        if self.new_best is not None:
            self.run.write(self.run.best, self.new_best)
            self.new_best = None
        self.place.seconds = self._seconds()
        self.run.write(self.run.last, self.session.save())
        self.saved_at = time.monotonic()

    def _seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.sat_down_at

    def _device(self) -> str:
        if self.session.device.type == "cuda":
            return torch.cuda.get_device_name(self.session.device)
        threads = torch.get_num_threads()
        return f"CPU, {threads} thread{'s' if threads > 1 else ''}"
