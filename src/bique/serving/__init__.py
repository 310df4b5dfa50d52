"""Serving: a trained run answers questions."""

from bique.serving.export import export_embeddings
from bique.serving.naming import Named
from bique.serving.predictor import AnswerTable, Prediction, Predictor, Query, load
from bique.serving.queries import read_queries, write_answers

__all__ = [
    "AnswerTable",
    "Named",
    "Prediction",
    "Predictor",
    "Query",
    "export_embeddings",
    "load",
    "read_queries",
    "write_answers",
]
