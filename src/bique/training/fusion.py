"""Functions fused by torch.compile, for the parts of a step that have no kernel of their own."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, cast

import torch


def fused(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same bound method by fewer passes over its tensors; what is random is drawn as it is without.

    Of a copy of its code: torch.compile gives up on code that it has compiled for eight models in one process.
    """
    bound = cast("MethodType", method)
    plain = cast("FunctionType", bound.__func__)
    copy = FunctionType(
        plain.__code__.replace(), plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__
    )
    copy.__kwdefaults__ = plain.__kwdefaults__
    return torch.compile(MethodType(copy, bound.__self__), dynamic=False, options={"fallback_random": True})


def cannot_compile(error: Exception) -> bool:
    """Whether it is torch.compile that failed, there or on the way back."""
    from torch._dynamo.exc import TorchDynamoException  # takes seconds, and is seldom needed

    return isinstance(error, TorchDynamoException)
