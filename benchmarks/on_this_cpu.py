"""What do oneDNN's products, huge pages and bf16 bring on this CPU?

    python benchmarks/on_this_cpu.py [--dataset wn18rr] [--steps 7] [--turns 3] [NAME…]

Median milliseconds of a training step with the recipe of each model, and of ranking the test split (BiQUE's alone):
with neither oneDNN nor huge pages, with either, with both, and with both and `training.precision = "bf16"` (a ranking
is fp32 all the same). Every turn measures all five, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAM = """
import json, sys, time
from pathlib import Path
import torch
from bique.config import load_config
from bique.evaluation import evaluate
from bique.graph.catalog import locate
from bique.kernels import precision
from bique.training import Session
from training_step import median_ms
recipes, onednn, multiplies, dataset, steps, *names = sys.argv[1:]
if onednn == "no":
    precision.prefers_onednn = lambda: False
found = {"prefers oneDNN": precision.prefers_onednn()}
for name in names:
    config = load_config(Path(recipes, name, f"{dataset}.toml"), ["training.precision=" + multiplies])
    session = Session(config, locate(dataset), torch.device("cpu"))
    found[name] = median_ms(session, int(steps), 2)
    if name == "bique":
        started = time.perf_counter()
        evaluate(session.model.eval(), locate(dataset), "test")
        found["ranking"] = 1000 * (time.perf_counter() - started)
print(json.dumps(found))
"""
# name, oneDNN, huge pages, precision
VARIANTS = (
    ("neither", "no", "0", "fp32"),
    ("huge pages", "no", "1", "fp32"),
    ("oneDNN", "yes", "0", "fp32"),
    ("both", "yes", "1", "fp32"),
    ("both, bf16", "yes", "1", "bf16"),
)


def measure(onednn: str, huge_pages: str, precision: str, options: argparse.Namespace) -> dict[str, Any]:
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"THP_MEM_ALLOC_ENABLE": huge_pages, "PYTHONPATH": os.pathsep.join(paths)}
    arguments = [str(HERE.parent / "recipes"), onednn, precision, options.dataset, str(options.steps), *options.names]
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", default=["bique", "conve", "interacte", "compgcn"])
    parser.add_argument("--dataset", default="wn18rr")
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    turns = [{name: measure(*switches, options) for name, *switches in VARIANTS} for _ in range(options.turns)]
    if not turns[0]["both"]["prefers oneDNN"]:
        print("this processor is no better served by oneDNN, so two columns each are the same")
    print("| ms | " + " | ".join(name for name, *_ in VARIANTS) + " | neither : best |\n|---|" + "---|" * 6)
    for what in [one for one in turns[0]["both"] if one != "prefers oneDNN"]:
        medians = [statistics.median(turn[name][what] for turn in turns) for name, *_ in VARIANTS]
        times = " | ".join(f"{ms:,.0f}" for ms in medians)
        print(f"| {what} | {times} | {medians[0] / min(medians):.1f} |")


if __name__ == "__main__":
    main()
