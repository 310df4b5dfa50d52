"""Import: files of names become a graph directory, complete or not at all.

Importing this module does not import polars; reading does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bique.atomic import atomic_directory
from bique.errors import UserError, shown
from bique.graph.facts import number_facts
from bique.graph.graph import SPLITS, Graph, Split, Triples
from bique.graph.readers.files import FactFile, fact_file, find_splits
from bique.graph.readers.options import ReadOptions

__all__ = ["ImportReport", "Progress", "ReadOptions", "Shares", "import_graph"]

Progress = Callable[[str, int, int], None]
Shares = tuple[float, float, float]
QUARANTINE = "quarantine.jsonl"


@dataclass(frozen=True)
class ImportReport:
    """What an import did; `notes` are sentences about everything that a user might not expect."""

    counts: dict[str, int]
    bad: int
    quarantine: Path | None
    notes: list[str]
    seconds: float
    labels: int = 0
    """How many entities have a label."""


def import_graph(
    source: Path | Mapping[Split, Path],
    dest: Path,
    options: ReadOptions = ReadOptions(),
    *,
    split: Shares | None = None,
    seed: int = 0,
    labels: Path | None = None,
    origin: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> tuple[Graph, ImportReport]:
    """A folder with train, valid and test, or one file to `split`, or given files, becomes the directory `dest`.

    `labels` is a file of lines `id<TAB>label` for its entities; they lie beside the graph and do not change its hash.
    `progress(file, done, total)` is called now and then, in bytes of the file being read (rows for Parquet).
    """
    try:
        from bique.graph.readers.labels import label_file, read_labels
        from bique.graph.readers.reading import read_files
    except ModuleNotFoundError as error:  # a prepared graph needs none of it
        raise UserError(
            f"reading files of facts needs {error.name}; install it with: pip install {error.name}"
        ) from error
    started = time.perf_counter()
    named = label_file(labels) if labels is not None else None
    files, notes = _files(source, split, named)
    with atomic_directory(dest) as directory:
        found = read_files(files, options, directory / QUARANTINE, progress)
        splits = found.triples if split is None else split_facts(found.triples["train"], split, seed)
        if not len(splits["train"]):
            raise UserError(f"{files['train'].path}: no facts to train with; import a file that holds some")
        told = read_labels(named, found.entities, options, directory / QUARANTINE, progress) if named else None
        bad = found.bad + (told.bad if told else 0)
        recorded = {**_origin(files, named, options, split, seed, bad), **(origin or {})}
        graph = Graph(found.entities, found.relations, **splits, origin=recorded, labels=told and told.labels)
        graph.write(directory)
    shares = dict(zip(SPLITS, split or (0, 0, 0), strict=True))
    empty = [name for name, share in shares.items() if share and not len(graph.split(name))]
    notes += [f"too few facts for a share of their own: the {name} split is empty" for name in empty]
    notes += [*found.notes, *(told.notes if told else []), *_unseen_note(graph)]
    opened, seconds = Graph.open(dest), time.perf_counter() - started
    labelled = opened.labels.count if opened.labels else 0
    return opened, ImportReport(graph.counts(), bad, dest / QUARANTINE if bad else None, notes, seconds, labelled)


def _files(
    source: Path | Mapping[Split, Path], shares: Shares | None, labels: FactFile | None
) -> tuple[dict[Split, FactFile], list[str]]:
    """The file of each split, or the only file as train, and what there is to say about the choice."""
    if isinstance(source, Path) and not source.is_dir():
        file = fact_file(source)
        if shares is None:
            raise UserError(
                f"{source}: one file has to be split; say how, as with --split 0.9,0.05,0.05, or give a folder"
            )
        _check_shares(shares)
        return {"train": file}, []
    if shares is not None:
        raise UserError(f"--split {','.join(map(str, shares))}: the source is split into files already; leave it out")
    files: dict[Split, FactFile] = {}
    ignored: list[str] = []
    if isinstance(source, Path):
        files, others = find_splits(source)
        ignored = [name for name in others if labels is None or (source / name).resolve() != labels.path.resolve()]
    else:
        files = {split: fact_file(source[split]) for split in SPLITS if split in source}
        if "train" not in files:
            raise UserError(
                f"no train file given, only {', '.join(files) or 'nothing'}; a graph needs facts to train with"
            )
    notes = [f"no {split} file: the {split} split is empty" for split in SPLITS if split not in files]
    if ignored:
        more = f" and {len(ignored) - 10} more" if len(ignored) > 10 else ""
        notes.append(f"not read, because they are not named like a split: {', '.join(ignored[:10])}{more}")
    return files, notes


def _check_shares(shares: Shares) -> None:
    shown = ",".join(map(str, shares))
    if not (len(shares) == 3 and abs(sum(shares) - 1) < 1e-9):
        raise UserError(f"--split {shown}: give three shares for train, valid and test that sum to 1, as 0.9,0.05,0.05")
    if min(shares) < 0 or not shares[0]:
        raise UserError(f"--split {shown}: train needs a share, and none is below 0; as 0.9,0.05,0.05")


def split_facts(triples: Triples, shares: Shares, seed: int) -> dict[Split, Triples]:
    """A random share of the distinct facts for each split; each split keeps the order of the file.

    Facts are numbered by their ids, not by their place, so neither the order of the file nor a fact that is there
    twice changes which split a fact falls into, and no fact falls into two.
    """
    numbers, count = number_facts(triples)
    ends = np.round(np.cumsum(shares) * count).astype(np.int64)
    part = np.empty(count, dtype=np.int8)
    shuffled = np.random.Generator(np.random.PCG64(seed)).permutation(count)
    part[shuffled] = np.searchsorted(ends, np.arange(count), side="right")
    return {split: triples[part[numbers] == place] for place, split in enumerate(SPLITS)}


def _origin(
    files: Mapping[Split, FactFile],
    labels: FactFile | None,
    options: ReadOptions,
    shares: Shares | None,
    seed: int,
    bad: int,
) -> dict[str, Any]:
    """What graph.json remembers: the names of the files and every choice that differs from the usual one."""
    usual = ReadOptions()
    chosen = {name: value for name, value in vars(options).items() if value != getattr(usual, name)}
    if shares is not None:
        chosen |= {"split": shares, "seed": seed}
    origin: dict[str, Any] = {"files": {split: shown(file.path.name) for split, file in files.items()}}
    if labels is not None:
        origin["labels"] = shown(labels.path.name)
    return {**origin, **({"options": chosen} if chosen else {}), **({"bad_lines": bad} if bad else {})}


def _unseen_note(graph: Graph) -> list[str]:
    seen = np.zeros(graph.num_entities, dtype=bool)
    seen[graph.train[:, 0]] = True
    seen[graph.train[:, 2]] = True
    unseen = int((~seen).sum())
    return [f"entities in valid or test only: {unseen}; nothing can be learnt about them"] if unseen else []
