"""Runs: a run is a directory; every verb after `train` takes one. Nothing is ever pickled."""

from bique.runs.checkpoint import Checkpoint, read_checkpoint, read_record, write_checkpoint
from bique.runs.compare import Comparison, compare, measured_alike, run_names
from bique.runs.environment import hardware_of
from bique.runs.run import Run

__all__ = [
    "Checkpoint",
    "Comparison",
    "Run",
    "compare",
    "hardware_of",
    "measured_alike",
    "read_checkpoint",
    "read_record",
    "run_names",
    "write_checkpoint",
]
