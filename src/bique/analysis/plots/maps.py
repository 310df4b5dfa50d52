"""A relation on a sheet: heads, transformed heads and tails in two dimensions, standing still or in motion."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bique.analysis.motion import Motion
from bique.analysis.plots.figures import add_legend, new_figure, plain, quiet, told_once, wrong_ending
from bique.analysis.projection import Plane, RelationVectors, relation_vectors
from bique.atomic import write_bytes
from bique.graph import Graph
from bique.models import Model
from bique.shapes import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ANIMATIONS = (".gif",)
# filled and dark, hollow and light, pointed: three things that are told apart without colour
# (a ring around a square is an entity that is head and tail)
HEAD = {"marker": "o", "facecolors": "none", "edgecolors": "0.45", "linewidths": 0.8, "s": 36}
QUERY = {"marker": "^", "facecolors": "#e08a3c", "edgecolors": "black", "linewidths": 0.4, "s": 22}
TAIL = {"marker": "s", "facecolors": "#12355b", "edgecolors": "none", "s": 12}
STEPS, REST, PER_SECOND = 16, 10, 12
# tails that are named, how far apart they must lie, as a share of the sheet, and heads whose way is drawn
NAMED, APART, WAYS = 6, 0.12, 3


def entity_map(model: Model, graph: Graph, relation: str, most: int = 200, seed: int = 0) -> Figure:
    """Heads, transformed heads (the queries) and tails of at most `most` facts; a line from each query to its tail.

    Every vector is taken at unit length; the plane is the principal one of tails and queries.
    """
    vectors = relation_vectors(model, graph, relation, most, seed)
    plane = vectors.plane()
    heads, queries, tails = (plane.project(rows) for rows in (vectors.heads, vectors.queries, vectors.tails))
    figure = new_figure(6.4, 6.0)
    panel = _sheet(figure, vectors, plane)
    _join(panel, queries, tails)
    handles = [panel.scatter(*cloud.T, **kind) for cloud, kind in ((tails, TAIL), (queries, QUERY), (heads, HEAD))]
    _frame(panel, [heads, queries, tails])
    named = _name_tails(panel, tails, vectors.tail_names)
    _draw_ways(panel, heads, queries, vectors.head_names, named[:WAYS])
    names = ["tails", "transformed heads (queries)", "heads"]
    add_legend(figure, handles, names, loc="outside lower center", ncols=3)
    return figure


@dataclass(frozen=True)
class MotionPicture:
    """One sheet that is drawn anew for every frame; the tails stand still."""

    figure: Figure
    captions: list[str]
    positions: list[Float[np.ndarray, "sample 2"]]
    moving: Any
    lines: Any
    """From each query to its tail, once the heads have arrived."""
    caption: Any

    def show(self, frame: int) -> None:
        self.moving.set_offsets(self.positions[frame])
        self.lines.set_visible(frame >= len(self.positions) - REST)
        self.caption.set_text(self.captions[frame])


def relation_motion(model: Model, graph: Graph, relation: str, most: int = 200, seed: int = 0) -> MotionPicture:
    """A learned BiQUE relation moving its heads, part by part, in the plane of `entity_map`."""
    vectors = relation_vectors(model, graph, relation, most, seed)
    motion = Motion(model, graph.relations.index(relation))
    plane = vectors.plane()
    count = STEPS * len(motion.parts)
    times = [step / count for step in range(count + 1)]
    positions = [plane.project(motion.at(time, vectors.heads)) for time in times]
    captions = [_caption(motion, time) for time in times]
    # a rest at either end: one sees where it begins and what came out
    positions = [positions[0]] * REST + positions + [positions[-1]] * REST
    captions = ["the heads"] * REST + captions + ["the transformed heads, and the tails they are to meet"] * REST
    figure = new_figure(6.0, 6.0)
    panel = _sheet(figure, vectors, plane)
    tails = plane.project(vectors.tails)
    still, moving = panel.scatter(*tails.T, **TAIL), panel.scatter(*positions[0].T, **QUERY)
    lines = _join(panel, positions[-1], tails)
    _frame(panel, [*positions, tails])
    if motion.null:
        straight = f"{motion.null} of {motion.units} biquaternions are null and move straight"
        figure.suptitle(f"{figure.get_suptitle()}\n{straight}", fontsize=9)
    caption = panel.set_title(captions[0], fontsize=10, weight="bold")
    add_legend(figure, [moving, still], ["heads on their way", "tails"], loc="outside lower center", ncols=2)
    return MotionPicture(figure, captions, positions, moving, lines, caption)


def save_motion(picture: MotionPicture, file: Path) -> None:
    """Write a .gif that runs for ever, whole or not at all."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    if file.suffix not in ANIMATIONS:
        raise wrong_ending(file, ANIMATIONS)
    picture.figure.set_dpi(90)
    # drawn here, not by matplotlib's writer: that one draws every frame twice
    canvas = FigureCanvasAgg(picture.figure)
    frames: list[Any] = []
    with told_once(file):
        for frame in range(len(picture.positions)):
            picture.show(frame)
            canvas.draw()
            picture.figure.set_layout_engine("none")  # laid out once: nothing but the dots may move
            frames.append(Image.fromarray(np.array(canvas.buffer_rgba())).convert("RGB"))
    made = BytesIO()
    frames[0].save(made, "gif", save_all=True, append_images=frames[1:], duration=1000 // PER_SECOND, loop=0)
    write_bytes(file, made.getvalue())


def _caption(motion: Motion, time: float) -> str:
    place = motion.part_at(time)
    return f"{motion.parts[place]} ({place + 1} of {len(motion.parts)})"


def _sheet(figure: Figure, vectors: RelationVectors, plane: Plane) -> Axes:
    """Axes that say what they show, and how much of it."""
    panel = figure.subplots()
    sample = (
        f"{len(vectors.heads):,} of {vectors.facts:,}" if len(vectors.heads) < vectors.facts else f"{vectors.facts:,}"
    )
    figure.suptitle(f"{plain(vectors.relation, 40)}: {sample} facts, every vector at unit length", fontsize=9)
    x, y = (f"{share:.0%} of the variance of tails and queries" for share in plane.shares)
    panel.set_xlabel(f"first direction, {x}", fontsize=9)
    panel.set_ylabel(f"second direction, {y}", fontsize=9)
    panel.set_aspect("equal")
    quiet(panel)
    return panel


def _join(panel: Axes, starts: Float[np.ndarray, "n 2"], ends: Float[np.ndarray, "n 2"]) -> Any:
    from matplotlib.collections import LineCollection

    lines = LineCollection(list(np.stack([starts, ends], axis=1)), colors="0.7", linewidths=0.5, zorder=0.9)
    return panel.add_collection(lines)


def _draw_ways(
    panel: Axes,
    heads: Float[np.ndarray, "n 2"],
    queries: Float[np.ndarray, "n 2"],
    names: list[str],
    chosen: list[int],
) -> None:
    """An arrow from a head to where it arrives, for a few: all of them would hide the map."""
    for number in chosen:
        style = {"arrowstyle": "-|>", "color": "black", "linewidth": 0.9, "shrinkA": 4, "shrinkB": 4}
        panel.annotate("", queries[number], heads[number], arrowprops=style)
        _label(panel, names[number], heads[number], style="italic")


def _label(panel: Axes, name: str, place: Float[np.ndarray, "2"], **options: Any) -> None:
    left = place[0] > np.mean(panel.get_xlim())  # towards the middle, so that it stays on the sheet
    panel.annotate(
        plain(name, 24),
        (place[0], place[1]),
        xytext=(-5 if left else 5, 4),
        textcoords="offset points",
        ha="right" if left else "left",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.6},
        **options,
    )


def _name_tails(panel: Axes, tails: Float[np.ndarray, "n 2"], names: list[str]) -> list[int]:
    """Those of the most facts, then the outermost, where there is room: a map without a name says little."""
    often, away = Counter(names), np.linalg.norm(tails - tails.mean(0), axis=1).tolist()
    width = float(np.ptp(panel.get_xlim()))
    taken: list[np.ndarray] = []
    chosen: list[int] = []
    for number in sorted(range(len(names)), key=lambda number: (-often[names[number]], -away[number])):
        name, place = names[number], tails[number]
        if len(taken) < NAMED and all(np.abs(place - other).max() > APART * width for other in taken):
            _label(panel, name, place)
            taken.append(place)
            chosen.append(number)
    return chosen


def _frame(panel: Axes, clouds: list[Float[np.ndarray, "_ 2"]]) -> None:
    """A square with room for all that is seen, in a motion from the first frame on."""
    everything = np.concatenate(clouds)
    middle = (everything.max(0) + everything.min(0)) / 2
    half = 0.56 * float(np.ptp(everything, axis=0).max()) + 1e-6
    panel.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
