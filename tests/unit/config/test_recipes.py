from __future__ import annotations

from pathlib import Path

import pytest

from bique.config import load_config
from bique.graph.catalog import find

RECIPES = sorted((Path(__file__).parents[3] / "recipes").rglob("*.toml"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_reads_and_is_named_after_its_model_and_dataset(recipe: Path) -> None:
    config = load_config(recipe)
    assert config.dataset is not None
    assert find(config.dataset).name == recipe.stem
    assert config.model.name == recipe.parent.name
