"""Small drawings as one SVG path each: histograms as large as a word, and a letter before and after a movement."""

from __future__ import annotations

import numpy as np

from bique.analysis.geometry import RelationGeometry
from bique.analysis.report.html import Markup, element
from bique.shapes import Float

BINS = 16
HEIGHT = 12
# a letter F: unlike a square it shows a turn by 90° and a mirror image
LETTER = np.array(
    [(-4, -6), (-4, 6), (4, 6), (4, 4), (-2, 4), (-2, 1), (2, 1), (2, -1), (-2, -1), (-2, -6)], dtype=float
)


def histogram(values: Float[np.ndarray, "shown"], low: float, high: float, label: str | None = None) -> Markup:
    """The last bar holds what lies beyond; without a label it is an ornament beside its figure."""
    counts, _ = np.histogram(np.clip(values, low, high), bins=BINS, range=(low, high))
    heights = np.ceil(counts * (HEIGHT - 1) / max(int(counts.max()), 1)).astype(int)
    bars = "".join(f"V{HEIGHT - height}h2" for height in heights.tolist())
    path = Markup(f'<path d="M0 {HEIGHT}{bars}V{HEIGHT}z"/>')
    told = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    return element("svg", path, class_="histogram", viewBox=f"0 0 {2 * BINS} {HEIGHT}", **told)


def moved_letter(found: RelationGeometry) -> Markup | None:
    """A letter (dashed) stretched, turned and scaled by the medians (solid): a sketch in two of eight dimensions."""
    angle, rapidity, scale = (found.median(name) for name in ("angle", "rapidity", "modulus"))
    if not np.isfinite([angle, rapidity, scale]).all():
        return None
    stretched = LETTER * np.exp([rapidity, -rapidity])
    turn = np.array([(np.cos(angle), np.sin(angle)), (-np.sin(angle), np.cos(angle))])
    moved = scale * stretched @ turn
    edge = 1.15 * float(max(np.abs(LETTER).max(), np.abs(moved).max()))
    before, after = (_outline(points * 50 / edge) for points in (LETTER, moved))
    shapes = Markup(f'<path class="before" d="{before}"/><path class="after" d="{after}"/>')
    label = "a letter F before (dashed) and after (solid) the stretch, turn and scaling"
    return element("svg", shapes, class_="sketch", viewBox="-50 -50 100 100", role="img", aria_label=label)


def _outline(points: Float[np.ndarray, "corners 2"]) -> str:
    """SVG counts y downwards."""
    return "M" + "L".join(f"{x:.1f} {-y:.1f}" for x, y in points.tolist()) + "z"
