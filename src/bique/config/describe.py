"""Every setting with its default and its meaning, read off the schema: one source for help and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from bique.config.schema import RunConfig


class Setting(NamedTuple):
    key: str
    default: Any
    meaning: str
    model: str | None = None
    """The one model that has this key."""


def describe(section: type[BaseModel] = RunConfig, prefix: str = "") -> Iterator[Setting]:
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from describe(kind, f"{prefix}{name}.")
        elif isinstance(kind, UnionType) and name == "model":
            yield Setting("model.name", "bique", f"One of {', '.join(model_tag(one) for one in get_args(kind))}.")
            for one in get_args(kind):
                rows = describe(one, "model.")
                yield from (row._replace(model=model_tag(one)) for row in rows if row.key != "model.name")
        else:
            yield Setting(f"{prefix}{name}", field.default, " ".join((field.description or "").split()))


def model_tag(model: type[BaseModel]) -> str:
    return str(get_args(model.model_fields["name"].annotation)[0])
