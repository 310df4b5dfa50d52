"""Where runs lie: a name that is free, one writer at a time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO


def free_path(folder: Path, stem: str) -> Path:
    """runs/wordnet-bique-1, -2, …: the first that is not taken."""
    stem = re.sub(r"[^\w.-]+", "-", stem)
    number = 1
    while (folder / f"{stem}-{number}").exists():
        number += 1
    return folder / f"{stem}-{number}"


def lock(file: IO[str]) -> bool:
    """Whether it is ours now; until it is closed."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: no lock to be had
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
