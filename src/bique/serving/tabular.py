"""What a tab-separated file cannot keep."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bique.errors import UserError


def refuse_unless_tabular(file: Path, names: Iterable[str], remedy: str) -> None:
    bad = next((name for name in names if any(mark in name for mark in "\t\n\r")), None)
    if bad is not None:
        raise UserError(f"{file}: the name {bad!r} holds a tab or line break, which .tsv cannot keep; {remedy}")
