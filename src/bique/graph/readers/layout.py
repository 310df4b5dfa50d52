"""The layout of a delimited text file, and the plain way to read one line of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bique.errors import UserError, did_you_mean
from bique.graph.readers.batch import FACT, BadLine, empty_name
from bique.graph.readers.options import BLANKS, ReadOptions
from bique.graph.readers.quoting import BadRecordError, split_record

SEPARATOR_NAMES = {"\t": "tab", ",": "comma", " ": "space", ";": "semicolon", "|": "'|'"}
HEADER_WORDS = (
    frozenset(["head", "h", "subject", "subj", "s", "source", "src", "from", "head_id", "head_entity", "entity1"])
    | frozenset(["relation", "rel", "r", "predicate", "pred", "p", "property", "edge", "label", "relation_id", "type"])
    | frozenset(["tail", "t", "object", "obj", "o", "target", "dst", "to", "tail_id", "tail_entity", "entity2"])
)


@dataclass(frozen=True)
class Layout:
    """Every line has `fields` fields; those at `places` are head, relation and tail.

    `names` is the reference that the vectorised reader has to agree with, and tells why a line is bad.
    """

    separator: str
    quotes: bool
    fields: int = 3
    places: tuple[int, int, int] = (0, 1, 2)
    strip: bool = False

    def split(self, line: str) -> list[str]:
        return split_record(line, self.separator) if self.quotes else line.split(self.separator)

    def names(self, line: str) -> tuple[str, str, str]:
        """Head, relation and tail of a line, or BadRecordError with the reason why not."""
        fields = self.split(line)
        if len(fields) != self.fields:
            found = len(fields) if line else "an empty line"
            raise BadRecordError(f"expected {self.fields} {self.separator_name}-separated fields, found {found}")
        head, relation, tail = (fields[place].strip(BLANKS) if self.strip else fields[place] for place in self.places)
        if not (head and relation and tail):
            raise BadRecordError(empty_name((head, relation, tail)))
        return head, relation, tail

    @property
    def separator_name(self) -> str:
        return SEPARATOR_NAMES.get(self.separator, repr(self.separator))

    def remedy(self, bad: BadLine) -> str:
        """What to do about a bad line."""
        try:
            line = bad.raw.decode("utf-8")
            found = len(self.split(line))
        except UnicodeDecodeError:
            return "convert the file to UTF-8"
        except BadRecordError:
            return "close the quote (a name with a line break in it can only come from Parquet or N-Triples)"
        if found == 1 and line:
            return self._other_separator(line)
        if found > self.fields:
            return "correct the line, choose three fields of every line with --columns"
        return "correct the line"

    def _other_separator(self, line: str) -> str:
        for separator, name in SEPARATOR_NAMES.items():
            if separator != self.separator and line.count(separator) == self.fields - 1:
                return f"if {name} separates the fields, say so with --separator {name}"
        return "correct the line, say what separates the fields with --separator"


def layout_of_file(first_line: str, path: Path, quotes: bool, options: ReadOptions) -> tuple[Layout, list[str]]:
    """The layout that the options and, where they refer to it, the first line tell; and what to say about it."""
    separator = options.separator or ("," if quotes else "\t")
    layout = Layout(separator, quotes, strip=options.strip)
    try:
        first = layout.split(first_line)
    except BadRecordError as error:
        if options.header or options.columns:
            raise UserError(f"{path}:1: {error}, and the columns are read off this line; correct it") from error
        return layout, []
    if options.columns is not None:
        places = column_places(options.columns, first if options.header else None, len(first), path)
        layout = Layout(separator, quotes, len(first), places, options.strip)
    elif options.header and len(first) != 3:
        raise UserError(f"{path}:1: the header has {len(first)} fields ({', '.join(first[:9])}); choose with --columns")
    return layout, _header_notes(first, layout, path, options.header)


def column_places(
    columns: Sequence[int | str], names: Sequence[str] | None, count: int, path: Path
) -> tuple[int, int, int]:
    """The places, from 0 on, of the three chosen columns among `count`, which have names or not."""
    head, relation, tail = (_place(column, names, count, path) for column in columns)
    return head, relation, tail


def _place(column: int | str, names: Sequence[str] | None, count: int, path: Path) -> int:
    if isinstance(column, int):
        if column > count:
            raise UserError(f"{path}: column {column} was asked for, there are {count}; choose others with --columns")
        return column - 1
    if names is None:
        raise UserError(f"{path}: column {column!r} is a name; add --header, or give numbers from 1 on")
    if names.count(column) != 1:
        found = "twice" if column in names else "not"
        hint = did_you_mean(column, names)
        raise UserError(f"{path}: column {column!r} is {found} in the header{hint} (it has: {', '.join(names)})")
    return names.index(column)


def _header_notes(first: Sequence[str], layout: Layout, path: Path, header: bool) -> list[str]:
    shown = ", ".join(repr(field) for field in first[:9])
    if header:
        taken = ", ".join(f"{first[place]!r} as {part}" for place, part in zip(layout.places, FACT, strict=True))
        return [f"{path.name}: the header was read as names of columns; {taken}"]
    chosen = [first[place].strip().lower() for place in layout.places if place < len(first)]
    if len(set(chosen)) == 3 and HEADER_WORDS.issuperset(chosen):
        return [
            f"{path.name}: the first line ({shown}) looks like a header and was read as a fact; if so, add --header"
        ]
    return []
