"""The paper's tables beside ours: what the paper prints comes from `paper.toml`, ours from a folder of results."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from bique.analysis.results import Results, Seeds
from bique.errors import unknown
from bique.evaluation.metrics import MEANS
from bique.runs import hardware_of

TABLES = ("table2", "table3", "table4", "averages", "table5", "table6", "figure2", "fast")
SUBSTITUTES = {"yago3-10": "yago3-10-quarter", "atomic": "atomic-sub"}
HEADINGS = ("MRR", "H@1", "H@3", "H@10")
NOT_REACHED = "data not reached"
OURS = "ours: mean ± standard deviation over the seeds, where there are several"


@dataclass(frozen=True)
class Table:
    title: str
    headings: list[str]
    rows: list[list[str]]
    notes: list[str]
    on_screen: int | None = None
    """How many columns a terminal shows; it prints the others below."""

    def markdown(self) -> str:
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class Wanted(NamedTuple):
    """A run that a table needs."""

    recipe: str
    seed: int


def reproduce(name: str, results: Results) -> Table:
    tables = {
        "table4": _per_relation,
        "averages": _averages,
        "table5": _variants,
        "table6": _equal_parameters,
        "figure2": _sizes,
        "fast": _fast,
    }
    return tables[name](results) if name in tables else _main(name, results)


def wanted(name: str, seeds: int) -> list[Wanted]:
    """The runs behind a table, whether they exist or not."""
    table = paper(name)
    if name == "table4":
        recipes = [f"{model}/wn18rr" for model in ("bique", "roth", "quate")]
    elif name == "figure2":
        recipes = [recipe for line in size_recipes().values() for recipe in line.values()]
    else:
        named = [(row, data) for data in table["datasets"] for row in table["rows"].values()]
        recipes = [_recipe(row, data) for row, data in named if data in row or name == "fast"]
    return [Wanted(recipe, seed) for recipe in recipes for seed in range(seeds)]


def paper(name: str) -> dict[str, Any]:
    if name not in TABLES:
        raise unknown("table", name, (*TABLES, "figure3"))
    return _paper()[name]


def size_recipes() -> dict[str, dict[int, str]]:
    """Of each system of Figure 2: its recipe for each number of reals per entity."""
    table = paper("figure2")
    own = f"figure2/{table['dataset']}-{{}}-{{}}"
    return {
        name: {n: row.get(str(n), own.format(row["model"], n)) for n in table["sizes"]}
        for name, row in table["systems"].items()
    }


def sizes_measured(results: Results, metric: str) -> dict[str, list[tuple[int, float, float | None]]]:
    """Of each system: size, mean and deviation over the seeds, where it was run."""
    points = {}
    for name, recipes in size_recipes().items():
        found = [(size, results.of(recipe)) for size, recipe in recipes.items()]
        points[name] = [(size, one.mean(metric), one.deviation(metric)) for size, one in found if one is not None]
    return points


def _recipe(row: dict[str, Any], data: str) -> str:
    recipe = row.get("recipe", f"{row.get('model')}/{data}")
    return recipe.format(dataset=data) if isinstance(recipe, str) else recipe[data]


@cache
def _paper() -> dict[str, Any]:
    return tomllib.loads((files("bique.analysis") / "paper.toml").read_text(encoding="utf-8"))


def _main(name: str, results: Results) -> Table:
    """Per system and dataset: the paper's figures, and ours, of the best seed as in the paper."""
    table, rows = paper(name), []
    for data in table["datasets"]:
        for system, row in table["rows"].items():
            if data in row:
                rows.append([data, system, row.get("source", "paper"), *_printed(row[data]), ""])
                rows.append(["", "", "ours", *_ours(results.of(_recipe(row, data)), data)])
        rows += _substitute(results, data, [(system, row["model"]) for system, row in table["rows"].items()])
    notes = [table["paper"], "ours: the best of its seeds by test MRR, as the paper chose; `averages` has the means"]
    return Table(table["title"], ["dataset", "system", "", *HEADINGS, "seeds"], rows, notes)


