"""Batches: every epoch a new order, drawn from (seed, epoch) alone, so that any step can be gone back to."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bique.graph import Graph, Triples
from bique.shapes import Int


class Batches:
    """The training facts in both directions, cut into batches; the last one may be short.

    With `queries`, the distinct (head, relation) instead, their number in the place of the tail.
    """

    def __init__(self, graph: Graph, batch_size: int, seed: int, device: torch.device, queries: bool = False) -> None:
        found = distinct_queries(graph) if queries else graph.both_directions(graph.train)
        facts = torch.from_numpy(found.astype("int64"))
        self.facts: Int[Tensor, "facts 3"] = facts.to(device)
        self.batch_size, self.seed = min(batch_size, len(facts)), seed
        self.per_epoch = -(-len(facts) // self.batch_size)
        self._kept: tuple[int, Tensor] | None = None

    def order(self, epoch: int) -> Int[Tensor, "facts"]:
        """The order of an epoch, made on the CPU: the same on every device. The last one asked for is kept."""
        if self._kept is None or self._kept[0] != epoch:
            # one odd multiplier keeps the streams of neighbouring seeds and epochs apart
            generator = torch.Generator().manual_seed((self.seed * 0x9E3779B97F4A7C15 + epoch + 1) % 2**63)
            order = torch.randperm(len(self.facts), generator=generator)
            self._kept = epoch, order.to(self.facts.device)
        return self._kept[1]

    def batch(self, order: Int[Tensor, "facts"], step: int) -> Int[Tensor, "batch 3"]:
        return self.facts[order[step * self.batch_size : (step + 1) * self.batch_size]]


def distinct_queries(graph: Graph) -> Triples:
    """(head, relation, number) of every question that train has an answer to, in the order of `Graph.answers`."""
    directed = graph.num_directed_relations
    keys = np.unique(graph.both_directions(graph.train)[:, :2].astype(np.int64) @ np.array([directed, 1]))
    return np.stack((keys // directed, keys % directed, np.arange(len(keys))), axis=1).astype(np.int32)
