"""The README's results table is what lies in results/, digit for digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HEADINGS = [
    "| graph | MRR | H@1 | H@3 | H@10 | settings | seed | hardware | training |",
    "|---|---|---|---|---|---|---|---|---|",
]


def row(result: dict[str, Any]) -> str:
    """From what `bique info RUN --json` prints: that is how a file of results is made."""
    evaluation, settings = result["evaluations"]["test"], result["settings"]
    metrics = evaluation["metrics"]
    figures = [f"{metrics[key]:.3f}" for key in ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")]
    model, training = settings["model"], settings["training"]
    chosen = f"k = {model['units']}, λ = {settings['penalty']['weight']}, {training['epochs']} epochs"
    hardware = result["environment"]["gpu"] or f"CPU, {result['environment']['threads']} threads"
    cells = [
        evaluation["protocol"]["dataset"],
        *figures,
        chosen,
        str(result["seed"]),
        hardware,
        f"{result['seconds']:.0f} s",
    ]
    return f"| {' | '.join(cells)} |"


def test_the_readme_shows_the_results_as_they_are() -> None:
    results = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((ROOT / "results").rglob("*.json"))]
    assert results
    table = "\n".join([*HEADINGS, *map(row, results)])
    assert table in (ROOT / "README.md").read_text(encoding="utf-8"), f"README.md must hold this table:\n{table}"
