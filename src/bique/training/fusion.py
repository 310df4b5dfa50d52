"""Functions fused by torch.compile, for the parts of a step that have no kernel of their own."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, cast

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bique.models import Model


class _ComplexSeen(TorchDispatchMode):
    """Looks on while operations run."""

    found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.found |= isinstance(result, torch.Tensor) and result.is_complex()
        return result


def can_be_fused(model: Model) -> bool:
    """Whether torch.compile has anything to win: it has no kernels for complex numbers."""
    with torch.no_grad(), _ComplexSeen() as seen:
        entities, relations = model.encode()
        model.transform(entities[:1], relations[:1])
    return not seen.found


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
