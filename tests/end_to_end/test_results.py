"""README and recipes show what lies in results/, digit for digit; nobody types a figure."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import torch

from bique.analysis import Results, measured, reproduce
from bique.analysis.reproduce import size_recipes
from bique.analysis.results import recipe_of
from bique.config import load_config, parse_config
from bique.models import MODELS, Size

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = Results(ROOT / "results", ROOT / "recipes")
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


@pytest.mark.parametrize("name", ["table5", "table6", "figure2"])
def test_the_documentation_has_the_papers_analyses(name: str) -> None:
    table = reproduce(name, RESULTS).markdown()
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert table in page, f"docs/paper.md must hold this table:\n{table}"


def test_the_readme_has_the_measured_steps() -> None:
    table = load_benchmark("training_step").markdown(read_json(BENCHMARKS / "training_step.json"))
    assert table in (ROOT / "README.md").read_text(encoding="utf-8"), f"README.md must hold this table:\n{table}"


def test_the_documentation_has_the_steps_measured_with_the_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))  # one benchmark measures as the other does
    benchmark, record = load_benchmark("models"), read_json(BENCHMARKS / "models.json")
    table = benchmark.markdown(record)
    assert table in (ROOT / "docs" / "models.md").read_text(encoding="utf-8"), f"docs/models.md must hold:\n{table}"
    for name, compared_with, batch, _, settings in record["rows"]:
        config = load_config(ROOT / "recipes" / name / f"{record['dataset']}.toml")
        sections = {name: settings[name] for name in ("model", "objective")}
        known = benchmark.deciding(parse_config({"dataset": record["dataset"], "penalty": {"weight": 0}, **sections}))
        then = {**settings, **{name: known[name] for name in sections}}  # what came later has its default
        now = benchmark.compared_with(config.objective), config.training.batch_size, benchmark.deciding(config)
        assert now == (compared_with, batch, then), f"{name}: the recipe has changed since; measure it again"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_recipe_says_what_was_measured_with_it(recipe: Path) -> None:
    found = RESULTS.of(f"{recipe.parent.name}/{recipe.stem}")
    line = f"# {measured(found, recipe.stem)}\n"
    assert line in recipe.read_text(encoding="utf-8"), f"{recipe} must hold this line:\n{line}"


def test_every_result_was_made_with_the_recipe_of_its_name() -> None:
    """Settings that decide a figure; not the seed, the device or where scores are kept."""
    made = {recipe_of(file) for file in RESULTS.files}
    assert made <= {f"{recipe.parent.name}/{recipe.stem}" for recipe in RECIPES}
    assert all(RESULTS.of(recipe) for recipe in made)


@pytest.mark.parametrize(("system", "sizes"), size_recipes().items())
def test_every_point_of_figure_2_has_a_recipe_of_its_size(system: str, sizes: dict[int, str]) -> None:
    for reals, recipe in sizes.items():
        config = load_config(ROOT / "recipes" / f"{recipe}.toml")
        assert config.dataset == "wn18rr"
        model = MODELS[config.model.name](config.model, Size(3, 2), torch.Generator())
        biases = 2 if system == "RotH" else 0
        assert model.entity_width == reals + biases, recipe
    # a curve is of one regime; the note under the figure names the exceptions
    settings = {reals: _without_units(recipe) for reals, recipe in sizes.items()}
    unlike = {reals for reals, found in settings.items() if found != settings[64]}
    assert unlike == {"RotH": {512}, "ComplEx-N3": {1024}}.get(system, set())


def _without_units(recipe: str) -> dict[str, Any]:
    settings = load_config(ROOT / "recipes" / f"{recipe}.toml").model_dump(mode="json")
    del settings["model"]["units"]
    return settings


def test_the_documentation_has_the_geometry_of_wn18rr() -> None:
    record = read_json(ROOT / "results" / "geometry-wn18rr.json")
    page = (ROOT / "docs" / "geometry.md").read_text(encoding="utf-8")
    for one in record["relations"]:
        learned, facts = one["geometry"], one["facts"]
        medians = [f"{learned[name]['median']:.2f}" for name in ("angle", "rapidity", "modulus")]
        shown = [f"`{learned['relation']}`", f"{facts['facts']:,}", facts["category"], f"{facts['hierarchy']:.2f}"]
        shown += [*medians, f"{learned['translation']:.2f}", f"{learned['near_null']} of {learned['units']}"]
        assert f"| {' | '.join(shown)} |" in page
    found = record["hierarchy_and_rapidity"]
    assert f"{found['rho']:.2f} [{found['low']:.2f} {found['high']:.2f}]" in page
