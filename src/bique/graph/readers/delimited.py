"""TSV, TXT and CSV: lines end with LF or CRLF and with nothing else, each line stands for itself."""

from __future__ import annotations

from functools import partial
from itertools import chain

import polars as pl

from bique.errors import UserError
from bique.graph.readers.batch import FACT, BadLine, Batch, Reader, count_changed, strip_names
from bique.graph.readers.files import FactFile
from bique.graph.readers.layout import Layout, layout_of_file
from bique.graph.readers.options import ReadOptions
from bique.graph.readers.quoting import BadRecordError
from bique.graph.readers.streams import NumberedBlock, Progress, blocks_of_lines, numbered, without_mark


def open_delimited(file: FactFile, options: ReadOptions, progress: Progress | None = None) -> Reader:
    """The first line tells what the options refer to; all blocks are then parsed alike."""
    blocks, notes = without_mark(blocks_of_lines(file, progress), file)
    first = next(blocks, b"")
    if not first:  # an empty file has no layout
        return Reader([], Batch, lambda bad: "", notes)
    line, end, rest = first.partition(b"\n")
    text = _first_line(line.removesuffix(b"\r") if end else line, file, options)
    layout, more_notes = layout_of_file(text, file.path, file.format == "csv", options)
    lines = numbered(chain([rest] if rest else [], blocks), 2) if options.header else numbered(chain([first], blocks))
    return Reader(lines, partial(parse_block, layout), layout.remedy, [*notes, *more_notes])


def _first_line(line: bytes, file: FactFile, options: ReadOptions) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        if options.header or options.columns:
            raise UserError(
                f"{file.path}:1: {not_utf8(error)}; the columns are read off this line, correct it"
            ) from error
        return ""


def parse_block(layout: Layout, numbered_block: NumberedBlock) -> Batch:
    """The facts of a block of lines, and its bad lines with their numbers."""
    number, block = numbered_block
    # of "\r\r\n" only the last two bytes end the line, and a "\r" at the end of the file ends none
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    fields = _clean_fields(layout, block)
    if fields is not None:
        names = strip_names(fields) if layout.strip else fields
        if _all_named(names).all():
            return Batch(names, stripped=count_changed(fields, names) if layout.strip else 0)
    return _parse_lines(layout, number, block.removesuffix(b"\n"))


def _clean_fields(layout: Layout, block: bytes) -> pl.DataFrame | None:
    """Head, relation and tail of every line by polars' CSV reader, if it can be shown to have read them exactly.

    It is fast, but it leaves out byte order marks, unpacks what looks compressed, and more. So its answer counts only
    if every byte of the block is found again as a byte of a name or as what ends a field.
    """
    if layout.quotes and b'"' in block:
        return None
    columns = {f"column_{place}": pl.String for place in range(layout.fields)}
    try:
        fields = pl.read_csv(block, separator=layout.separator, schema=columns, has_header=False, quote_char=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, TypeError, ValueError):
        return None
    names = sum(int(field.str.len_bytes().sum()) for field in fields.iter_columns())
    ends = fields.height * layout.fields - (0 if block.endswith(b"\n") else 1)
    return _three(layout, fields) if names + ends == len(block) else None


def _three(layout: Layout, fields: pl.DataFrame) -> pl.DataFrame:
    return fields.select(pl.nth(place).alias(part) for place, part in zip(layout.places, FACT, strict=True))


def _all_named(names: pl.DataFrame) -> pl.Series:
    return names.select(pl.all_horizontal(pl.all() != "").fill_null(value=False)).to_series()


def _parse_lines(layout: Layout, number: int, block: bytes) -> Batch:
    """The same for a block with whatever in it: line by line, though still by columns."""
    lines, undecodable = _lines(block)
    fields, good = _columns(layout, lines)
    if layout.quotes and b'"' in block:
        fields, good = _with_quoted_lines(layout, lines, fields, good)
    names = strip_names(fields) if layout.strip else fields
    good &= _all_named(names)
    places = (~good).arg_true()
    bad = [
        _bad_line(layout, number + place, line, undecodable.get(place))
        for place, line in zip(places.to_list(), lines.gather(places).to_list(), strict=True)
    ]
    facts = names.filter(good)
    return Batch(facts, bad, count_changed(fields.filter(good), facts) if layout.strip else 0)


def _lines(block: bytes) -> tuple[pl.Series, dict[int, bytes]]:
    """The lines; those that are not UTF-8 are empty there, and apart as bytes by their place."""
    try:
        return _split_lines(block), {}
    except pl.exceptions.PolarsError:
        pieces = block.split(b"\n")
    undecodable = {place: piece for place, piece in enumerate(pieces) if not _is_utf8(piece)}
    decodable = b"\n".join(b"" if place in undecodable else piece for place, piece in enumerate(pieces))
    return _split_lines(decodable), undecodable


def _split_lines(block: bytes) -> pl.Series:
    """Raises if the block is not UTF-8. Not by way of str, which takes long when it is not ASCII."""
    return pl.Series("line", [block], dtype=pl.Binary).cast(pl.String).str.split("\n").explode()


def _columns(layout: Layout, lines: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Head, relation and tail of every line, and whether the line has the right number of fields."""
    # splitn leaves what is too much in the last field, and makes it null where fields are missing
    fields = lines.str.splitn(layout.separator, layout.fields).struct.unnest()
    last = fields.to_series(layout.fields - 1)
    good = last.is_not_null() & ~last.str.contains(layout.separator, literal=True).fill_null(value=True)
    return _three(layout, fields), good


def _with_quoted_lines(
    layout: Layout, lines: pl.Series, facts: pl.DataFrame, good: pl.Series
) -> tuple[pl.DataFrame, pl.Series]:
    """Lines with a quote in them are split one by one, the plain way."""
    places = lines.str.contains('"', literal=True).arg_true()
    records = [_record(layout, line) for line in lines.gather(places).to_list()]
    columns = [
        facts.to_series(i).scatter(places, [record and record[place] for record in records])
        for i, place in enumerate(layout.places)
    ]
    return pl.DataFrame(columns), good.scatter(places, [record is not None for record in records])


def _record(layout: Layout, line: str) -> list[str] | None:
    try:
        fields = layout.split(line)
    except BadRecordError:
        return None
    return fields if len(fields) == layout.fields else None


def _bad_line(layout: Layout, number: int, line: str, undecodable: bytes | None) -> BadLine:
    raw = line.encode("utf-8") if undecodable is None else undecodable
    try:
        layout.names(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        return BadLine(number, not_utf8(error), raw)
    except BadRecordError as error:
        return BadLine(number, str(error), raw)
    raise AssertionError(f"line {number} is good by the plain way to read it: {line!r}")


def not_utf8(error: UnicodeDecodeError) -> str:
    return f"not valid UTF-8 (byte 0x{error.object[error.start]:02x} at place {error.start + 1} of the line)"


def _is_utf8(piece: bytes) -> bool:
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
