"""How much faster is import than PyKEEN's TriplesFactory on the same file, and how much memory does it take?

    python benchmarks/import_speed.py --pykeen /path/to/python/with/pykeen
    python benchmarks/import_speed.py --triples 20000000 --entities 2000000 --repeat 1

Each import runs in a process of its own, the two in turn, and the medians are compared. Starting Python and importing
packages is not counted; reading, checking, numbering and (for bique) writing the graph directory to disk is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

LINES_AT_ONCE = 1_000_000

BIQUE = """
import json, resource, sys, time
from pathlib import Path
import bique.graph.readers.reading
from bique.graph.ingest import import_graph
started = time.perf_counter()
graph, _ = import_graph({"train": Path(sys.argv[1])}, Path(sys.argv[2]))
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
print(json.dumps([seconds, peak, len(graph.train), graph.num_entities, graph.num_relations]))
"""

PYKEEN = """
import json, resource, sys, time
from pykeen.triples import TriplesFactory
started = time.perf_counter()
factory = TriplesFactory.from_path(sys.argv[1])
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
print(json.dumps([seconds, peak, factory.num_triples, factory.num_entities, factory.num_relations]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--pykeen", type=Path, help="a Python interpreter that has PyKEEN installed")
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--relations", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "facts.tsv"
        write_facts(file, options.triples, options.entities, options.relations)
        print(f"{options.triples:,} triples, {options.entities:,} entities, {file.stat().st_size / 1e6:.0f} MB")
        compare(file, options.pykeen, options.repeat)


def write_facts(file: Path, triples: int, entities: int, relations: int) -> None:
    """Random facts, which are the hardest: no two neighbours share a name."""
    generator = np.random.default_rng(0)
    names = [f"/m/entity_{number * 2654435761 % 2**32:08x}" for number in range(entities)]
    with file.open("w", encoding="utf-8") as out:
        for start in range(0, triples, LINES_AT_ONCE):
            size = min(LINES_AT_ONCE, triples - start)
            heads, tails = generator.integers(0, entities, (2, size)).tolist()
            kinds = generator.integers(0, relations, size).tolist()
            out.writelines(
                f"{names[head]}\t/relation/kind_{kind}\t{names[tail]}\n"
                for head, kind, tail in zip(heads, kinds, tails, strict=True)
            )


def compare(file: Path, pykeen: Path | None, repeat: int) -> None:
    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(repeat):
        seconds, peak, *counts = measure(Path(sys.executable), BIQUE, file, file.with_name(f"graph-{turn}"))
        ours.append(seconds)
        print(f"  bique   {seconds:7.2f} s   peak {peak:5.2f} GB")
        if pykeen is not None:
            seconds, peak, *found = measure(pykeen, PYKEEN, file)
            theirs.append(seconds)
            print(f"  PyKEEN  {seconds:7.2f} s   peak {peak:5.2f} GB")
            if found != counts:
                raise SystemExit(f"the two do not agree: bique found {counts}, PyKEEN {found}")
    if theirs:
        ratio = statistics.median(theirs) / statistics.median(ours)
        print(f"import is {ratio:.1f} times as fast as PyKEEN (the aim is 5)")
    else:
        print("no ratio: give a Python that has PyKEEN with --pykeen")


def measure(python: Path, program: str, *arguments: Path) -> list[float]:
    command = [str(python), "-c", program, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


if __name__ == "__main__":
    main()
