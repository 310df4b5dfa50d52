"""What a file of results must hold, before any figure of it is printed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bique.errors import UserError
from bique.evaluation import Protocol
from bique.graph import SPLITS

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**12)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Metrics(_Part):
    mrr: Share
    hits_at_1: Share
    hits_at_3: Share
    hits_at_10: Share


class _By(_Part):
    relation: Annotated[dict[str, _Metrics], Field(min_length=1)]


class _Evaluation(_Part):
    metrics: _Metrics
    by: _By
    protocol: dict[str, Any]


class _Evaluations(_Part):
    test: _Evaluation


class _Graph(_Part):
    entities: Annotated[int, Field(ge=1, le=10**9)]
    relations: Annotated[int, Field(ge=1, le=10**9)]
    hash: str


class _Environment(_Part):
    gpu: str | None
    threads: Count


class _Result(_Part):
    model: str
    seed: Count
    epochs: Count
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    graph: _Graph
    settings: dict[str, dict[str, Any] | str]
    environment: _Environment
    evaluations: _Evaluations


def read_result(file: Path) -> dict[str, Any]:
    """Refused unless it is a run's summary, measured as the tables are: test split, all known facts out, worst ties."""
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
        _Result.model_validate(result)
        settings = result["settings"]
        _must(result["model"] == settings["model"]["name"], "its settings are of another model")
        _must(result["seed"] == settings["training"]["seed"], "its settings have another seed")
        wanted = {"model": ["units"], "penalty": ["weight"], "training": ["epochs", "batch_size"]}
        _must(all(key in settings[section] for section, keys in wanted.items() for key in keys), "not every setting")
        found = protocol_of(result)
        _must(found.dataset == settings["dataset"], f"measured on {found.dataset}")
        as_tables = replace(found, graph_hash=result["graph"]["hash"], split="test", filtered_by=SPLITS, ties="worst")
        unlike = as_tables.differences(found)
        _must(not unlike, f"not measured as the tables are: {'; '.join(unlike)}")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"{file}: is not a result: {place}: {first['msg'].lower()}; remove it") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UserError) as error:
        raise UserError(f"{file}: is not a result that 'bique info RUN --json' made ({error}); remove it") from error
    return result


def _must(holds: bool, otherwise: str) -> None:
    """Not `assert`: python -O would take any figure for ours."""
    if not holds:
        raise ValueError(otherwise)


def protocol_of(result: dict[str, Any]) -> Protocol:
    return Protocol.from_json(json.dumps(result["evaluations"]["test"]["protocol"]))