def _ours(found: Seeds | None, data: str) -> list[str]:
    if found is None:
        return [NOT_REACHED if data in SUBSTITUTES else "not run", "", "", "", ""]
    best = found.best()
    return [*(_figure(best.mean(metric)) for metric in MEANS), str(len(found.results))]


def _substitute(results: Results, data: str, systems: list[tuple[str, str]]) -> list[list[str]]:
    """What was trained on the part of a dataset that could be had: never to be compared with the paper."""
    if data not in SUBSTITUTES:
        return []
    name, rows = SUBSTITUTES[data], []
    for system, model in systems:
        found = results.of(f"{model}/{name}")
        if found is not None:
            rows.append([f"{name} (a substitute)", system, "ours", *_ours(found, name)])
    return rows


def _averages(results: Results) -> Table:
    table = paper("averages")
    rows: list[list[str]] = []
    for data in table["datasets"]:
        printed = zip(_printed(table["rows"]["BiQUE"][data]), _printed(table["deviations"]["BiQUE"][data]), strict=True)
        rows.append([data, "paper", *(f"{mean} ± {deviation}" for mean, deviation in printed), "10", "", "", ""])
        rows.append(["", "ours", *_mean_row(results.of(f"bique/{data}"), data)])
        if data in SUBSTITUTES and (found := results.of(f"bique/{SUBSTITUTES[data]}")) is not None:
            rows.append([f"{SUBSTITUTES[data]} (a substitute)", "ours", *_mean_row(found, data)])
    if (found := results.of("bique/wordnet")) is not None:
        rows.append(["wordnet (bundled)", "ours", *_mean_row(found, "wordnet")])
    headings = ["graph", "BiQUE", *HEADINGS, "seeds", "settings", "hardware", "training"]
    notes = [table["paper"], OURS]
    return Table(table["title"], headings, rows, notes, on_screen=7)


def _mean_row(found: Seeds | None, data: str) -> list[str]:
    if found is None:
        return [NOT_REACHED if data in SUBSTITUTES else "not run", *[""] * 7]
    figures = [_with_deviation(found.mean(metric), found.deviation(metric)) for metric in MEANS]
    one = found.results[0]
    settings, environment = one["settings"], one["environment"]
    chosen = [
        f"k = {settings['model']['units']}",
        f"λ = {settings['penalty']['weight']}",
        f"batch {settings['training']['batch_size']}",
        f"{settings['training']['epochs']} epochs",
        str(environment.get("precision", "fp32")),
    ]
    return [*figures, str(len(found.results)), ", ".join(chosen), _all_hardware(found), _time(found)]


def _time(found: Seeds) -> str:
    """Seconds of unlike hardware have no mean."""
    timed = _undisturbed(found)
    alike = len({hardware_of(result["environment"]) for result in timed.results}) == 1
    return f"{timed.seconds:.0f} s" if alike else "–"


def _all_hardware(found: Seeds) -> str:
    return " and ".join(sorted({hardware_of(result["environment"]) for result in _undisturbed(found).results}))


def _undisturbed(found: Seeds) -> Seeds:
    """The runs that had a GPU to themselves, if there are any: beside others a run's seconds say little."""
    alone = tuple(one for one in found.results if not one["environment"].get("shared_gpu"))
    return Seeds(alone) if alone else found


def _per_relation(results: Results) -> Table:
    table = paper("table4")
    found = [results.of(f"{model}/wn18rr") for model in ("roth", "quate", "bique")]
    ours = [{} if one is None else one.by_relation("hits_at_10") for one in found]
    rows = []
    for relation, line in table["rows"].items():
        triples, *theirs = line.split()[0], *_printed(line)[1:]
        pairs = zip(theirs, (_figure(known.get(relation)) for known in ours), strict=True)
        rows.append([relation, triples, *(cell for pair in pairs for cell in pair)])
    headings = ["relation", "triples", "RotH", "ours", "QuatE²", "ours", "BiQUE", "ours"]
    seeds = ", ".join(str(0 if one is None else len(one.results)) for one in found)
    return Table(table["title"], headings, rows, [table["paper"], f"ours: the mean over the seeds ({seeds} of them)"])


