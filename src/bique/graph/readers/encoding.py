"""From names to ids: each block by itself while reading, all blocks together at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from bique.errors import UserError
from bique.graph.graph import Triples
from bique.graph.vocabulary import Vocabulary
from bique.shapes import Int, Num

ID_LIMIT = 2**31 - 1
NAMES_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class EncodedBlock:
    """The facts of a block as places in the block's own lists of distinct names: far smaller than the names."""

    triples: Triples
    entities: pl.Series
    relations: pl.Series


def encode(facts: pl.DataFrame) -> EncodedBlock:
    # one piece of memory: taking strings from several is ten times slower
    ends, entities = number_names(pl.concat([facts["head"], facts["tail"].alias("head")], rechunk=True))
    links, relations = number_names(facts["relation"].rechunk())
    triples = np.stack([ends[: len(facts)], links, ends[len(facts) :]], axis=1)
    return EncodedBlock(triples, entities, relations)


def number_names(names: pl.Series) -> tuple[Int[np.ndarray, "names"], pl.Series]:
    """Each name as its place in the list of distinct names, and that list."""
    return number_by_hash(names, names.hash().to_numpy())


def number_by_hash(names: pl.Series, hashes: Num[np.ndarray, "names"]) -> tuple[Int[np.ndarray, "names"], pl.Series]:
    """Exact for any hashes, and three times as fast as a hash table of strings when they are good.

    All names of one hash fall into one slot of a table, where the last one stands for all. Those that differ from it
    are found by comparison and numbered the exact way; equal names have equal hashes, so none is numbered twice.
    """
    slot_bits = len(names).bit_length() + 1
    slots = (hashes >> (64 - slot_bits)).astype(np.int64)
    places = np.arange(len(names), dtype=np.int32)
    table = np.empty(1 << slot_bits, dtype=np.int32)
    table[slots] = places
    standing_for = table[slots]
    stands = standing_for == places
    codes = (np.cumsum(stands, dtype=np.int32) - 1)[standing_for]
    distinct = names.filter(pl.Series(stands))
    differs = distinct.gather(codes) != names
    if differs.any():
        others, more = _number_exactly(names.filter(differs))
        codes[differs.to_numpy()] = len(distinct) + others
        distinct = pl.concat([distinct, more], rechunk=True)
    return codes, distinct


def _number_exactly(names: pl.Series) -> tuple[Int[np.ndarray, "names"], pl.Series]:
    distinct = names.unique()
    return names.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).to_numpy(), distinct


class NameTable:
    """The distinct names of all blocks so far; the place of a name in it never changes."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.names = pl.Series("head", [], dtype=pl.String)

    def add(self, lists: Sequence[pl.Series]) -> list[Int[np.ndarray, "_"]]:
        """The places of the names of each list; new names are put behind the known ones."""
        known = len(self.names)
        everything = pl.concat([self.names, *lists], rechunk=True)
        if len(everything) > ID_LIMIT:
            what = f"{len(everything)} {self.kind} to tell apart, and ids of 31 bits reach to {ID_LIMIT}"
            raise UserError(f"{what}; import a part of the facts")
        codes, distinct = number_names(everything)
        places = np.full(len(distinct), -1, dtype=np.int32)
        places[codes[:known]] = np.arange(known, dtype=np.int32)
        fresh = places < 0
        places[fresh] = np.arange(known, len(distinct), dtype=np.int32)
        # adding nothing copies the text: without it a few new names keep the text of their whole block alive
        self.names = pl.concat([self.names, distinct.filter(pl.Series(fresh)) + ""], rechunk=True)
        return np.split(places[codes[known:]], np.cumsum([len(names) for names in lists])[:-1])

    def ranks(self) -> tuple[pl.Series, Int[np.ndarray, "_"]]:
        """The names in the order of their UTF-8 bytes, and for each place of the table the place in this order."""
        order = self.names.arg_sort().to_numpy()
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        return self.names.gather(order), ranks


class Encoder:
    """Takes blocks one after the other and keeps only numbers of them, and each name once."""

    def __init__(self) -> None:
        self._entities, self._relations = NameTable("entities"), NameTable("relations")
        self._waiting: list[EncodedBlock] = []
        self._settled: list[Triples] = []

    def add(self, block: EncodedBlock) -> None:
        self._waiting.append(block)
        # waiting until there are as many new names as known ones keeps the whole work in proportion to the input
        if sum(len(waiting.entities) for waiting in self._waiting) > max(NAMES_AT_ONCE, len(self._entities.names)):
            self._settle()

    def _settle(self) -> None:
        entities = self._entities.add([block.entities for block in self._waiting])
        relations = self._relations.add([block.relations for block in self._waiting])
        for block, entity, relation in zip(self._waiting, entities, relations, strict=True):
            self._settled.append(_renumbered(block.triples, entity, relation))
        self._waiting = []

    def finish(self) -> Combined:
        """An id is the rank of a name in the order of UTF-8 bytes: it does not depend on the order of the input."""
        if self._waiting:
            self._settle()
        entities, entity_ranks = self._entities.ranks()
        relations, relation_ranks = self._relations.ranks()
        triples = [_renumbered(block, entity_ranks, relation_ranks) for block in self._settled]
        notes = [*_odd_names(entities, "entities"), *_odd_names(relations, "relations")]
        return Combined(_vocabulary(entities), _vocabulary(relations), triples, notes)


@dataclass(frozen=True)
class Combined:
    """The vocabularies over all blocks, each block's triples as ids in them, and what is odd about the names."""

    entities: Vocabulary
    relations: Vocabulary
    triples: list[Triples]
    notes: list[str]


def _renumbered(
    triples: Triples, entities: Int[np.ndarray, "entities"], relations: Int[np.ndarray, "relations"]
) -> Triples:
    return np.stack([entities[triples[:, 0]], relations[triples[:, 1]], entities[triples[:, 2]]], axis=1)


def _odd_names(names: pl.Series, kind: str) -> list[str]:
    notes: list[str] = []
    padded = names.filter(names.str.strip_chars() != names)
    if len(padded):
        found = f"{kind} that begin or end with blanks: {len(padded)}, such as {padded[0]!r}"
        notes.append(f"{found}; they were kept as they stand, --strip takes the blanks off")
    with_nul = int(names.str.contains("\0", literal=True).sum())
    if with_nul:
        notes.append(f"{kind} with the character NUL in them: {with_nul}; is the source UTF-16, or damaged?")
    return notes


def _vocabulary(names: pl.Series) -> Vocabulary:
    """Distinct names that are sorted already."""
    offsets = np.zeros(len(names) + 1, dtype=np.int64)
    np.cumsum(names.str.len_bytes().to_numpy(), out=offsets[1:])
    # in parts, because a string of polars is shorter than 4 GiB
    parts = (names.slice(start, NAMES_AT_ONCE) for start in range(0, len(names), NAMES_AT_ONCE))
    return Vocabulary(b"".join(part.str.join("").item().encode("utf-8") for part in parts), offsets)
