"""Curves: a training run over its epochs and seconds, and what a larger embedding brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bique.analysis.plots.figures import add_legend, metric_name, new_figure, plain, quiet, style
from bique.errors import UserError
from bique.runs import Run, run_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# what is drawn of a record of metrics.jsonl, and over what
FIGURES = {"loss": "training loss", "valid_mrr": "validation MRR"}
OVER = {"epoch": "epoch", "seconds": "seconds of training"}


def training_curves(runs: list[Run]) -> Figure:
    """Loss and validation MRR of each run over its epochs, and beside that over its seconds if they are recorded."""
    _refuse_unlike(runs)
    curves = [_curve(run) for run in runs]
    recorded = {name for curve in curves for record in curve for name in record}
    over = [x for x in OVER if x in recorded]
    figure = new_figure(4.2 * len(over), 5.2)
    panels = figure.subplots(len(FIGURES), len(over), squeeze=False, sharex="col", sharey="row")
    handles: list[Any] = []
    unlike = len({(run.config.objective.loss, run.config.objective.negatives) for run in runs}) > 1
    for row, y in zip(panels, FIGURES, strict=True):
        apart = "\n(of unlike objectives: compare shapes only)" if unlike and y == "loss" else ""
        row[0].set_ylabel(FIGURES[y] + apart, fontsize=9)
        for panel, x in zip(row, over, strict=True):
            handles = [_draw(panel, curve, x, y, place) for place, curve in enumerate(curves)]
            quiet(panel)
            if y not in recorded:
                panel.text(0.5, 0.5, "not measured", transform=panel.transAxes, ha="center", color="0.4")
    for panel, x in zip(panels[-1], over, strict=True):
        panel.set_xlabel(OVER[x], fontsize=9)
    add_legend(figure, handles, run_names(runs), loc="outside upper left", ncols=min(3, len(curves)))
    return figure


def _refuse_unlike(runs: list[Run]) -> None:
    """Losses and MRRs of two graphs, or of two tie rules, do not belong on one axis."""
    first = runs[0]
    for run in runs[1:]:
        unlike = [] if run.graph_record["hash"] == first.graph_record["hash"] else ["another graph"]
        unlike += [] if run.config.evaluation.ties == first.config.evaluation.ties else ["another rule for ties"]
        if unlike:
            raise UserError(f"{run.path} was not measured like {first.path} ({', '.join(unlike)}): draw them apart")


def _curve(run: Run) -> list[dict[str, Any]]:
    records = run.metrics()
    if not records:
        raise UserError(f"{run.path}: has no epoch behind it; {run.remedy}")
    return records


def _draw(panel: Axes, curve: list[dict[str, Any]], x: str, y: str, place: int) -> Any:
    """One line, with about a dozen markers: as many as tell it from others and leave its shape to be seen."""
    shown = [record for record in curve if x in record and y in record]
    drawn = style(place)
    every = max(1, -(-len(shown) // 12))
    (line,) = panel.plot(
        [record[x] for record in shown],
        [record[y] for record in shown],
        color=drawn.colour,
        linestyle=drawn.line,
        marker=drawn.marker,
        markevery=every,
        markersize=4,
        linewidth=1.4,
    )
    return line


def metric_by_size(named: dict[str, list[tuple[int, float, float | None]]], metric: str) -> Figure:
    """Mean and deviation (None for a single seed) of a metric per embedding size: a line for each system."""
    figure = new_figure(6.0, 4.0)
    panel = figure.subplots()
    sizes = sorted({size for points in named.values() for size, _, _ in points})
    handles = []
    for place, points in enumerate(named.values()):
        drawn = style(place)
        size, mean, deviation = zip(*sorted(points), strict=True)
        handles.append(
            panel.errorbar(
                size,
                mean,
                yerr=[one or 0.0 for one in deviation],
                color=drawn.colour,
                linestyle=drawn.line,
                marker=drawn.marker,
                markersize=5,
                linewidth=1.4,
                capsize=3,
            )
        )
    panel.set_xscale("log", base=2)
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45 if len(sizes) > 8 else 0)
    panel.minorticks_off()
    panel.set_xlabel("embedding size, reals per entity", fontsize=9)
    panel.set_ylabel(plain(metric_name(metric)), fontsize=9)
    quiet(panel)
    add_legend(panel, handles, list(named))
    return figure
