"""Triton where it is installed. Without it, or without a GPU, every op has a plain path that needs torch alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

try:
    import triton
    import triton.language as tl
except ImportError:  # the plain paths need nothing
    triton: Any = None
    tl: Any = None

# set by tests, which run the kernels on the CPU in Triton's interpreter (TRITON_INTERPRET=1)
interpreting = False


def jit(function: Callable[..., Any]) -> Any:
    """`triton.jit`, or the function as it is where there is no Triton to call it."""
    return function if triton is None else triton.jit(function)


def can_use_triton(device: torch.device) -> bool:
    """In training and outside of it, where nobody asked before whether Triton can compile."""
    return triton is not None and (device.type == "cuda" or interpreting) and why_no_triton(device) is None


def have_kernel(*tables: torch.Tensor) -> bool:
    """Whether tables can go through a kernel for float32."""
    return all(table.dtype == torch.float32 for table in tables) and can_use_triton(tables[0].device)


@cache
def why_no_triton(device: torch.device) -> str | None:
    """A sentence when a CUDA device cannot run the kernels; None when it can, and on the CPU, which needs none."""
    if device.type != "cuda":
        return None
    if triton is None:
        return "Triton is not installed (pip install triton)"
    try:
        _touch[(1,)](torch.zeros(1, device=device))
    except Exception as error:  # no compiler, a driver too old: Triton has many ways to say so
        return f"Triton cannot compile a kernel here ({str(error).splitlines()[0] if str(error) else error!r})"
    return None


@jit
def _touch(value):
    tl.store(value, 1.0)
