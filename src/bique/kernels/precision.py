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
    with _tf32(precision != "fp32") if device.type == "cuda" else _onednn("bf16" if prefers_onednn() else "ieee"):
        yield


@contextmanager
def layers_in(precision: Precision, device: torch.device) -> Iterator[None]:
    """A model's own products, inside of `products_in`: a CPU that is asked for bf16 multiplies bf16 there, too.

    What a layer makes is bf16 until it meets float32; norms and sums compute in float32 all the same.
    """
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16" and device.type == "cpu"):
        yield


@contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    switches: list[Any] = [torch.backends.cuda.matmul, torch.backends.cudnn]
    former = [switch.allow_tf32 for switch in switches]
    for switch in switches:
        switch.allow_tf32 = allowed
    try:
        yield
    finally:
        for switch, value in zip(switches, former, strict=True):
            switch.allow_tf32 = value


@contextmanager
def _onednn(precision: str) -> Iterator[None]:
    """Before 2.9 torch has no such switch."""
    switch: Any = getattr(torch.backends.mkldnn, "matmul", None)
    if switch is None:
        yield
        return
    # read, a switch that was never set says what the one above it says; set to that, it would no longer follow it
    former, above = switch.fp32_precision, torch.backends.mkldnn.fp32_precision
    switch.fp32_precision = precision
    try:
        yield
    finally:
        switch.fp32_precision = "none" if former == above else former


@cache
def prefers_onednn() -> bool:
    """Whether oneDNN multiplies float32 as exactly as MKL, where MKL may be slow.

    MKL keeps its fast kernels for Intel's processors: an AMD EPYC needs less than half the time with oneDNN (LOG.md).
    torch asks oneDNN only where it may round to bf16, and oneDNN does so on processors with tiles for it (AMX) and on
    no other: so a product has to show that it was exact.
    """
    if not hasattr(torch.backends.mkldnn, "matmul") or not torch.backends.mkl.is_available() or made_by_intel():
        return False
    a, b = torch.rand((2, 256, 256), generator=torch.Generator().manual_seed(0), dtype=torch.float32, device="cpu")
    exact = a.double() @ b.double()
    with _onednn("bf16"), torch.autocast("cpu", enabled=False):
        error = (a @ b - exact).abs().max() / exact.abs().max()
    return float(error) < 1e-5  # in bf16: 1e-3


def made_by_intel() -> bool:
    with suppress(OSError):  # Linux has this file
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text()
    return "Intel" in platform.processor()
