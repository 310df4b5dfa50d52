"""What every reader gives: blocks, and a function that turns one block into facts and bad lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

FACT = ("head", "relation", "tail")


@dataclass(frozen=True)
class BadLine:
    """A line (or row) that is no fact: its number from 1 on, why, and what stood there without the line end."""

    number: int
    reason: str
    raw: bytes


@dataclass(frozen=True)
class Batch:
    """The facts of one block as names, in the order of the file, and its bad lines, by number."""

    facts: pl.DataFrame
    bad: Sequence[BadLine] = ()
    stripped: int = 0


@dataclass(frozen=True)
class Reader:
    """`parse(block)` depends on the block alone, so blocks may be parsed at the same time."""

    blocks: Iterable[Any]
    parse: Callable[[Any], Batch]
    remedy: Callable[[BadLine], str]
    notes: Sequence[str] = ()


def strip_names(facts: pl.DataFrame) -> pl.DataFrame:
    return facts.select(pl.all().str.strip_chars())


def count_changed(before: pl.DataFrame, after: pl.DataFrame) -> int:
    """How many names are not the same in two frames of one shape."""
    return sum(int((before[part] != after[part]).sum()) for part in FACT)


def empty_name(names: Sequence[str | None]) -> str:
    """The reason for a fact in which a name is missing."""
    empty = [place for place, name in zip(FACT, names, strict=True) if not name]
    return f"the {' and the '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty"
