"""Histograms as large as a word, one SVG path each."""

from __future__ import annotations

import numpy as np

from bique.analysis.report.html import Markup, element
from bique.shapes import Float

BINS = 16
HEIGHT = 12


def histogram(values: Float[np.ndarray, "shown"], low: float, high: float, label: str | None = None) -> Markup:
    """The last bar holds what lies beyond; without a label it is an ornament beside its figure."""
    counts, _ = np.histogram(np.clip(values, low, high), bins=BINS, range=(low, high))
    heights = np.ceil(counts * (HEIGHT - 1) / max(int(counts.max()), 1)).astype(int)
    bars = "".join(f"V{HEIGHT - height}h2" for height in heights.tolist())
    path = Markup(f'<path d="M0 {HEIGHT}{bars}V{HEIGHT}z"/>')
    told = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    return element("svg", path, class_="histogram", viewBox=f"0 0 {2 * BINS} {HEIGHT}", **told)
