"""What a run was made on."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bique.version import VERSION


def hardware_of(environment: dict[str, Any]) -> str:
    """What a run was trained on; before it was recorded that was the GPU that was there. Seconds on a shared one say
    little."""
    name = environment.get("device") or environment.get("gpu") or f"CPU, {environment.get('threads', '?')} threads"
    return f"{name}, shared" if environment.get("shared_gpu") else name


def environment() -> dict[str, Any]:
    """Versions and hardware, for whoever wants to repeat the run."""
    cuda = torch.cuda.is_available()
    return {
        "bique": VERSION,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": platform.system(),
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if cuda else None,
        # set by whoever runs several processes at once on a GPU: then seconds say little
        "shared_gpu": cuda and "CUDA_MPS_PIPE_DIRECTORY" in os.environ,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }
