"""Graphs: names in files become a directory of memory-mapped triples. Needs numpy; only the readers need polars."""

from bique.graph.answers import Answers
from bique.graph.graph import SPLITS, Graph, Split, Triples
from bique.graph.labels import Labels
from bique.graph.vocabulary import Vocabulary

__all__ = ["SPLITS", "Answers", "Graph", "Labels", "Split", "Triples", "Vocabulary"]
