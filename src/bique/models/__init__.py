"""Models: one short file each. MODELS is the table of what a recipe may name."""

from __future__ import annotations

from typing import Any

import torch

from bique.config import ModelConfig
from bique.graph import Graph
from bique.models.atth import AttH
from bique.models.bique import BiQUE
from bique.models.compgcn import CompGCN
from bique.models.complex import ComplEx
from bique.models.conve import ConvE
from bique.models.convtranse import ConvTransE
from bique.models.distmult import DistMult
from bique.models.duale import DualE
from bique.models.interacte import InteractE
from bique.models.model import Factors, Model, Size, lookup
from bique.models.murp import MurP
from bique.models.quate import QuatE
from bique.models.refh import RefH
from bique.models.rotate import RotatE
from bique.models.roth import RotH
from bique.models.transe import TransE

MODELS: dict[str, Any] = {
    "bique": BiQUE,
    "transe": TransE,
    "distmult": DistMult,
    "complex": ComplEx,
    "rotate": RotatE,
    "quate": QuatE,
    "duale": DualE,
    "conve": ConvE,
    "interacte": InteractE,
    "convtranse": ConvTransE,
    "compgcn": CompGCN,
    "murp": MurP,
    "roth": RotH,
    "refh": RefH,
    "atth": AttH,
}

__all__ = ["MODELS", "BiQUE", "Factors", "Model", "Size", "build_model", "lookup"]


def build_model(config: ModelConfig, graph: Graph, seed: int) -> Model:
    """The tables drawn from the seed, on the CPU: the same start on every device."""
    kind = MODELS[config.name]
    facts = graph.both_directions(graph.train) if kind.needs_facts else None
    size = Size(graph.num_entities, graph.num_directed_relations, facts)
    return kind(config, size, torch.Generator().manual_seed(seed))
