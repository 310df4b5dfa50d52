"""Pictures (extra `plots`). A function draws and returns a figure; `save` and `svg` take it to a file or a page."""

from bique.analysis.plots.bars import relation_bars
from bique.analysis.plots.curves import metric_by_size, training_curves
from bique.analysis.plots.figures import FORMATS, save, svg, wrong_ending
from bique.analysis.plots.maps import ANIMATIONS, MotionPicture, entity_map, relation_motion, save_motion
from bique.analysis.plots.rotations import PANELS, angles_and_rapidities, hyperbolic_paths

__all__ = [
    "ANIMATIONS",
    "FORMATS",
    "PANELS",
    "MotionPicture",
    "angles_and_rapidities",
    "entity_map",
    "hyperbolic_paths",
    "metric_by_size",
    "relation_bars",
    "relation_motion",
    "save",
    "save_motion",
    "svg",
    "training_curves",
    "wrong_ending",
]
