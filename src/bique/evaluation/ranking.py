"""Filtered ranking against all entities, streamed over tiles: ties are counted, never broken by sort order.

Every product has one fixed shape, (queries, width) × (width, candidates), whatever the tile size: libraries add in
another order for another shape, and a last bit may decide a rank. A tile is only how many such blocks are held at once.
Nothing waits for the device between blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bique.config import Ties
from bique.errors import DivergedError
from bique.graph import Answers, Triples
from bique.shapes import Float, Int

# known answers looked up at once: bounded, however many answers a query has
PAIRS = 1 << 22


class Blocks(NamedTuple):
    """The shape of every product on a kind of device."""

    queries: int
    candidates: int

    @classmethod
    def on(cls, device: torch.device) -> Blocks:
        # a GPU is idle in small products; a CPU's cache overflows in large ones
        return cls(128, 1024) if device.type == "cpu" else cls(1024, 8192)


@runtime_checkable
class Scorer(Protocol):
    """What can be ranked: a model, or anything with queries, candidates and a similarity."""

    @property
    def device(self) -> torch.device: ...

    @property
    def entities(self) -> Float[Tensor, "entities width"]: ...

    def query(self, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"]) -> Float[Tensor, "batch width"]: ...

    def similarity(
        self, query: Float[Tensor, "batch width"], candidates: Float[Tensor, "candidates width"]
    ) -> Float[Tensor, "batch candidates"]: ...


@dataclass(frozen=True)
class Ranking:
    """For each query: rivals that score better, rivals that score the same, and all candidates with the target."""

    better: Int[np.ndarray, "queries"]
    equal: Int[np.ndarray, "queries"]
    candidates: Int[np.ndarray, "queries"]

    def ranks(self, ties: Ties) -> Float[np.ndarray, "queries"]:
        """1 + better + all (worst), half (mean) or none (best) of the equal ones."""
        share = {"worst": 1.0, "mean": 0.5, "best": 0.0}[ties]
        return 1.0 + self.better + share * self.equal


def make_queries(
    scorer: Scorer, heads: Int[Tensor, "batch"], relations: Int[Tensor, "batch"]
) -> Float[Tensor, "batch width"]:
    """At most a block of queries, made as a whole block is: some models multiply matrices for them."""
    short = Blocks.on(heads.device).queries - len(heads)
    assert short >= 0
    return scorer.query(functional.pad(heads, (0, short)), functional.pad(relations, (0, short)))[: len(heads)]


def score_tiles(
    scorer: Scorer, queries: Float[Tensor, "batch width"], memory: int
) -> Iterator[tuple[int, Float[Tensor, "batch tile"]]]:
    """Scores of at most a block of queries against all entities: tiles of at most `memory` bytes, with their start."""
    count, shape = len(queries), Blocks.on(queries.device)
    assert count <= shape.queries
    queries = functional.pad(queries, (0, 0, 0, shape.queries - count))
    table = scorer.entities
    width = shape.candidates * max(1, memory // (shape.queries * shape.candidates * queries.element_size()))
    for start in range(0, len(table), width):
        stop = min(start + width, len(table))
        blocks = [
            _block(scorer, queries, table[i : i + shape.candidates]) for i in range(start, stop, shape.candidates)
        ]
        tile = blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=1)
        yield start, tile[:count, : stop - start]


def _block(scorer: Scorer, queries: Tensor, candidates: Tensor) -> Tensor:
    short = Blocks.on(queries.device).candidates - len(candidates)
    return scorer.similarity(queries, functional.pad(candidates, (0, 0, 0, short)) if short else candidates)


@torch.no_grad()
def rank_queries(scorer: Scorer, queries: Triples, answers: Answers, memory: int = 256 << 20) -> Ranking:
    """Rank the tail of each (head, relation, tail) among all entities but its other known answers."""
    device = scorer.device
    size = Blocks.on(device).queries
    known = _KnownAnswers(answers, queries, size, device)
    counts = torch.zeros(3, len(queries), dtype=torch.int64, device=device)
    finite = torch.ones((), dtype=torch.bool, device=device)
    for start in range(0, len(queries), size):
        _rank_block(scorer, known, start, memory, counts[:, start : start + size], finite)
    if not bool(finite):
        raise DivergedError("the model gives a score that is not a finite number, so it cannot be ranked")
    better, equal, rivals = counts.cpu().numpy()
    return Ranking(better, equal - 1, len(scorer.entities) - rivals)  # the target equals itself


def _rank_block(scorer: Scorer, known: _KnownAnswers, start: int, memory: int, counts: Tensor, finite: Tensor) -> None:
    """Write better, equal and known rivals of the block of queries from `start` on into `counts`."""
    block = slice(start, start + known.size)
    targets = known.targets[block]
    queries = make_queries(scorer, known.heads[block], known.relations[block])
    # one tile holds everything in the usual case; otherwise the targets' scores need a pass of their own
    tiles = score_tiles(scorer, queries, memory)
    shape = Blocks.on(queries.device)
    whole = len(scorer.entities) * shape.queries * queries.element_size() <= memory
    if whole:
        tiles = list(tiles)
    target = _target_scores(tiles, targets, finite)[:, None]
    if not whole:
        tiles = score_tiles(scorer, queries, memory)

    better, equal, rivals = counts
    for first, scores in tiles:
        better += (scores > target).sum(1)
        equal += (scores == target).sum(1)
        # what known answers other than the target were counted for is taken back
        for rows, tails in known.pairs(start):
            rival = (tails != targets[rows]) & (tails >= first) & (tails < first + scores.shape[1])
            found = scores[rows, (tails - first).clamp(0, scores.shape[1] - 1)]
            better.index_add_(0, rows, -((found > target[rows, 0]) & rival).long())
            equal.index_add_(0, rows, -((found == target[rows, 0]) & rival).long())
            rivals.index_add_(0, rows, rival.long())


def _target_scores(
    tiles: Iterator[tuple[int, Tensor]] | list[tuple[int, Tensor]], targets: Tensor, finite: Tensor
) -> Tensor:
    """Read from the same product as the rivals: a separate dot product differs in the last bit."""
    total = torch.zeros(targets.shape, device=targets.device)
    for start, scores in tiles:
        finite &= torch.isfinite(scores).all()
        inside = (targets >= start) & (targets < start + scores.shape[1])
        column = (targets - start).clamp(0, scores.shape[1] - 1)
        total = torch.where(inside, scores.gather(1, column[:, None])[:, 0], total.to(scores.dtype))
    return total


class _KnownAnswers:
    """The queries and where their known answers lie, on the device."""

    def __init__(self, answers: Answers, queries: Triples, size: int, device: torch.device) -> None:
        columns = torch.as_tensor(np.ascontiguousarray(queries.T, dtype=np.int64)).to(device)
        self.heads, self.relations, self.targets = columns
        keys, starts, self.tails = (
            torch.as_tensor(np.array(part)).to(device) for part in (answers.keys, answers.starts, answers.tails)
        )
        if not len(keys):
            keys, starts = keys.new_full((1,), -1), starts.new_zeros(2)
        wanted = self.heads * answers.num_relations + self.relations
        place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        self.starts = starts[place]
        self.counts = torch.where(keys[place] == wanted, starts[place + 1] - self.starts, 0)
        self.size = size
        counts: Int[np.ndarray, "queries"] = self.counts.cpu().numpy()
        self.totals: list[int] = [int(counts[start : start + size].sum()) for start in range(0, len(counts), size)]

    def pairs(self, start: int) -> Iterator[tuple[Int[Tensor, "pairs"], Int[Tensor, "pairs"]]]:
        """Every known answer of a block of queries as (row in the block, tail), a bounded number at a time."""
        block, total = slice(start, start + self.size), self.totals[start // self.size]
        ends = self.counts[block].cumsum(0)
        first = self.starts[block] - ends + self.counts[block]
        for done in range(0, total, PAIRS):
            pair = torch.arange(done, min(done + PAIRS, total), device=ends.device)
            rows = torch.searchsorted(ends, pair, right=True)
            yield rows, self.tails[first[rows] + pair].long()
