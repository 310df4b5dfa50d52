"""In which precision products and convolutions multiply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

Precision = Literal["bf16", "tf32", "fp32"]


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """torch's switches for tf32 hold for the whole process: set for this work, then as the caller had them.

    With bf16 products over the candidates, those of a model's own layers may be as coarse as tf32.
    """
    switches: list[Any] = [torch.backends.cuda.matmul, torch.backends.cudnn]
    former = [switch.allow_tf32 for switch in switches]
    for switch in switches:
        switch.allow_tf32 = precision != "fp32"
    try:
        yield
    finally:
        for switch, value in zip(switches, former, strict=True):
            switch.allow_tf32 = value
