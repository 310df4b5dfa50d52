"""Answers: the known tails of every (head, relation), as one sorted array with offsets (CSR)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bique.shapes import Int


@dataclass(frozen=True)
class Answers:
    """`tails[starts[i]:starts[i + 1]]` are the distinct known tails of `keys[i] = head · num_relations + relation`."""

    keys: Int[np.ndarray, "known"]
    starts: Int[np.ndarray, "known_plus_one"]
    tails: Int[np.ndarray, "facts"]
    num_relations: int

    @classmethod
    def from_triples(cls, triples: Int[np.ndarray, "n 3"], num_relations: int) -> Answers:
        """`num_relations` counts every relation id that may occur, inverse ones included."""
        keys = triples[:, 0].astype(np.int64) * num_relations + triples[:, 1]
        order = np.lexsort((triples[:, 2], keys))
        keys, tails = keys[order], triples[order, 2]
        fresh = np.ones(len(keys), dtype=bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (tails[1:] != tails[:-1])
        keys, tails = keys[fresh], np.ascontiguousarray(tails[fresh])
        unique, starts = np.unique(keys, return_index=True)
        return cls(unique, np.append(starts, len(keys)).astype(np.int64), tails, num_relations)

    def of(self, head: int, relation: int) -> Int[np.ndarray, "answers"]:
        """The known tails of one query, ascending."""
        return self.gather(np.array([head]), np.array([relation]))[1]

    def gather(
        self, heads: Int[np.ndarray, "queries"], relations: Int[np.ndarray, "queries"]
    ) -> tuple[Int[np.ndarray, "found"], Int[np.ndarray, "found"]]:
        """All known tails of a block of queries as pairs (place of the query, tail), by place and tail ascending."""
        wanted = heads.astype(np.int64) * self.num_relations + relations
        place = np.searchsorted(self.keys, wanted)
        place_or_last = np.minimum(place, max(len(self.keys) - 1, 0))
        known = self.keys[place_or_last] == wanted if len(self.keys) else np.zeros(len(wanted), dtype=bool)
        start = np.where(known, self.starts[place_or_last], 0)
        count = np.where(known, self.starts[np.minimum(place_or_last + 1, len(self.starts) - 1)] - start, 0)
        query = np.repeat(np.arange(len(wanted)), count)
        within = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
        return query, self.tails[start[query] + within]
