"""How long is a training step of each model beside BiQUE's, with the recipes of one dataset?

    python benchmarks/models.py [--dataset wn18rr] [--steps 50] [--out benchmarks/models-wn18rr.json] [NAME…]

Median milliseconds per step after a warm-up, at the batch size of the recipe, and microseconds per query, which
compares recipes of different batch sizes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from training_step import median_ms

from bique.atomic import write_text
from bique.config import load_config
from bique.graph.catalog import locate
from bique.models import MODELS
from bique.training import Session

RECIPES = Path(__file__).parents[1] / "recipes"


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
    names = ["bique", *(name for name in names if name != "bique")]
    print(f"{options.dataset}, {device.type}, torch {torch.__version__}, median of {options.steps} steps")
    print(f"{'':12}{'batch':>7}{'ms':>10}{'us/query':>10}{'BiQUE = 1':>11}")
    reference = None
    rows: list[tuple[str, int, float]] = []
    where = torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    for name in names:
        config = load_config(RECIPES / name / f"{options.dataset}.toml")
        session = Session(config, graph, device)
        step = median_ms(session, options.steps, 10 if device.type == "cuda" else 1)
        per_query = 1000 * step / session.batches.batch_size
        reference = reference or per_query
        size = session.batches.batch_size
        print(f"{name:12}{size:7,}{step:10.3f}{per_query:10.2f}{per_query / reference:11.2f}", flush=True)
        rows.append((name, size, step))
        if options.out:
            record = {"dataset": options.dataset, "hardware": where, "torch": torch.__version__, "rows": rows}
            write_text(options.out, json.dumps(record, indent=1) + "\n")
        del session


if __name__ == "__main__":
    main()
