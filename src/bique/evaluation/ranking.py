"""Filtered ranking against all entities, streamed over tiles: ties are counted, never broken by sort order.

Every product has one fixed shape, (QUERIES, width) × (width, CANDIDATES), whatever the tile size: libraries add in
another order for another shape, and a last bit may decide a rank. A tile is only how many such blocks are held at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bique.config import Ties
from bique.errors import UserError
from bique.graph import Answers, Triples
from bique.shapes import Float, Int

QUERIES = 128
CANDIDATES = 1024


@runtime_checkable
class Scorer(Protocol):
    """What can be ranked: a model, or anything with queries, candidates and a similarity."""

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


def score_tiles(
    scorer: Scorer, queries: Float[Tensor, "batch width"], memory: int
) -> Iterator[tuple[int, Float[Tensor, "batch tile"]]]:
    """Scores of at most QUERIES queries against all entities as tiles of at most `memory` bytes, with their start."""
    count = len(queries)
    assert count <= QUERIES
    queries = functional.pad(queries, (0, 0, 0, QUERIES - count))
    table = scorer.entities
    blocks_per_tile = max(1, memory // (QUERIES * CANDIDATES * queries.element_size()))
    width = CANDIDATES * blocks_per_tile
    for start in range(0, len(table), width):
        stop = min(start + width, len(table))
        blocks = [_block(scorer, queries, table[i : i + CANDIDATES]) for i in range(start, stop, CANDIDATES)]
        tile = blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=1)
        yield start, tile[:count, : stop - start]


def _block(scorer: Scorer, queries: Tensor, candidates: Tensor) -> Tensor:
    short = CANDIDATES - len(candidates)
    return scorer.similarity(queries, functional.pad(candidates, (0, 0, 0, short)) if short else candidates)


@torch.no_grad()
def rank_queries(scorer: Scorer, queries: Triples, answers: Answers, memory: int = 256 << 20) -> Ranking:
    """Rank the tail of each (head, relation, tail) among all entities but its other known answers."""
    blocks = [_rank_block(scorer, queries[i : i + QUERIES], answers, memory) for i in range(0, len(queries), QUERIES)]
    empty = np.zeros(0, dtype=np.int64)
    columns = [np.concatenate([empty, *column]) for column in zip(*blocks, strict=True)] or [empty] * 3
    return Ranking(*columns)


def _rank_block(
    scorer: Scorer, block: Triples, answers: Answers, memory: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    device = scorer.entities.device
    heads, relations, targets = torch.as_tensor(np.ascontiguousarray(block.T, dtype=np.int64)).to(device)
    place, known = answers.gather(block[:, 0], block[:, 1])
    rival = known != block[place, 2]
    place, known = place[rival], known[rival]
    queries = scorer.query(heads, relations)

    # one tile holds everything in the usual case; otherwise the targets' scores need a pass of their own
    tiles = score_tiles(scorer, queries, memory)
    whole = len(scorer.entities) * QUERIES * queries.element_size() <= memory
    if whole:
        tiles = list(tiles)
    target = _target_scores(tiles, targets)
    if not whole:
        tiles = score_tiles(scorer, queries, memory)

    better, equal = torch.zeros_like(targets), torch.zeros_like(targets)
    for start, scores in tiles:
        inside = (known >= start) & (known < start + scores.shape[1])
        rows = torch.as_tensor(place[inside]).to(device)
        columns = torch.as_tensor(known[inside].astype(np.int64) - start).to(device)
        scores[rows, columns] = -torch.inf  # this tile is read no more
        better += (scores > target[:, None]).sum(1)
        equal += (scores == target[:, None]).sum(1)
    candidates = len(scorer.entities) - np.bincount(place, minlength=len(block))
    return better.cpu().numpy(), equal.cpu().numpy() - 1, candidates  # the target equals itself


def _target_scores(tiles: Iterator[tuple[int, Tensor]] | list[tuple[int, Tensor]], targets: Tensor) -> Tensor:
    """Read from the same product as the rivals: a separate dot product differs in the last bit."""
    found = torch.full(targets.shape, torch.nan, device=targets.device)
    for start, scores in tiles:
        if not bool(torch.isfinite(scores).all()):
            raise UserError(
                "the model gives a score that is not a finite number; it cannot be ranked (did it diverge?)"
            )
        inside = (targets >= start) & (targets < start + scores.shape[1])
        column = (targets - start).clamp(0, scores.shape[1] - 1)
        found = torch.where(inside, scores.gather(1, column[:, None])[:, 0], found.to(scores.dtype))
    return found
