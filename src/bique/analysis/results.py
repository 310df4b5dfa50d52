"""A folder of results: one JSON per run, `<recipe>-seed<n>.json`, each what `Run.summary` gave.

A recipe `<model>/<dataset>` is a model at its own settings; other folders hold variants, and there the name of a recipe
begins with its dataset: `table5/wn18rr-no-penalty`.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from bique.analysis.result_file import protocol_of, read_result
from bique.atomic import write_text
from bique.config import load_config, parse_config
from bique.errors import UserError
from bique.models import MODELS, Size


@dataclass(frozen=True)
class Seeds:
    """The runs of one recipe, which differ in their seed alone."""

    results: tuple[dict[str, Any], ...]

    def values(self, metric: str) -> list[float]:
        return [one["evaluations"]["test"]["metrics"][metric] for one in self.results]

    def mean(self, metric: str) -> float:
        return statistics.fmean(self.values(metric))

    def deviation(self, metric: str) -> float | None:
        """The sample's standard deviation; one run has none."""
        return statistics.stdev(self.values(metric)) if len(self.results) > 1 else None

    def best(self) -> Seeds:
        """The one with the highest MRR on the test split, as the paper's main tables choose it."""
        return Seeds((max(self.results, key=lambda one: one["evaluations"]["test"]["metrics"]["mrr"]),))

    def by_relation(self, metric: str) -> dict[str, float]:
        """The mean over the seeds for each relation."""
        tables = [one["evaluations"]["test"]["by"]["relation"] for one in self.results]
        return {name: statistics.fmean(table[name][metric] for table in tables) for name in tables[0]}

    @property
    def parameters(self) -> int:
        """Everything that is learned, counted from the tables of a model of that kind."""
        one = self.results[0]
        config = parse_config(one["settings"]).model
        graph = one["graph"]
        size = Size(graph["entities"], 2 * graph["relations"])
        with torch.device("meta"):
            model = MODELS[config.name](config, size, torch.Generator())
        padding = (len(model.entity) - model.num_entities) * model.entity_width
        return sum(table.numel() for table in model.parameters()) - padding

    @property
    def seconds(self) -> float:
        return statistics.fmean(one["seconds"] for one in self.results)


class Results:
    def __init__(self, folder: Path, recipes: Path | None = None) -> None:
        """`recipes`: results must have been made with the recipes that lie there."""
        self.folder, self.recipes = folder, recipes

    @cached_property
    def files(self) -> dict[Path, dict[str, Any]]:
        """Refused when two results of one dataset were not measured alike: tables set them side by side."""
        found = {file: _read(file) for file in sorted(self.folder.glob("*/*.json"))}
        first: dict[str, Path] = {}
        for file, one in found.items():
            other = first.setdefault(one["settings"]["dataset"], file)
            _refuse_together(other, file, protocol_of(found[other]).differences(protocol_of(one)))
        return found

    def of(self, recipe: str) -> Seeds | None:
        """Refused when they differ in more than their seed, or from their recipe."""
        found = {file: one for file, one in self.files.items() if recipe_of(file) == recipe}
        if not found:
            return None
        files, results = list(found), list(found.values())
        seeds = [one["seed"] for one in results]
        self._check_recipe(files[0], results[0])
        for file, one in found.items():
            unlike: list[str] = []
            if what_decides(one) != what_decides(results[0]):
                unlike.append("settings")
            if one["environment"].get("precision") != results[0]["environment"].get("precision"):
                unlike.append("precision")
            if seeds.count(one["seed"]) > 1:
                unlike.append(f"seed {one['seed']} twice")
            _refuse_together(files[0], file, unlike)
        return Seeds(tuple(sorted(results, key=lambda one: one["seed"])))

    def _check_recipe(self, file: Path, result: dict[str, Any]) -> None:
        recipe = self.recipes and self.recipes / f"{recipe_of(file)}.toml"
        if recipe is None or not recipe.exists():
            return
        now = {"settings": load_config(recipe).model_dump(mode="json", exclude_none=True)}
        if what_decides(now) != what_decides(result):
            raise UserError(f"{file}: was made with other settings than {recipe} has; remove it or undo the change")

    def check_name(self, recipe: str, result: dict[str, Any]) -> Path:
        """Where a result of this recipe goes; refused if it is of another model or dataset than the recipe's name."""
        file = self.folder / f"{recipe}-seed{result['seed']}.json"
        _check_name(file, result)
        return file

    def add(self, result: dict[str, Any], recipe: str) -> Path:
        file = self.check_name(recipe, result)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
        self.__dict__.pop("files", None)
        return file


def _refuse_together(one: Path, other: Path, unlike: list[str]) -> None:
    if unlike:
        raise UserError(f"{one} and {other} do not belong together ({'; '.join(unlike)}); remove one")


def recipe_of(file: Path) -> str:
    return f"{file.parent.name}/{file.stem.rsplit('-seed', 1)[0]}"


def _check_name(file: Path, result: dict[str, Any]) -> None:
    model, dataset = result["model"], result["settings"]["dataset"]
    folder, name = recipe_of(file).split("/")
    if folder in MODELS:
        wanted = f"{model}/{dataset}"
    else:
        wanted = f"{folder}/{name if name == dataset or name.startswith(f'{dataset}-') else f'{dataset}-…'}"
    wanted += f"-seed{result['seed']}.json"
    if wanted != "/".join(file.parts[-2:]):
        raise UserError(f"{file}: a result of {model} on {dataset}: its name should be {wanted}")


def _read(file: Path) -> dict[str, Any]:
    result = read_result(file)
    _check_name(file, result)
    return result


def what_decides(result: dict[str, Any]) -> dict[str, Any]:
    """The settings that decide a figure; one that is younger than the result has its default."""
    settings = parse_config(result["settings"]).model_dump(mode="json")
    training = {key: value for key, value in settings["training"].items() if key not in _INDIFFERENT}
    return settings | {"training": training, "evaluation": None}


_INDIFFERENT = ("seed", "device", "checkpoint_seconds", "tensorboard", "score_memory_mb")
