"""README and recipes show what lies in results/, digit for digit; nobody types a figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from bique.analysis import Results, measured, reproduce

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").rglob("*.toml"))


def test_the_readme_has_the_table_of_averages() -> None:
    table = reproduce("averages", Results(ROOT / "results")).markdown()
    assert table in (ROOT / "README.md").read_text(encoding="utf-8"), f"README.md must hold this table:\n{table}"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_recipe_says_what_was_measured_with_it(recipe: Path) -> None:
    found = Results(ROOT / "results").of(recipe.parent.name, recipe.stem)
    line = f"# {measured(found, recipe.stem)}\n"
    assert line in recipe.read_text(encoding="utf-8"), f"{recipe} must hold this line:\n{line}"
