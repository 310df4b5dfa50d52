from __future__ import annotations

from pathlib import Path

import pytest

from bique.config import load_config
from bique.config.models import ComplExConfig
from bique.errors import UserError
from bique.graph.catalog import find
from bique.models import MODELS

RECIPES = sorted((Path(__file__).parents[3] / "recipes").rglob("*.toml"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_recipe_reads_and_is_named_after_its_model_and_dataset(recipe: Path) -> None:
    """A folder of variants is named after its purpose; there a dataset begins the name."""
    config = load_config(recipe)
    assert config.dataset is not None
    name = find(config.dataset).name
    if recipe.parent.name in MODELS:
        assert (recipe.parent.name, recipe.stem) == (config.model.name, name)
    else:
        assert recipe.stem == name or recipe.stem.startswith(f"{name}-")


def test_a_recipe_may_stand_on_another_one(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('dataset = "wordnet"\n[model]\nunits = 4\n[training]\nepochs = 3\n')
    (tmp_path / "inner").mkdir()
    over = tmp_path / "inner" / "over.toml"
    over.write_text('extends = "../base.toml"\n[model]\ntranslation = false\n[training]\nepochs = 5\n')
    config = load_config(over, ["training.batch_size=7"])
    assert (config.dataset, config.model.units, config.training.epochs) == ("wordnet", 4, 5)
    assert config.model.model_dump()["translation"] is False
    assert config.training.batch_size == 7


def test_a_base_that_does_not_name_its_model_has_the_default_one(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('dataset = "wordnet"\n[model]\nunits = 3\n[optimizer]\nlearning_rate = 0.5\n')
    over = 'extends = "base.toml"\n[model]\nname = "bique"\n[optimizer]\nname = "adagrad"\n'
    (tmp_path / "over.toml").write_text(over)
    config = load_config(tmp_path / "over.toml")
    assert (config.model.units, config.optimizer.learning_rate) == (3, 0.5)


def test_another_model_graph_or_optimizer_replaces_the_one_below_whole(tmp_path: Path) -> None:
    """1024 reals of BiQUE are 128 units, and 128 units of ComplEx are 256 reals."""
    base = 'dataset = "wordnet"\n[model]\nunits = 4\n[optimizer]\nname = "adam"\nbetas = [0.8, 0.9]\n'
    (tmp_path / "base.toml").write_text(base)
    over = 'extends = "base.toml"\ngraph = "mine"\n[model]\nname = "complex"\n[optimizer]\nname = "adagrad"\n'
    (tmp_path / "over.toml").write_text(over)
    config = load_config(tmp_path / "over.toml")
    assert (config.graph, config.dataset) == (Path("mine"), None)
    assert config.model.units == ComplExConfig(name="complex").units
    assert config.optimizer.betas is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('extends = "nowhere.toml"', "nowhere.toml: No such file"),
        ("extends = 3", "the path of another recipe is wanted"),
        ('extends = "loop.toml"', "leads back"),
        ('extends = "other.toml"', "leads back"),
        (r'extends = "a\u0000b"', "is no file"),
        ("x = " + "[" * 5000, "not valid TOML"),
    ],
)
def test_a_base_that_cannot_be_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "loop.toml").write_text(text)
    (tmp_path / "other.toml").write_text('extends = "loop.toml"')
    with pytest.raises(UserError, match=said):
        load_config(tmp_path / "loop.toml")


def test_a_chain_of_recipes_has_an_end(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.toml").write_text(f'extends = "{number + 1}.toml"')
    with pytest.raises(UserError, match="recipe of a chain"):
        load_config(tmp_path / "0.toml")
