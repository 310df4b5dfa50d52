"""bique: biquaternion embeddings of knowledge graphs. Train, rank honestly, ask.

>>> import bique
>>> predictor = bique.load("runs/wordnet-bique-1")
>>> print(predictor.tails("dog.n.01", "_hypernym"))
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bique.version import VERSION as __version__

if TYPE_CHECKING:
    from bique.graph import Graph
    from bique.runs import Run
    from bique.serving import Predictor, load

__all__ = ["Graph", "Predictor", "Run", "__version__", "load"]

# Large tensors in huge pages, where the system has them: a step on a CPU gets hundreds of MiB of cleared pages, and by
# 4 KiB at a time that took a fifth of BiQUE's and half of InteractE's (LOG.md). torch reads this at its first tensor.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

# resolved on first use, so that `bique --help` does not wait for torch
_HOME = {"Graph": "bique.graph", "Predictor": "bique.serving", "Run": "bique.runs", "load": "bique.serving"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bique' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
