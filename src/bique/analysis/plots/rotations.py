"""Rotations: θ against φ of what relations learned, and the hyperbolic paths of appendix B."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bique.algebra import basis_like, multiply
from bique.analysis.geometry import RelationGeometry, rapidity_range
from bique.analysis.plots.figures import new_figure, plain, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Appendix B: p = (1 + 2𝐈) + (3 + 4𝐈)i
START = (1.0, 2.0, 3.0, 4.0)
PANELS = 40


def hyperbolic_paths(rapidity: float = 1.5) -> Figure:
    """The paper's figure of hyperbolic paths: p·h for φ from −rapidity to rapidity, its real and its imaginary part.

    h = cosh φ + 𝐈 sinh φ i; the two panels show (w, x) of the real and of the imaginary part, the start marked.
    """
    phi = torch.linspace(-rapidity, rapidity, 201, dtype=torch.float64)
    w_r, w_i, x_r, x_i = START
    p = torch.tensor([[complex(w_r, w_i)], [complex(x_r, x_i)], [0], [0]], dtype=torch.complex128)[None]
    one, i, *_ = basis_like(p)
    h = phi.cosh()[:, None, None] * one + 1j * phi.sinh()[:, None, None] * i
    moved = multiply(p, h)[:, :2, 0]
    figure = new_figure(8.0, 3.8)
    panels = figure.subplots(1, 2)
    for panel, part, name in zip(panels, (moved.real, moved.imag), ("real", "imaginary"), strict=True):
        w, x = part.T.tolist()
        panel.plot(w, x, color="0.3")
        panel.plot(w[100], x[100], "o", color="black", label="φ = 0")
        _mark(panel, w, x, {place: f"φ = {phi[place]:+.2f}".replace("-", "−") for place in (0, 50, 150, 200)})
        panel.set(xlabel=f"w, {name} part", ylabel=f"x, {name} part")
        panel.margins(x=0.36, y=0.12)
        panel.legend(frameon=False, fontsize=8)
        quiet(panel)
    return figure


def _mark(panel: Axes, x: list[float], y: list[float], names: dict[int, str]) -> None:
    """Names of places of a curve, on its outer side so that it does not run through them."""
    points = np.stack([np.array(line) / np.ptp(line) for line in (x, y)], axis=1)
    tangents = np.gradient(points, axis=0)
    for place, name in names.items():
        normal = np.array([-tangents[place, 1], tangents[place, 0]])
        normal *= np.sign(normal @ (points[place] - points.mean(0))) / np.linalg.norm(normal)
        panel.plot(x[place], y[place], ".", color="0.3")
        label = panel.annotate(
            name, (x[place], y[place]), xytext=tuple(7 * normal), textcoords="offset points", fontsize=7
        )
        across, up = (round(float(part)) for part in normal)
        label.set(ha=("center", "left", "right")[across], va=("center", "bottom", "top")[up])


def angles_and_rapidities(learned: list[RelationGeometry]) -> Figure:
    """θ against φ: one small panel per relation, a dot per biquaternion, the medians as a cross.

    Of more than PANELS relations the first are drawn, and the picture says how many are not.
    """
    left_out = f"; {len(learned) - PANELS} more relations are not shown" if len(learned) > PANELS else ""
    learned = learned[:PANELS]
    columns = min(4, len(learned))
    rows = math.ceil(len(learned) / columns)
    high = rapidity_range(learned)
    figure = new_figure(max(2.3 * columns, 3.4), 2.1 * rows + 0.6)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True)
    flat: list[Any] = np.atleast_1d(panels).ravel().tolist()
    for panel, one in zip(flat, learned, strict=False):
        panel.plot(one.angle, one.rapidity, ".", color="0.4", markersize=3)
        beyond = one.angle[one.rapidity > high]  # at the upper edge, and pointing on
        panel.plot(beyond, np.full_like(beyond, high), "^", color="0.4", markersize=3, clip_on=False, in_layout=False)
        if len(one.angle):
            panel.plot(one.median("angle"), one.median("rapidity"), "+", color="black", markersize=11)
        panel.set_title(plain(one.relation, 24) + (f" ({one.null} null)" if one.null else ""), fontsize=8)
        panel.set(xlim=(0, math.pi), ylim=(0, high))
        panel.set_xticks([0, math.pi / 2, math.pi], ["0", "90°", "180°"])
        quiet(panel)
    for place, panel in enumerate(flat):
        panel.set_visible(place < len(learned))
        panel.tick_params(labelbottom=place + columns >= len(learned))  # the lowest that is there
    figure.supxlabel(f"circular rotation (turn) θ{left_out}", fontsize=9)
    figure.supylabel("hyperbolic rotation (stretch) φ", fontsize=9)
    return figure
