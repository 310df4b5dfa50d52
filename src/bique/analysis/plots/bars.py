"""Bars: a metric of each relation, systems side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bique.analysis.plots.figures import add_legend, metric_name, new_figure, plain, quiet, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# more rows than this are no picture: the longest and the shortest are shown, and how many lie between
MOST = 60


def relation_bars(named: dict[str, dict[str, float]], metric: str) -> Figure:
    """For each system a value per relation; the relations are sorted by the first system, the largest on top."""
    first, *_ = named.values()
    rest = {name for values in named.values() for name in values} - first.keys()
    order = [*sorted(first, key=lambda name: (-first[name], name)), *sorted(rest)]
    half, left_out = MOST // 2, max(0, len(order) - MOST)
    relations = [*order[:half], *order[-half:]] if left_out else order
    thick = 0.8 / len(named)
    figure = new_figure(7.0, 1.1 + len(relations) * max(0.22, 0.16 * len(named)))
    panel = figure.subplots()
    handles = []
    for place, values in enumerate(named.values()):
        drawn = style(place)
        rows = [row for row, name in enumerate(relations) if name in values]
        lengths = [values[relations[row]] for row in rows]
        at = [row + thick * (place - (len(named) - 1) / 2) for row in rows]
        bars = panel.barh(
            at, lengths, thick, facecolor=drawn.colour, edgecolor="white", linewidth=0.4, hatch=drawn.hatch
        )
        handles.append(bars)
        if len(named) == 1:
            panel.bar_label(bars, fmt="%.3f", fontsize=7, padding=2)
    panel.set_yticks(range(len(relations)), [plain(name, 40) for name in relations])
    panel.set_ylim(len(relations) - 0.4, -0.6)  # the first on top
    panel.set_xlabel(metric_name(metric), fontsize=9)
    quiet(panel)
    panel.grid(visible=False, axis="y")
    if left_out:
        panel.axhline(half - 0.5, color="0.4", linestyle=":")
        label = panel.text(1, half - 0.5, f"{left_out} relations between", transform=panel.get_yaxis_transform())
        label.set(ha="right", va="center", fontsize=8, backgroundcolor="white")
    add_legend(figure, handles, list(named), loc="outside upper left", ncols=min(3, len(named)))
    return figure
