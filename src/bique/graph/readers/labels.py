"""A file of labels: lines `id<TAB>label`, whatever stands behind a second tab; as strict as a file of facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bique.errors import UserError, cut
from bique.graph.labels import Labels
from bique.graph.readers.batch import BadLine
from bique.graph.readers.delimited import not_utf8
from bique.graph.readers.files import COMPRESSIONS, FactFile, fact_file
from bique.graph.readers.options import BLANKS, ReadOptions
from bique.graph.readers.quarantine import BadLines
from bique.graph.readers.quoting import BadRecordError
from bique.graph.readers.streams import NumberedBlock, Progress, blocks_of_lines, numbered, without_mark
from bique.graph.vocabulary import Vocabulary


@dataclass(frozen=True)
class ReadLabels:
    """The labels of a vocabulary, the number of bad lines and what there is to say."""

    labels: Labels
    bad: int
    notes: list[str]


def label_file(path: Path) -> FactFile:
    """The file at `path`, refused before anything is read if it cannot be one of labels."""
    file = fact_file(path)
    if file.format != "tsv":
        endings = f".tsv or .txt, also with {', '.join(COMPRESSIONS)} behind"
        raise UserError(f"{path}: labels are read from tab-separated lines, id and label; name the file {endings}")
    return file


def read_labels(
    file: FactFile, entities: Vocabulary, options: ReadOptions, quarantine: Path, progress: Progress | None = None
) -> ReadLabels:
    """Bad lines raise, or go to the file `quarantine`, as the options say; of two labels the first one stays."""
    blocks, notes = without_mark(blocks_of_lines(file, progress), file)
    # a dictionary: bisecting a file of millions of lines takes minutes
    table = _Table({name: place for place, name in enumerate(entities)}, options.strip)
    with BadLines(options.on_bad, quarantine) as bad:
        for number, line in chain.from_iterable(map(_lines, numbered(blocks))):
            try:
                table.add(number, line)
            except BadRecordError as error:
                bad.add(file.path, _remedy, [BadLine(number, str(error), line)])
    if not table.labels:
        first = bad.first.get(file.path, f"{table.unknown} ids that the graph does not have" if table.unknown else "")
        raise UserError(f"{file.path}: holds no label of this graph ({first or 'it is empty'}); is it the right file?")
    found = Labels.from_places(len(entities), table.labels)
    return ReadLabels(found, bad.total, [*notes, *_notes(file.path.name, table, len(entities), bad.total)])


class _Table:
    """Labels by entity, as the lines come in."""

    def __init__(self, places: dict[str, int], strip: bool) -> None:
        self._places, self._strip = places, strip
        self._numbers: dict[int, int] = {}
        self.labels: dict[int, str] = {}
        self.unknown = 0
        self.padded: list[str] = []
        """Labels with blanks at their ends."""

    def add(self, number: int, line: bytes) -> None:
        """Take a line in, or BadRecordError with the reason why not."""
        name, label = _fields(line, self._strip)
        place = self._places.get(name)
        if place is None:
            self.unknown += 1
        elif self.labels.setdefault(place, label) != label:
            raise BadRecordError(f"{cut(name)!r} has another label on line {self._numbers[place]}")
        elif place not in self._numbers:
            self._numbers[place] = number
            if label != label.strip(BLANKS):
                self.padded.append(label)


def _fields(line: bytes, strip: bool) -> tuple[str, str]:
    try:
        fields = line.decode("utf-8").split("\t", 2)
    except UnicodeDecodeError as error:
        raise BadRecordError(not_utf8(error)) from error
    if len(fields) < 2:
        raise BadRecordError(f"expected id and label, tab-separated, found {'no tab' if line else 'an empty line'}")
    name, label = (field.strip(BLANKS) if strip else field for field in fields[:2])
    if not name or not label:
        raise BadRecordError(f"the {'label' if name else 'id'} is empty")
    return name, label


def _lines(numbered_block: NumberedBlock) -> Iterator[tuple[int, bytes]]:
    """Lines end with LF or CRLF; a CR at the end of the file ends none."""
    number, block = numbered_block
    pieces = block.replace(b"\r\n", b"\n").split(b"\n")
    return enumerate(pieces[:-1] if block.endswith(b"\n") else pieces, number)


def _remedy(bad: BadLine) -> str:
    return "correct the line or take it out"


def _notes(name: str, table: _Table, entities: int, bad: int) -> list[str]:
    notes: list[str] = []
    if table.unknown:
        notes.append(f"{name}: lines whose id the graph does not have: {table.unknown}")
    if bad:
        notes.append(f"{name}: bad lines set aside: {bad}")
    if table.padded:
        found = f"{name}: labels that begin or end with blanks: {len(table.padded)}, such as {cut(table.padded[0])!r}"
        notes.append(f"{found}; they were kept as they stand, --strip takes the blanks off")
    if without := entities - len(table.labels):
        notes.append(f"{name}: entities without a label: {without} of {entities}; they are shown by their id")
    if shared := sum(count for count in Counter(table.labels.values()).values() if count > 1):
        notes.append(f"{name}: entities that share their label with another: {shared}; the id tells them apart")
    return notes
