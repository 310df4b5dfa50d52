"""Pictures (extra `plots`). A function draws and returns a figure; `save` and `svg` take it to a file or a page."""

from bique.analysis.plots.bars import relation_bars
from bique.analysis.plots.curves import metric_by_size, training_curves
from bique.analysis.plots.figures import FORMATS, save, svg
from bique.analysis.plots.rotations import angles_and_rapidities, hyperbolic_paths

__all__ = [
    "FORMATS",
    "angles_and_rapidities",
    "hyperbolic_paths",
    "metric_by_size",
    "relation_bars",
    "save",
    "svg",
    "training_curves",
]
