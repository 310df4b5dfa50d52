"""Kernels compile for a GPU, also where there is none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bique.kernels
from bique.kernels import backend


def test_every_kernel_that_a_step_launches_compiles(small_graph_directory: Path, tmp_path: Path) -> None:
    if backend.triton is None:
        pytest.skip("Triton is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    script = Path(__file__).with_name("compile_launches.py")
    done = subprocess.run(
        [sys.executable, str(script), str(small_graph_directory)],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == launched_somewhere()


def launched_somewhere() -> set[str]:
    """Names of kernels with a launch in the source; the one of `backend.py` only asks whether a compiler is there."""
    found: set[str] = set()
    for file in Path(bique.kernels.__file__).parent.glob("*.py"):
        source = file.read_text(encoding="utf-8")
        kernels = set(re.findall(r"^@jit\ndef (\w+)\(", source, flags=re.MULTILINE))
        found |= {name for name in kernels if file.name != "backend.py" and f"{name}[" in source}
    assert len(found) > 10
    return found
