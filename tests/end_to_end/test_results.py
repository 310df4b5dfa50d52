"""README and recipes show what lies in results/, digit for digit; nobody types a figure."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from bique.analysis import Results, measured, reproduce
from bique.analysis.results import recipe_of, what_decides
from bique.config import load_config, parse_config

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = Results(ROOT / "results")
RECIPES = sorted((ROOT / "recipes").rglob("*.toml"))


def load_benchmark(name: str) -> Any:
    spec = spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def test_the_readme_has_the_table_of_averages() -> None:
    table = reproduce("averages", RESULTS).markdown()
    assert table in (ROOT / "README.md").read_text(encoding="utf-8"), f"README.md must hold this table:\n{table}"


def test_the_readme_has_the_measured_steps() -> None:
    table = load_benchmark("training_step").markdown(read_json(BENCHMARKS / "training_step.json"))
    assert table in (ROOT / "README.md").read_text(encoding="utf-8"), f"README.md must hold this table:\n{table}"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_recipe_says_what_was_measured_with_it(recipe: Path) -> None:
    found = RESULTS.of(f"{recipe.parent.name}/{recipe.stem}")
    line = f"# {measured(found, recipe.stem)}\n"
    assert line in recipe.read_text(encoding="utf-8"), f"{recipe} must hold this line:\n{line}"


@pytest.mark.parametrize("recipe", sorted({recipe_of(file) for file in RESULTS.files}))
def test_a_result_was_made_with_the_recipe_of_its_name(recipe: str) -> None:
    """Settings that decide a figure; not the seed, the device or where scores are kept."""
    found = RESULTS.of(recipe)
    assert found is not None
    config = load_config(ROOT / "recipes" / f"{recipe}.toml")
    mine = {"settings": config.model_dump(mode="json", exclude_none=True)}
    for one in found.results:
        then = {"settings": parse_config(one["settings"]).model_dump(mode="json", exclude_none=True)}
        assert what_decides(then) == what_decides(mine)
