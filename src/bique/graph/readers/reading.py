"""All files of a graph, read block by block on several threads, as ids."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from bique.errors import UserError
from bique.graph.graph import SPLITS, Split, Triples
from bique.graph.readers.batch import BadLine, Reader
from bique.graph.readers.delimited import open_delimited
from bique.graph.readers.encoding import EncodedBlock, Encoder, encode
from bique.graph.readers.files import FactFile
from bique.graph.readers.options import ReadOptions
from bique.graph.readers.parquet import open_parquet
from bique.graph.readers.quarantine import BadLines
from bique.graph.readers.rdf import open_rdf
from bique.graph.readers.streams import Progress
from bique.graph.vocabulary import Vocabulary

WORKERS = min(os.cpu_count() or 1, 8)  # polars and numpy let go of Python's lock; a few threads are worth their memory
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ReadFacts:
    """The facts of each split as ids, with the names, the number of bad lines and what there is to say."""

    entities: Vocabulary
    relations: Vocabulary
    triples: dict[Split, Triples]
    bad: int
    notes: list[str]


def read_files(
    files: Mapping[Split, FactFile], options: ReadOptions, quarantine: Path, progress: Progress | None = None
) -> ReadFacts:
    """Bad lines raise, or go to the file `quarantine`, as the options say."""
    encoder, blocks, notes = Encoder(), dict.fromkeys(SPLITS, 0), list[str]()
    with BadLines(options.on_bad, quarantine) as bad, ThreadPoolExecutor(WORKERS) as pool:
        for split, file in files.items():
            reader = open_reader(file, options, progress)
            blocks[split], stripped = _read_file(file, reader, encoder, bad, pool)
            notes += [*reader.notes, *_file_notes(file, blocks[split], bad, stripped)]
    combined = encoder.finish()
    in_sequence = iter(combined.triples)
    triples: dict[Split, Triples] = {split: _stack(list(islice(in_sequence, blocks[split]))) for split in SPLITS}
    return ReadFacts(combined.entities, combined.relations, triples, bad.total, [*notes, *combined.notes])


def open_reader(file: FactFile, options: ReadOptions, progress: Progress | None = None) -> Reader:
    if file.format == "parquet":
        return open_parquet(file, options, progress)
    if file.format in ("ntriples", "turtle"):
        return open_rdf(file, options, progress)
    return open_delimited(file, options, progress)


def _read_file(
    file: FactFile, reader: Reader, encoder: Encoder, bad: BadLines, pool: ThreadPoolExecutor
) -> tuple[int, int]:
    """Gives the facts of a file to the encoder; how many blocks of facts it had, and how many names were stripped."""

    def read(block: object) -> tuple[EncodedBlock, Iterable[BadLine], int]:
        batch = reader.parse(block)
        return encode(batch.facts), batch.bad, batch.stripped

    blocks, stripped = 0, 0
    for encoded, lines, changed in in_order(pool, read, reader.blocks):
        bad.add(file.path, reader.remedy, lines)
        stripped += changed
        if len(encoded.triples):
            encoder.add(encoded)
            blocks += 1
    return blocks, stripped


def in_order(pool: ThreadPoolExecutor, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Like `map`, on the pool's threads, with no more items in memory than keep the threads busy."""
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > WORKERS:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _file_notes(file: FactFile, blocks: int, bad: BadLines, stripped: int) -> list[str]:
    name, set_aside = file.path.name, bad.count.get(file.path, 0)
    if not blocks and set_aside:
        raise UserError(f"{file.path}: none of its {set_aside} lines is a fact; the first: {bad.first[file.path]}")
    notes: list[str] = []
    if not blocks:
        notes.append(f"{name}: holds no facts")
    if set_aside:
        notes.append(f"{name}: bad lines set aside: {set_aside}")
    if stripped:
        notes.append(f"{name}: names that blanks were taken off: {stripped}")
    return notes


def _stack(parts: list[Triples]) -> Triples:
    return np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.int32)
