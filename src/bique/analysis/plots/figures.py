"""A sheet, what tells systems apart on it, and its way to a file or a page; matplotlib is imported to draw."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bique.atomic import atomic_path
from bique.errors import UserError, missing_extra, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png")
# the same picture twice is the same bytes; text stays text, so that a page can be searched and read aloud
SVG: dict[Any, Any] = {"svg.hashsalt": "bique", "svg.fonttype": "none"}
METRICS = {"mrr": "MRR", "mr": "mean rank", "adjusted_mrr_index": "adjusted MRR index"}


class Style(NamedTuple):
    """Colour is the least of it: printed in black and white, line, marker and hatch still tell systems apart."""

    colour: str
    line: Any
    marker: str
    hatch: str


# ordered so that neighbours differ in lightness
COLOURS = ("#12355b", "#e08a3c", "#2a7a6f", "#e0b84a", "#7a3b69")
LINES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo")


def style(place: int) -> Style:
    """How the system at a place of a list is drawn: 35 of them differ."""
    colour, line, marker, hatch = (kind[place % len(kind)] for kind in (COLOURS, LINES, MARKERS, HATCHES))
    return Style(str(colour), line, str(marker), str(hatch))


def new_figure(width: float, height: float) -> Figure:
    """An empty sheet, in inches. It belongs to whoever holds it: pyplot does not know of it."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("matplotlib", "plots", "a picture") from error
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, file: Path) -> None:
    """Write .svg or .png, whole or not at all."""
    if file.suffix not in FORMATS:
        raise wrong_ending(file, FORMATS)
    with atomic_path(file) as temporary:
        if file.suffix == ".svg":
            temporary.write_text(_svg_file(figure), encoding="utf-8")
        else:
            with told_once(file):
                figure.savefig(temporary, format="png", dpi=150)


@contextmanager
def told_once(file: Path) -> Iterator[None]:
    """matplotlib warns of every sign that its font lacks; one sentence does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    lacking = [one for one in caught if str(one.message).startswith("Glyph")]
    if lacking:
        warnings.warn(f"{file}: the font of this picture lacks some signs; an .svg shows them", stacklevel=3)
    for one in caught:
        if one not in lacking:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def svg(figure: Figure) -> str:
    """The <svg> element alone, to stand in an HTML page."""
    text = _svg_file(figure)
    return text[text.index("<svg") :].rstrip()


def _svg_file(figure: Figure) -> str:
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context(SVG), warnings.catch_warnings():
        # matplotlib's font may lack a sign; the text goes out as text, and the reader's fonts draw it
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def wrong_ending(file: Path, formats: tuple[str, ...]) -> UserError:
    return UserError(f"{file}: the ending says the format; choose one of {', '.join(formats)}")


# words -------------------------------------------------------------------------------------------------------------


def plain(name: str, longest: int | None = None) -> str:
    """A name as matplotlib shows it unread: a $ is a $, and no formula begins there.

    One that is too long loses its middle: /film/film/… is how many of Freebase's begin, and the end tells them apart.
    """
    name = shown(name)
    if longest is not None and len(name) > longest:
        begin = longest // 3
        name = f"{name[:begin]}…{name[begin + 1 - longest :]}"
    return name.replace("$", r"\$")


def metric_name(metric: str) -> str:
    """`hits_at_10` as people write it."""
    return METRICS.get(metric, metric.replace("hits_at_", "Hits@"))


def add_legend(axes: Axes | Figure, handles: list[Any], names: list[str], **options: Any) -> None:
    """Names in full: left to itself, matplotlib drops those that begin with an underscore."""
    legend = axes.legend(handles, [f"{place}" for place in range(len(names))], frameon=False, fontsize=8, **options)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(plain(name, 48))


def quiet(axes: Axes) -> None:
    """No box around the data, a faint grid behind it."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
