"""Evaluation: streamed filtered ranking, metrics with intervals, and the protocol every number carries."""

from bique.evaluation.baseline import FrequencyBaseline
from bique.evaluation.best import best_entities, refuse_if_not_finite
from bique.evaluation.evaluate import Evaluation, evaluate
from bique.evaluation.metrics import Metrics, summarise
from bique.evaluation.protocol import Protocol
from bique.evaluation.ranking import Blocks, Ranking, Scorer, rank_queries, score_tiles
from bique.evaluation.significance import Interval, bootstrap, paired_bootstrap

__all__ = [
    "Blocks",
    "Evaluation",
    "FrequencyBaseline",
    "Interval",
    "Metrics",
    "Protocol",
    "Ranking",
    "Scorer",
    "best_entities",
    "bootstrap",
    "evaluate",
    "paired_bootstrap",
    "rank_queries",
    "refuse_if_not_finite",
    "score_tiles",
    "summarise",
]
