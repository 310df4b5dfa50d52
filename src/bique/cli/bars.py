"""Bars for what takes its time, on a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from bique.cli.screen import aside


@contextmanager
def bars(doing: str, counted: Literal["bytes", "things"] = "bytes") -> Iterator[Callable[[str, int, int | None], None]]:
    """Called with a name, what is done and what there is in all; one bar per name."""
    columns = (
        TextColumn(f"{doing} {{task.description}}", markup=False),
        BarColumn(),
        DownloadColumn() if counted == "bytes" else MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=aside, transient=True, disable=not aside.is_terminal) as shown:
        tasks: dict[str, int] = {}

        def show(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = shown.add_task(name, total=total)
            shown.update(tasks[name], completed=done, total=total)  # type: ignore[arg-type]

        yield show
