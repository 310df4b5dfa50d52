"""Parquet: three columns of strings or whole numbers; the place of a bad row is its number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import polars as pl

from bique.errors import UserError
from bique.graph.readers.batch import FACT, BadLine, Batch, Reader, count_changed, empty_name, strip_names
from bique.graph.readers.files import FactFile
from bique.graph.readers.layout import column_places
from bique.graph.readers.options import ReadOptions
from bique.graph.readers.streams import Progress

ROWS_AT_ONCE = 250_000
RowRange = tuple[int, int]
Result = TypeVar("Result")


def open_parquet(file: FactFile, options: ReadOptions, progress: Progress | None = None) -> Reader:
    if options.separator is not None:
        raise UserError(f"{file.path}: Parquet has no separator; leave out --separator")
    schema = _guarded(file, pl.scan_parquet(file.path).collect_schema)
    names = schema.names()
    if options.columns is None and len(names) != 3:
        raise UserError(
            f"{file.path}: it has {len(names)} columns ({', '.join(names[:9])}); choose three with --columns"
        )
    places = column_places(options.columns or (1, 2, 3), names, len(names), file.path)
    chosen = [names[place] for place in places]
    _check_types(file, {name: schema[name] for name in chosen})
    facts = pl.scan_parquet(file.path).select(
        pl.col(name).cast(pl.String).alias(part) for name, part in zip(chosen, FACT, strict=True)
    )
    rows = _guarded(file, lambda: int(facts.select(pl.len()).collect().item()))
    parse = partial(_parse, file, facts, options.strip)
    return Reader(_ranges(file, rows, progress), parse, lambda bad: "fill in the name or remove the row")


def _check_types(file: FactFile, kinds: Mapping[str, Any]) -> None:
    for name, kind in kinds.items():
        if not (kind.is_integer() or isinstance(kind, pl.String | pl.Categorical | pl.Enum)):
            what = f"column {name!r} holds {kind}, names are strings or whole numbers"
            raise UserError(f"{file.path}: {what}; convert it, or choose other columns with --columns")


def _ranges(file: FactFile, rows: int, progress: Progress | None) -> Iterator[RowRange]:
    for start, stop in pairwise([*range(0, rows, ROWS_AT_ONCE), rows]):
        yield start, stop
        if progress is not None:
            progress(file.path.name, stop, rows)


def _parse(file: FactFile, facts: pl.LazyFrame, strip: bool, rows: RowRange) -> Batch:
    start, stop = rows
    found = _guarded(file, facts.slice(start, stop - start).collect)
    names = strip_names(found) if strip else found
    good = names.select(pl.all_horizontal(pl.all().is_not_null() & (pl.all() != ""))).to_series()
    places = (~good).arg_true().to_list()
    bad = [_bad_row(start + place + 1, found.row(place), names.row(place)) for place in places]
    kept = names.filter(good)
    return Batch(kept, bad, count_changed(found.filter(good), kept) if strip else 0)


def _bad_row(number: int, found: tuple[str | None, ...], names: tuple[str | None, ...]) -> BadLine:
    return BadLine(number, empty_name(names), json.dumps(found, ensure_ascii=False).encode("utf-8"))


def _guarded(file: FactFile, read: Callable[[], Result]) -> Result:
    """Polars' own errors, and its panics over damaged files, as one sentence."""
    try:
        return read()
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{file.path}: cannot be read as Parquet ({reason}); is it complete? write it again") from error
