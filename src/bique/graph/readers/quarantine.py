"""Bad lines are never dropped: the first one stops the import, or all of them go to a file."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import TextIO

from bique.errors import UserError, shown
from bique.graph.readers.batch import BadLine
from bique.graph.readers.options import OnBad


class BadLines:
    """Raises on the first bad line, or writes them all to `path`, one JSON object a line; counts them per file."""

    def __init__(self, on_bad: OnBad, path: Path) -> None:
        self._on_bad = on_bad
        self._path = path
        self._out: TextIO | None = None
        self.count: dict[Path, int] = {}
        self.first: dict[Path, str] = {}

    def add(self, file: Path, remedy: Callable[[BadLine], str], lines: Iterable[BadLine]) -> None:
        for line in lines:
            message = f"{file}:{line.number}: {line.reason}"
            if self._on_bad == "stop":
                raise UserError(f"{message}; {remedy(line)}, or set bad lines aside with --on-bad quarantine")
            self.first.setdefault(file, message)
            self.count[file] = self.count.get(file, 0) + 1
            self._write(file, line)

    @property
    def total(self) -> int:
        return sum(self.count.values())

    def _write(self, file: Path, line: BadLine) -> None:
        if self._out is None:
            # the labels' bad lines come behind those of the facts
            self._out = self._path.open("a", encoding="utf-8")
        try:
            raw = {"raw": line.raw.decode("utf-8")}
        except UnicodeDecodeError:
            raw = {"raw_base64": base64.b64encode(line.raw).decode("ascii")}
        record = {"file": shown(file.name), "line": line.number, "reason": line.reason, **raw}
        self._out.write(json.dumps(record, ensure_ascii=False) + "\n")

    def __enter__(self) -> BadLines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._out is not None:
            self._out.close()
