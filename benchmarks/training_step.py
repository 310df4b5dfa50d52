"""How long is a training step of BiQUE at the paper's settings, beside the plain step in the same process?

    python benchmarks/training_step.py [NAME…] [--steps 200] [--precision bf16] [--out benchmarks/training_step.json]

Median milliseconds per step after a warm-up, and the peak of the device's memory. wn18rr, fb15k-237 and cn-100k are the
real graphs at their recipes' settings; yago3-10 and atomic are random triples with the sizes of the real ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from bique.atomic import write_text
from bique.config import RunConfig, load_config
from bique.graph import Graph, Vocabulary
from bique.graph.catalog import locate
from bique.training import Session

RECIPES = Path(__file__).parents[1] / "recipes" / "bique"
# entities, relations, training facts
RANDOM = {"yago3-10": (123_182, 37, 1_079_040), "atomic": (304_388, 9, 610_536)}
NAMES = ("wn18rr", "fb15k-237", "cn-100k", *RANDOM)


def graph_of(name: str) -> Graph:
    if name not in RANDOM:
        return locate(name)
    entities, relations, facts = RANDOM[name]
    columns = np.random.default_rng(0).integers(0, (entities, relations, entities), (facts, 3)).astype(np.int32)
    names = (Vocabulary.from_names(f"{i:07d}" for i in range(count)) for count in (entities, relations))
    return Graph(*names, columns, columns[:0], columns[:0], {"name": f"random-{name}"})


def configured(name: str, **training: object) -> RunConfig:
    recipe = load_config(RECIPES / f"{name}.toml")
    return recipe.model_copy(update={"training": recipe.training.model_copy(update=training)})


def median_ms(session: Session, steps: int, warm_up: int) -> float:
    """Steps run one after the other, across the ends of epochs."""
    times: list[float] = []
    events: list[torch.cuda.Event] = []
    cuda = session.device.type == "cuda"
    for count in range(warm_up + steps + 1):
        if cuda:
            events.append(torch.cuda.Event(enable_timing=True))
            events[-1].record()
        else:
            times.append(time.perf_counter())
        if session.place.step == session.batches.per_epoch:
            session.next_epoch()
        if count < warm_up + steps:
            session.step()
    if cuda:
        torch.cuda.synchronize()
        spans = [one.elapsed_time(other) for one, other in pairwise(events)]
    else:
        spans = [1000 * (other - one) for one, other in pairwise(times)]
    return statistics.median(spans[warm_up:])


def measure(name: str, graph: Graph, steps: int, warm_up: int, device: torch.device, **training: object) -> tuple:
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    session = Session(configured(name, **training), graph, device)
    step = median_ms(session, steps, warm_up)
    loss = session.epoch_loss()
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else float("nan")
    return step, peak, loss


class Measured(NamedTuple):
    name: str
    entities: int
    batch: int
    engine_ms: float
    engine_gib: float
    plain_ms: float
    plain_gib: float


def markdown(record: dict[str, Any]) -> str:
    """The table of the README, which a test makes anew from the file."""
    lines = [
        f"| {record['hardware']}, torch {record['torch']} | entities | batch | engine | plain | ratio | peak |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in map(Measured._make, record["rows"]):
        name = f"random, of {row.name}'s size" if row.name in RANDOM else row.name
        times = f"{row.engine_ms:.3g} ms | {row.plain_ms:.3g} ms | {row.plain_ms / row.engine_ms:.1f}"
        lines.append(f"| {name} | {row.entities:,} | {row.batch:,} | {times} | {row.engine_gib:.1f} GiB |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; on a CPU wordnet if none")
    parser.add_argument("--steps", type=int, help="200 on a GPU, 20 on a CPU")
    parser.add_argument("--precision", choices=("auto", "bf16", "tf32", "fp32"), default="auto")
    parser.add_argument("--out", type=Path, help="also write the figures into this JSON file")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    names = options.names or (NAMES if device.type == "cuda" else ("wordnet",))
    steps = options.steps or (200 if device.type == "cuda" else 20)
    where = torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{where}, torch {torch.__version__}, precision {options.precision}, median of {steps} steps")
    print(f"{'':12}{'entities':>9}{'batch':>7}{'engine ms':>11}{'GiB':>7}{'plain ms':>10}{'GiB':>7}{'ratio':>7}")
    rows: list[Measured] = []
    for name in names:
        graph = graph_of(name)
        slow = max(3, steps // 10)
        fast, memory, loss = measure(
            name, graph, steps, 20 if device.type == "cuda" else 1, device, precision=options.precision
        )
        plain, plain_memory, plain_loss = measure(name, graph, slow, 3, device, engine="plain")
        assert np.isfinite([loss, plain_loss]).all()
        batch = configured(name).training.batch_size
        rows.append(Measured(name, graph.num_entities, batch, fast, memory, plain, plain_memory))
        figures = f"{fast:11.3f}{memory:7.2f}{plain:10.2f}{plain_memory:7.2f}{plain / fast:7.1f}"
        print(f"{name:12}{graph.num_entities:9,}{batch:7,}{figures}", flush=True)
        if options.out:
            record = {"hardware": where, "torch": torch.__version__, "precision": options.precision, "steps": steps}
            write_text(options.out, json.dumps(record | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
