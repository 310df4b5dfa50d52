"""Large tensors lie in huge pages, unless the user or the system says otherwise."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

SYSTEM = Path("/sys/kernel/mm/transparent_hugepage/enabled")
FAULTS = """
import bique, resource, torch
torch.ones(1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
torch.ones(64 << 18)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages_cleared(**environment: str) -> int:
    """For a tensor of 64 MiB."""
    mine = {name: value for name, value in os.environ.items() if name != "THP_MEM_ALLOC_ENABLE"}
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], env=mine | environment, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(
    not SYSTEM.exists() or "[madvise]" not in SYSTEM.read_text(), reason="huge pages are not the program's choice here"
)
def test_large_tensors_lie_in_huge_pages_unless_the_user_says_otherwise() -> None:
    pages = (64 << 20) // mmap.PAGESIZE
    assert pages_cleared() < pages // 8
    assert pages_cleared(THP_MEM_ALLOC_ENABLE="0") > pages * 9 // 10
