"""Training as a person sees it: a live line on a terminal; elsewhere one per validation, and every half minute."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from bique.cli.screen import aside, note
from bique.training import Plan


class TimeLeft(ProgressColumn):
    """From the steps of this sitting; nothing in the first seconds, when it would only be a guess."""

    def render(self, task: Task) -> Text:
        left = time_left(
            task.elapsed or 0.0, task.completed - task.fields["from_step"], (task.total or 0) - task.completed
        )
        return Text(left, style="cyan")


def time_left(elapsed: float, done: float, to_do: float) -> str:
    if elapsed < 2 or done <= 0 or to_do <= 0:
        return ""  # it would be a guess, or it is over
    seconds = round(elapsed / done * to_do)
    hours, rest = divmod(seconds, 3600)
    clock = f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
    return f"{clock} left"


# without a terminal, a line at least so often
SECONDS = 30.0


class Live:
    """A Reporter on standard error."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._plan: Plan | None = None
        self._loss, self._valid = "loss –", "valid MRR –"
        self._began = self._said = 0.0
        self._from_step = 0

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def started(self, plan: Plan, epoch: int) -> None:
        aside.print(Text(plan.line(), style="dim"))
        if epoch:
            aside.print(Text(f"going on after epoch {epoch} of {plan.epochs}", style="dim"))
        self._plan, self._from_step = plan, epoch * plan.steps_per_epoch
        self._began = self._said = time.monotonic()
        if not aside.is_terminal:
            return
        columns = [
            TextColumn("epoch {task.fields[epoch]:>{task.fields[digits]}}/{task.fields[epochs]}", markup=False),
            BarColumn(),
        ]
        columns += [TextColumn("{task.fields[loss]}  {task.fields[valid]}", markup=False), TimeLeft()]
        self._progress = Progress(*columns, console=aside, transient=False)
        self._task = self._progress.add_task(
            "train",
            total=plan.epochs * plan.steps_per_epoch,
            completed=self._from_step,
            from_step=self._from_step,
            epoch=epoch,
            epochs=plan.epochs,
            digits=len(str(plan.epochs)),
            loss=self._loss,
            valid=self._valid,
        )
        self._progress.start()

    def stepped(self, epoch: int, step: int) -> None:
        if self._progress is not None and self._plan is not None:
            self._progress.update(self._task, completed=epoch * self._plan.steps_per_epoch + step, epoch=epoch + 1)
        elif self._plan is not None and step < self._plan.steps_per_epoch and self._is_due():
            self._say(f"epoch {epoch + 1}/{self._plan.epochs}, step {step}/{self._plan.steps_per_epoch}", epoch, step)

    def epoch_ended(self, record: dict[str, Any]) -> None:
        self._loss = f"loss {record['loss']:.4f}"
        if "valid_mrr" in record:
            best = "" if record["best_epoch"] == record["epoch"] else f", best in {record['best_epoch']}"
            self._valid = f"valid MRR {record['valid_mrr']:.4f}{best}"
        if self._progress is not None:
            self._progress.update(self._task, loss=self._loss, valid=self._valid)
        elif self._plan is not None and ("valid_mrr" in record or self._is_due()):
            self._say(f"epoch {record['epoch']}/{self._plan.epochs}", record["epoch"], 0)

    def _is_due(self) -> bool:
        return time.monotonic() - self._said >= SECONDS

    def _say(self, where: str, epoch: int, step: int) -> None:
        assert self._plan is not None
        self._said = time.monotonic()
        done = epoch * self._plan.steps_per_epoch + step
        total = self._plan.epochs * self._plan.steps_per_epoch
        left = time_left(self._said - self._began, done - self._from_step, total - done)
        aside.print(f"{where}  {self._loss}  {self._valid}  {left}")

    def note(self, sentence: str) -> None:
        note(sentence)
