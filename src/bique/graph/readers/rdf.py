"""RDF: N-Triples line by line, Turtle as a whole, both through pyoxigraph.

A name is the bare text of an IRI, or a literal or blank node as N-Triples writes it: `http://e/x`, `"x"@en`, `_:b`.
None of the three can be taken for another: no IRI begins with a quote or with `_:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, BinaryIO

import polars as pl

from bique.errors import UserError, missing_extra
from bique.graph.readers.batch import FACT, BadLine, Batch, Reader
from bique.graph.readers.files import FactFile
from bique.graph.readers.options import ReadOptions
from bique.graph.readers.streams import (
    ChunkStream,
    NumberedBlock,
    Progress,
    blocks_of_lines,
    chunks,
    numbered,
    without_mark,
)

FACTS_AT_ONCE = 100_000
# pyoxigraph gives a node without a label 128 random bits in hexadecimal, beginning with a letter
RANDOM_LABEL = re.compile(rb"_:([a-f][0-9a-f]{20,31})(?![0-9a-zA-Z_])")
Names = tuple[str, str, str]


def open_rdf(file: FactFile, options: ReadOptions, progress: Progress | None = None) -> Reader:
    _refuse_options(file, options)
    oxigraph = _oxigraph()
    if file.format == "ntriples":
        blocks, notes = without_mark(blocks_of_lines(file, progress), file)
        return Reader(numbered(blocks), partial(_parse_lines, oxigraph), lambda bad: "correct the line", notes)
    parts, notes = without_mark(chunks(file, progress), file)
    groups = _groups(_turtle(oxigraph, file, parts))
    return Reader(groups, lambda group: Batch(_frame(group)), lambda bad: "correct the file", notes)


def _refuse_options(file: FactFile, options: ReadOptions) -> None:
    used = [*(["--columns"] if options.columns else []), *options.text_only()]
    if used:
        raise UserError(f"{file.path}: RDF files have no columns; leave out {' and '.join(used)}")


def _oxigraph() -> Any:
    try:
        import pyoxigraph
    except ImportError as error:
        raise missing_extra("pyoxigraph", "rdf", "reading N-Triples and Turtle") from error
    return pyoxigraph


def _frame(facts: list[Names]) -> pl.DataFrame:
    return pl.DataFrame(facts, schema=dict.fromkeys(FACT, pl.String), orient="row")


def _names(oxigraph: Any, statement: Any) -> Names:
    parts = (statement.subject, statement.predicate, statement.object)
    head, relation, tail = (part.value if isinstance(part, oxigraph.NamedNode) else str(part) for part in parts)
    return head, relation, tail


# N-Triples -----------------------------------------------------------------------------------------------------------


def _parse_lines(oxigraph: Any, numbered_block: NumberedBlock) -> Batch:
    """The whole block at once; only when that fails line by line, to find the bad ones."""
    number, block = numbered_block
    try:
        return Batch(_frame(_triples(oxigraph, block)))
    except SyntaxError:
        pass
    facts: list[Names] = []
    bad: list[BadLine] = []
    for place, line in enumerate(block.removesuffix(b"\n").split(b"\n")):
        try:
            facts += _triples(oxigraph, line)
        except SyntaxError as error:
            bad.append(BadLine(number + place, _reason(error), line.removesuffix(b"\r")))
    return Batch(_frame(facts), bad)


def _triples(oxigraph: Any, text: bytes) -> list[Names]:
    return [_names(oxigraph, triple) for triple in oxigraph.parse(text, format=oxigraph.RdfFormat.N_TRIPLES)]


def _reason(error: SyntaxError) -> str:
    """The parser's words without its own count of lines, which starts anew with each piece of text."""
    return re.sub(r"^Parser error at line \d+ (.*?): ", r"not N-Triples at \1: ", str(error.msg))


# Turtle --------------------------------------------------------------------------------------------------------------


def _turtle(oxigraph: Any, file: FactFile, parts: Iterator[bytes]) -> Iterator[Names]:
    """All facts of a file; nodes without a label are numbered, because the parser names them at random."""
    written: set[str] = set()
    numbers: dict[str, str] = {}
    stream: BinaryIO = ChunkStream(_collect_labels(parts, written))  # pyright: ignore[reportAssignmentType]

    def settled(name: str) -> str:
        label = name.removeprefix("_:")
        if label == name or label in written or not RANDOM_LABEL.fullmatch(name.encode("utf-8")):
            return name
        # [ ] cannot stand in a label, so this is nobody else's; with the file, since labels are local to it
        return numbers.setdefault(label, f"_:[{file.stem} {len(numbers) + 1}]")

    try:
        for statement in oxigraph.parse(stream, format=oxigraph.RdfFormat.TURTLE):
            head, relation, tail = _names(oxigraph, statement)
            yield settled(head), relation, settled(tail)
    except SyntaxError as error:
        raise UserError(
            f"{file.path}:{error.lineno}: {error.msg}; correct the file (Turtle is read whole or not)"
        ) from error


def _collect_labels(parts: Iterator[bytes], written: set[str]) -> Iterator[bytes]:
    """Passes the text on and keeps the labels in it that look like random ones; they are the author's own."""
    kept = b""
    for part in parts:
        text = kept + part
        written.update(label.decode("ascii") for label in RANDOM_LABEL.findall(text))
        kept = text[-64:]  # a label may lie across two parts
        yield part


def _groups(facts: Iterator[Names]) -> Iterator[list[Names]]:
    while group := list(islice(facts, FACTS_AT_ONCE)):
        yield group
