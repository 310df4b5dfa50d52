"""How long is a training step of each model beside BiQUE's, with the recipes of one dataset?

    python benchmarks/models.py [--dataset wn18rr] [--steps 50] [--out benchmarks/models.json] [NAME…]

Median milliseconds per step after a warm-up, at the batch size of the recipe, and microseconds per query, which
compares recipes of different batch sizes. What a query is compared with differs, too, so it stands beside.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from training_step import median_ms

from bique.atomic import write_text
from bique.config import ObjectiveConfig, RunConfig, load_config
from bique.graph.catalog import locate
from bique.models import MODELS
from bique.training import Session

RECIPES = Path(__file__).parents[1] / "recipes"


class Measured(NamedTuple):
    model: str
    compared_with: str
    batch: int
    step_ms: float
    settings: dict[str, Any]
    """What else of the recipe it was measured with decides it."""

    @property
    def per_query(self) -> float:
        """Microseconds."""
        return 1000 * self.step_ms / self.batch


def compared_with(objective: ObjectiveConfig) -> str:
    if not objective.negatives:
        return "all entities, 1-N" if objective.one_to_n else "all entities"
    sampler = "" if objective.sampler == "uniform" else f", {objective.sampler}"
    return f"{objective.negatives:,} negatives{sampler}{', filtered' if objective.filtered else ''}"


def deciding(config: RunConfig) -> dict[str, Any]:
    model = config.model.model_dump(mode="json", exclude={"norm_statistics"})  # no part of a step
    return {
        "model": model,
        "objective": config.objective.model_dump(mode="json"),
        "penalty": config.penalty.kind if config.penalty.weight else None,
        "optimizer": config.optimizer.name,
        "precision": config.training.precision,
    }


def markdown(record: dict[str, Any]) -> str:
    where = f"{record['dataset']}, {record['hardware']}, torch {record['torch']}, median of {record['steps']} steps"
    lines = [
        f"| {where} | a query is compared with | batch | step | per query | BiQUE = 1 |",
        "|---|---|---|---|---|---|",
    ]
    rows = [Measured._make(row) for row in record["rows"]]
    for row in rows:
        ratio = row.per_query / rows[0].per_query
        times = f"{row.step_ms:,.2f} ms | {row.per_query:,.1f} µs | {ratio:.1f}"
        lines.append(f"| `{row.model}` | {row.compared_with} | {row.batch:,} | {times} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; all that have a recipe if none is given")
    parser.add_argument("--dataset", default="wn18rr")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--out", type=Path, help="also write the figures into this JSON file")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    graph = locate(options.dataset)
    names = options.names or [name for name in MODELS if (RECIPES / name / f"{options.dataset}.toml").exists()]
    where = torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    record = {"dataset": options.dataset, "hardware": where, "torch": torch.__version__, "steps": options.steps}
    rows: list[Measured] = []
    for name in ["bique", *(name for name in names if name != "bique")]:
        # some recipes ask for a precision that a CPU does not have
        overrides = [] if device.type == "cuda" else ["training.precision=auto"]
        config = load_config(RECIPES / name / f"{options.dataset}.toml", overrides)
        session = Session(config, graph, device)
        step = median_ms(session, options.steps, 10 if device.type == "cuda" else 1)
        batch = session.batches.batch_size
        rows.append(Measured(name, compared_with(config.objective), batch, step, deciding(config)))
        table = markdown({**record, "rows": rows}).splitlines()
        print("\n".join(table if len(rows) == 1 else table[-1:]), flush=True)
        if options.out:
            write_text(options.out, json.dumps({**record, "rows": rows}, indent=1) + "\n")
        del session


if __name__ == "__main__":
    main()
