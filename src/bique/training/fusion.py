"""Functions fused by torch.compile, for the parts of a step that have no kernel of their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

import torch

Given = ParamSpec("Given")
Found = TypeVar("Found")


class Fused(Generic[Given, Found]):
    """The same function by fewer passes over its tensors; where that fails, as it is, which it says once.

    What is random is drawn as it is without.
    """

    def __init__(self, function: Callable[Given, Found]) -> None:
        self.function = function
        self.fused: Callable[Given, Found] | None = torch.compile(
            function, dynamic=False, options={"fallback_random": True}
        )

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Found:
        if self.fused is None:
            return self.function(*given, **named)
        try:
            return self.fused(*given, **named)
        except RuntimeError as error:
            from torch._dynamo.exc import TorchDynamoException  # takes seconds, and is seldom needed

            if not isinstance(error, TorchDynamoException):
                raise
            self.fused = None
            reason = str(error).strip().splitlines()[0]
            warnings.warn(f"this step cannot be compiled, so it is slower: {reason}", stacklevel=2)
            return self.function(*given, **named)
