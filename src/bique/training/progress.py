"""What the loop tells the outside, and how the outside asks it to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, runtime_checkable

from bique.training.plan import Plan


@runtime_checkable
class Reporter(Protocol):
    """Told of every event; shows it, or keeps it, or neither."""

    def started(self, plan: Plan, epoch: int) -> None: ...
    def stepped(self, epoch: int, step: int) -> None: ...
    def epoch_ended(self, record: dict[str, Any]) -> None: ...
    def note(self, sentence: str) -> None: ...


class Silent:
    """Shows nothing."""

    def started(self, plan: Plan, epoch: int) -> None: ...
    def stepped(self, epoch: int, step: int) -> None: ...
    def epoch_ended(self, record: dict[str, Any]) -> None: ...
    def note(self, sentence: str) -> None: ...


class StopRequest:
    """Set by Ctrl-C or SIGTERM: the loop saves after the step it is in. A second Ctrl-C does not wait."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)

    @contextmanager
    def listening(self) -> Iterator[StopRequest]:
        former = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
