"""Models: one short file each. MODELS is the table of what a recipe may name."""

from __future__ import annotations

import torch

from bique.config import ModelConfig
from bique.graph import Graph
from bique.models.bique import BiQUE
from bique.models.model import Model

MODELS: dict[str, type[Model]] = {"bique": BiQUE}

__all__ = ["MODELS", "BiQUE", "Model", "build_model"]


def build_model(config: ModelConfig, graph: Graph, seed: int) -> Model:
    """The tables drawn from the seed, on the CPU: the same start on every device."""
    generator = torch.Generator().manual_seed(seed)
    return MODELS[config.name].from_config(config, graph.num_entities, graph.num_directed_relations, generator)