def _variants(results: Results) -> Table:
    table, rows = paper("table5"), []
    for data in table["datasets"]:
        for name, row in table["rows"].items():
            rows.append([data, name, *_printed(row[data]), *_means(results.of(_recipe(row, data)))])
    headings = ["dataset", "variant", "paper MRR", "H@3", "our MRR", "H@3", "seeds"]
    return Table(table["title"], headings, rows, [table["paper"], OURS])


def _means(found: Seeds | None) -> list[str]:
    if found is None:
        return ["not run", "", ""]
    figures = [_with_deviation(found.mean(metric), found.deviation(metric)) for metric in ("mrr", "hits_at_3")]
    return [*figures, str(len(found.results))]


def _equal_parameters(results: Results) -> Table:
    table, rows = paper("table6"), []
    for data in table["datasets"]:
        for name, row in table["rows"].items():
            count, epochs, *figures = row[data].split()
            rows.append([data, name, "paper", count, epochs, *_printed(" ".join(figures)), ""])
            found = results.of(_recipe(row, data))
            true = ["", ""] if found is None else [f"{found.parameters / 1e6:.2f}M", str(found.results[0]["epochs"])]
            rows.append(["", "", "ours", *true, *_means(found)])
    headings = ["dataset", "system", "", "parameters", "epochs", "MRR", "H@3", "seeds"]
    notes = [table["paper"], "ours: every number that is learned, both directions of a relation and its translation"]
    return Table(table["title"], headings, rows, notes)


def _sizes(results: Results) -> Table:
    table = paper("figure2")
    points = sizes_measured(results, "hits_at_1")
    rows = []
    for name, line in points.items():
        known = {size: _with_deviation(mean, deviation) for size, mean, deviation in line}
        rows.append([name, *(known.get(size, "not run") for size in table["sizes"])])
    headings = ["reals per entity", *map(str, table["sizes"])]
    return Table(table["title"], headings, rows, [table["paper"], OURS])


def _fast(results: Results) -> Table:
    table, rows = paper("fast"), []
    for data in table["datasets"]:
        for name, row in table["rows"].items():
            found = results.of(_recipe(row, data))
            printed = _printed(row[data]) if data in row else ["", ""]
            seconds = "" if found is None else _time(found)
            hardware = "" if found is None else _all_hardware(found)
            rows.append([data, name, *printed, *_means(found), seconds, hardware])
    headings = ["dataset", "settings", "paper MRR", "H@3", "our MRR", "H@3", "seeds", "training", "hardware"]
    notes = [table["paper"], OURS]
    return Table(table["title"], headings, rows, notes, on_screen=7)


def measured(found: Seeds | None, data: str) -> str:
    """One line, for the head of a recipe."""
    if found is None:
        return f"Not measured: {NOT_REACHED if data.split('-strings', maxsplit=1)[0] in SUBSTITUTES else 'not run'}."
    row = dict(zip((*HEADINGS, "seeds", "settings", "hardware", "training"), _mean_row(found, data), strict=True))
    figures = ", ".join(f"{name} {row[name]}" for name in HEADINGS)
    return f"Measured: {figures}; seeds: {row['seeds']}, {row['training']} of training on {row['hardware']}."


def _printed(line: str) -> list[str]:
    """The paper's figures as it writes them, without the zero before the point."""
    return [word.removeprefix("0") if word != "-" else "–" for word in line.split()]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def _with_deviation(mean: float, deviation: float | None) -> str:
    return _figure(mean) if deviation is None else f"{_figure(mean)} ± {_figure(deviation)}"
