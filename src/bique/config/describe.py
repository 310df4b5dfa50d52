"""Every setting with its default and its meaning, read off the schema: one source for help and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel

from bique.config.schema import RunConfig


class Setting(NamedTuple):
    key: str
    default: Any
    meaning: str


def describe(section: type[BaseModel] = RunConfig, prefix: str = "") -> Iterator[Setting]:
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from describe(kind, f"{prefix}{name}.")
        else:
            yield Setting(f"{prefix}{name}", field.default, " ".join((field.description or "").split()))
