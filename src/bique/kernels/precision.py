"""In which precision products and convolutions multiply, and on a CPU by which library."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch

Precision = Literal["bf16", "tf32", "fp32"]


@contextmanager
def products_in(precision: Precision, device: torch.device) -> Iterator[None]:
    """torch's switches hold for the whole process: set for this work, then as the caller had them.

    With bf16 products over the candidates, those of a model's own layers may be as coarse as tf32 on a CUDA device. A
    CPU multiplies float32 as float32, whatever the caller allowed.
    """
    if device.type == "cuda":
        switched = _switched("allow_tf32", [torch.backends.cuda.matmul, torch.backends.cudnn], precision != "fp32")
    else:
        switched = _switched("fp32_precision", _onednn(), "bf16" if prefers_onednn() else "ieee")
    with switched:
        yield


@contextmanager
def _switched(name: str, switches: list[Any], value: Any) -> Iterator[None]:
    former = [getattr(switch, name) for switch in switches]
    for switch in switches:
        setattr(switch, name, value)
    try:
        yield
    finally:
        for switch, before in zip(switches, former, strict=True):
            setattr(switch, name, before)


def _onednn() -> list[Any]:
    """The switch of oneDNN's products; torch has it since 2.9."""
    switch = getattr(torch.backends.mkldnn, "matmul", None)
    return [] if switch is None else [switch]


@cache
def prefers_onednn() -> bool:
    """Whether oneDNN multiplies float32 as exactly as MKL, and faster.

    MKL keeps its fast kernels for Intel's processors: an AMD EPYC needs less than half the time with oneDNN (LOG.md).
    torch asks oneDNN only where it may round to bf16, and oneDNN does so on processors with tiles for it (AMX) and on
    no other: so a product has to show that it was exact.
    """
    if not _onednn() or not torch.backends.mkl.is_available() or made_by_intel():
        return False
    a, b = torch.rand((2, 256, 256), generator=torch.Generator().manual_seed(0))
    exact = a.double() @ b.double()
    with _switched("fp32_precision", _onednn(), "bf16"):
        error = (a @ b - exact).abs().max() / exact.abs().max()
    return float(error) < 1e-5  # in bf16: 1e-3


def made_by_intel() -> bool:
    with suppress(OSError):  # Linux has this file
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text()
    return "Intel" in platform.processor()
