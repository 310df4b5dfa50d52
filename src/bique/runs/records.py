"""JSON that a run keeps, and what to do when it was damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bique.errors import UserError
from bique.evaluation.metrics import MEANS


def read_json(file: Path, remedy: str = "the run is damaged") -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read ({error}); {remedy}") from error
    if not isinstance(found, dict):
        raise UserError(f"{file}: holds {type(found).__name__}, not an object; {remedy}")
    return found


def read_figures(file: Path, remedy: str) -> dict[str, Any]:
    found = read_json(file, remedy)
    metrics = found.get("metrics")
    sound = isinstance(metrics, dict) and all(is_number(metrics.get(name)) for name in MEANS)
    if not (sound and isinstance(found.get("by"), dict) and isinstance(found.get("protocol"), dict)):
        raise UserError(f"{file}: does not hold the figures of a ranking; {remedy}")
    return found


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < 1e300  # no NaN, nothing without end
