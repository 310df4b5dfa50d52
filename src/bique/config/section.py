"""What every table of a recipe file is, and the numbers in it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

# far beyond any use, but within 64-bit sizes and float32
Positive = Annotated[int, Field(ge=1, le=10**9)]
NotNegative = Annotated[float, Field(ge=0, le=1e30, allow_inf_nan=False)]
Above0 = Annotated[float, Field(ge=1e-30, le=1e30, allow_inf_nan=False)]


class Section(BaseModel):
    """A table of the recipe file: unknown keys are errors, values never change after reading.

    Nothing is taken for something else: true is not 1, "3" is no number, "yes" is not true.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)
