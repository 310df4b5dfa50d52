"""How soon does a recipe reach which validation MRR?

    python benchmarks/time_to_quality.py recipes/bique/wn18rr.toml recipes/fast/wn18rr.toml --out quality
    python benchmarks/time_to_quality.py results/bique/wn18rr-seed*.json --out quality

Trains each recipe (or reads the curve of a result), and writes quality.csv and quality.png: validation MRR against
seconds since the start of training, everything in them: compilation, validations, checkpoints. Ends with the seconds
at which each first came within 0.002 of the best validation MRR of the first, and with its MRR on the test split.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from pathlib import Path
from typing import Any

from bique.analysis.plots import save
from bique.analysis.plots.figures import new_figure, style
from bique.config import override, parse_config, read_recipe
from bique.runs import Run
from bique.runs.run import open_graph
from bique.training import choose_device, train

COLUMNS = ("curve", "epoch", "seconds", "loss", "valid_mrr", "valid_hits_at_10")
NEAR = 0.002


def result_of(source: Path, settings: list[str]) -> dict[str, Any]:
    """The summary of a run, trained now or read from a file of results."""
    if source.suffix == ".json":
        return json.loads(source.read_text(encoding="utf-8"))
    config = parse_config(override(read_recipe(source), settings), str(source))
    graph = open_graph(config)
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(config, graph, Path(folder) / "run")
        train(run, graph)
        run.rank(graph, "test", device=str(choose_device(config.training.device)))
        return run.summary()


def first_reached(curve: list[dict[str, Any]], level: float) -> float | None:
    return next((one["seconds"] for one in curve if one["valid_mrr"] >= level), None)


def plot(curves: dict[str, list[dict[str, Any]]], level: float, file: Path) -> None:
    figure = new_figure(7, 4.2)
    panel = figure.subplots()
    for place, (name, curve) in enumerate(curves.items()):
        drawn = style(place)
        points = [one["seconds"] for one in curve], [one["valid_mrr"] for one in curve]
        panel.plot(*points, color=drawn.colour, linestyle=drawn.line, marker=drawn.marker, markersize=3, label=name)
    panel.axhline(level, color="0.6", linewidth=0.8)
    panel.set(xlabel="seconds of training", ylabel="validation MRR", xlim=(0, None))
    panel.legend(frameon=False)
    save(figure, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("sources", nargs="+", type=Path, metavar="RECIPE|RESULT")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting for every recipe")
    parser.add_argument("--out", type=Path, default=Path("time_to_quality"), help="without suffix")
    options = parser.parse_args()
    curves: dict[str, list[dict[str, Any]]] = {}
    tests: dict[str, float] = {}
    with options.out.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        for source in options.sources:
            name = "/".join(source.parts[-2:]).removesuffix(source.suffix)
            result = result_of(source, options.set)
            curves[name], tests[name] = result["curve"], result["evaluations"]["test"]["metrics"]["mrr"]
            writer.writerows({"curve": name, **one} for one in curves[name])
            file.flush()
    level = max(one["valid_mrr"] for one in next(iter(curves.values()))) - NEAR
    for name, curve in curves.items():
        reached = first_reached(curve, level)
        when = "never" if reached is None else f"after {reached:.1f} s"
        print(f"{name}: valid MRR {level:.3f} {when}; {curve[-1]['seconds']:.1f} s in all; test MRR {tests[name]:.4f}")
    plot(curves, level, options.out.with_suffix(".png"))
    print(f"written: {options.out}.csv, {options.out}.png")


if __name__ == "__main__":
    main()
