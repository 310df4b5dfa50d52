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

TABLES = ("table2", "table3", "table4", "averages")
SUBSTITUTES = {"yago3-10": "yago3-10-quarter", "atomic": "atomic-sub"}
HEADINGS = ("MRR", "H@1", "H@3", "H@10")
NOT_REACHED = "data not reached"


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

    model: str
    dataset: str
    seed: int


def reproduce(name: str, results: Results) -> Table:
    if name == "table4":
        return _per_relation(results)
    return _averages(results) if name == "averages" else _main(name, results)


def wanted(name: str, seeds: int) -> list[Wanted]:
    """The runs behind a table, whether they exist or not."""
    if name == "table4":
        return [Wanted("bique", "wn18rr", seed) for seed in range(seeds)]
    table = paper(name)
    pairs = [(row["model"], data) for data in table["datasets"] for row in table["rows"].values() if data in row]
    return [Wanted(model, data, seed) for model, data in pairs for seed in range(seeds)]


def paper(name: str) -> dict[str, Any]:
    if name not in TABLES:
        raise unknown("table", name, (*TABLES, "figure3"))
    return _paper()[name]


@cache
def _paper() -> dict[str, Any]:
    return tomllib.loads((files("bique.analysis") / "paper.toml").read_text(encoding="utf-8"))


def _main(name: str, results: Results) -> Table:
    """Per system and dataset: the paper's figures, and ours, of the best seed as in the paper."""
    table, rows = paper(name), []
    for data in table["datasets"]:
        for system, row in table["rows"].items():
            if data in row:
                rows.append([data, system, "paper", *_printed(row[data]), ""])
                rows.append(["", "", "ours", *_ours(results.of(row["model"], data), data)])
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
        found = results.of(model, name)
        if found is not None:
            rows.append([f"{name} (a substitute)", system, "ours", *_ours(found, name)])
    return rows


def _averages(results: Results) -> Table:
    table = paper("averages")
    rows: list[list[str]] = []
    for data in table["datasets"]:
        printed = zip(_printed(table["rows"]["BiQUE"][data]), _printed(table["deviations"]["BiQUE"][data]), strict=True)
        rows.append([data, "paper", *(f"{mean} ± {deviation}" for mean, deviation in printed), "10", "", "", ""])
        rows.append(["", "ours", *_mean_row(results.of("bique", data), data)])
        if data in SUBSTITUTES and (found := results.of("bique", SUBSTITUTES[data])) is not None:
            rows.append([f"{SUBSTITUTES[data]} (a substitute)", "ours", *_mean_row(found, data)])
    if (found := results.of("bique", "wordnet")) is not None:
        rows.append(["wordnet (bundled)", "ours", *_mean_row(found, "wordnet")])
    headings = ["graph", "BiQUE", *HEADINGS, "seeds", "settings", "hardware", "training"]
    notes = [table["paper"], "ours: mean ± standard deviation over the seeds"]
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
    hardware = " and ".join(sorted({_hardware(result["environment"]) for result in found.results}))
    return [*figures, str(len(found.results)), ", ".join(chosen), hardware, f"{found.seconds:.0f} s"]


def _hardware(environment: dict[str, Any]) -> str:
    """What was used; runs before it was recorded used the GPU that was there. Seconds on a shared one say little."""
    name = environment.get("device") or environment["gpu"] or f"CPU, {environment['threads']} threads"
    return f"{name}, shared" if environment.get("shared_gpu") else name


def _per_relation(results: Results) -> Table:
    table, found = paper("table4"), results.of("bique", "wn18rr")
    others = {model: results.of(model, "wn18rr") for model in ("roth", "quate")}
    ours = {} if found is None else found.by_relation("hits_at_10")
    theirs = {model: {} if one is None else one.by_relation("hits_at_10") for model, one in others.items()}
    rows = []
    for relation, line in table["rows"].items():
        triples, (roth, quate, bique) = line.split()[0], _printed(line)[1:]
        mine = [_figure(known.get(relation)) for known in (theirs["roth"], theirs["quate"], ours)]
        rows.append([relation, triples, roth, mine[0], quate, mine[1], bique, mine[2]])
    headings = ["relation", "triples", "RotH", "ours", "QuatE²", "ours", "BiQUE", "ours"]
    runs = 0 if found is None else len(found.results)
    return Table(table["title"], headings, rows, [table["paper"], f"ours: BiQUE is the mean of {runs} seeds"])


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
