"""One evaluation: a scorer on a split of a graph, under a protocol, with figures by direction, relation and more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bique.config import EvaluationConfig
from bique.errors import UserError
from bique.evaluation.metrics import MEANS, Metrics, summarise
from bique.evaluation.protocol import Protocol
from bique.evaluation.ranking import Ranking, Scorer, rank_queries
from bique.evaluation.significance import Interval, bootstrap
from bique.graph import SPLITS, Graph
from bique.graph.categories import relation_categories
from bique.graph.degrees import bucket_bounds, degree_bucket
from bique.kernels.precision import products_in
from bique.shapes import Bool, Float
from bique.version import VERSION


@dataclass(frozen=True)
class Evaluation:
    """Counts for the n tail questions (h, r, ?) of a split, then its n head questions (?, r, t) in the same order."""

    protocol: Protocol
    ranking: Ranking

    @cached_property
    def ranks(self) -> Float[np.ndarray, "queries"]:
        return self.ranking.ranks(self.protocol.ties)

    @property
    def metrics(self) -> Metrics:
        return summarise(self.ranks, self.ranking.candidates)

    def where(self, chosen: Bool[np.ndarray, "queries"]) -> Metrics:
        """The figures over some of the questions."""
        return summarise(self.ranks[chosen], self.ranking.candidates[chosen])

    def per_triple(self, metric: str) -> Float[np.ndarray, "triples"]:
        """The mean of a metric over the two questions of each triple: what a bootstrap resamples."""
        ranks = self.ranks.reshape(2, -1)
        values = 1 / ranks if metric == "mrr" else (ranks <= int(metric.removeprefix("hits_at_"))).astype(float)
        return values.mean(axis=0)

    def intervals(self, resamples: int) -> dict[str, Interval]:
        """95 % intervals of MRR and Hits@k."""
        return {name: bootstrap(self.per_triple(name), resamples) for name in MEANS}

    def breakdown(self, graph: Graph) -> dict[str, dict[str, Metrics]]:
        """The figures by direction, relation, category of the relation, and degree of the target in train."""
        triples = graph.split(self.protocol.split)
        categories = np.array(relation_categories(graph.train, graph.num_relations))
        direction = np.repeat(["tail", "head"], len(triples))
        relation = np.tile(triples[:, 1], 2)
        degree = graph.degrees[np.concatenate([triples[:, 2], triples[:, 0]])]
        bucket = degree_bucket(degree)
        return {
            "direction": {name: self.where(direction == name) for name in ("tail", "head")},
            "relation": {graph.relations[i]: self.where(relation == i) for i in np.unique(relation).tolist()},
            "category": {
                str(name): self.where(categories[relation] == name) for name in np.unique(categories[relation])
            },
            "degree": {_bucket_name(i): self.where(bucket == i) for i in np.unique(bucket).tolist()},
        }

    def as_dict(self, graph: Graph, resamples: int) -> dict[str, Any]:
        by = {
            kind: {name: metrics.as_dict() for name, metrics in table.items()}
            for kind, table in self.breakdown(graph).items()
        }
        intervals = {name: list(interval) for name, interval in self.intervals(resamples).items()}
        return {
            "protocol": self.protocol.as_dict(),
            "metrics": self.metrics.as_dict(),
            "interval_95": intervals,
            "by": by,
        }


def _bucket_name(bucket: int) -> str:
    low, high = bucket_bounds(bucket)
    return str(low) if low == high else f"{low}-{high}"


def evaluate(
    scorer: Scorer, graph: Graph, split: str, config: EvaluationConfig = EvaluationConfig(), seed: int | None = None
) -> Evaluation:
    """Filtered ranking of a split in both directions, known facts of all three splits removed."""
    triples = graph.split(split)
    if not len(triples):
        raise UserError(f"the {split} split of {graph.name} is empty; there is nothing to rank")
    protocol = Protocol(graph.name, graph.hash, split, SPLITS, config.ties, seed, VERSION)
    with products_in("fp32", scorer.device):
        ranking = rank_queries(scorer, graph.both_directions(triples), graph.answers, config.memory_mb << 20)
    return Evaluation(protocol, ranking)
