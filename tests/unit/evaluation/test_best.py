"""The best answers are the beginning of one order: by score, and of equal ones by id."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bique.config.models import ConvEConfig, DistMultConfig, InteractEConfig, ModelConfig
from bique.evaluation import Blocks, best_entities
from bique.models import MODELS, Model, Size

module = importlib.import_module("bique.evaluation.best")
CANDIDATES = Blocks.on(torch.device("cpu")).candidates


def made(config: ModelConfig, entities: int) -> Model:
    return MODELS[config.name](config, Size(entities, 4), torch.Generator().manual_seed(0)).eval()


def tied_model(entities: int, seed: int) -> Model:
    """Scores are whole numbers, few of them different."""
    model = made(DistMultConfig(name="distmult", units=2), entities)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for table in (model.entity, model.relation):
            table.copy_(torch.randint(-1, 2, table.shape, generator=generator))
    return model


@given(seed=st.integers(0, 100), count=st.integers(1, 50), tiles=st.integers(1, 3))
def test_equal_scores_stand_by_id_whatever_is_asked_beside_and_however_many(seed: int, count: int, tiles: int) -> None:
    entities = CANDIDATES * tiles + 7
    model = tied_model(entities, seed)
    heads, relations = torch.tensor([5, 3, 8]), torch.tensor([0, 1, 3])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MEMORY", 1)  # a tile is one block
        ids, scores, _ = best_entities(model, heads, relations, count)
        alone = [best_entities(model, heads[i : i + 1], relations[i : i + 1], count) for i in range(3)]
    for i, every in enumerate(model.score_all(heads, relations).detach().numpy()):
        wanted = np.lexsort((np.arange(entities), -every))[:count]
        np.testing.assert_array_equal(ids[i], wanted)
        np.testing.assert_array_equal(scores[i], every[wanted])
        assert torch.equal(alone[i][0][0], ids[i])


@pytest.mark.parametrize("config", [ConvEConfig(name="conve"), InteractEConfig(name="interacte")], ids=lambda c: c.name)
def test_a_question_alone_has_the_scores_it_has_among_others(config) -> None:
    model = made(config, 300)
    heads, relations = torch.arange(100), torch.arange(100) % 4
    together = best_entities(model, heads, relations, 300)
    for i in (0, 57, 99):
        alone = best_entities(model, heads[i : i + 1], relations[i : i + 1], 300)
        assert torch.equal(alone[0][0], together[0][i])
        assert torch.equal(alone[1][0], together[1][i])
