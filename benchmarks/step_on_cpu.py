"""How much faster is a training step on the CPU than PyKEEN's, same width, same batch, all candidates?

    python benchmarks/step_on_cpu.py --pykeen /path/to/python/with/pykeen

BiQUE with k units against QuatE with 2k quaternions: both have 8k reals per entity, a product of rows, a loss over all
entities, and Adagrad over the whole table. PyKEEN trains through its own loop (LCWA, inverse triples, softmax
cross-entropy); a step is an epoch's seconds over its batches. The two run in turn, each in a process of its own, on the
same random triples, and the medians are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

BIQUE = """
import json, sys, time
import numpy as np, torch
from bique.config import parse_config
from bique.graph import Graph, Vocabulary
from bique.training import Session
entities, relations, facts, units, batch = map(int, sys.argv[1:])
triples = np.random.default_rng(0).integers(0, (entities, relations, entities), (facts, 3)).astype(np.int32)
names = (Vocabulary.from_names(f"{i:07d}" for i in range(count)) for count in (entities, relations))
graph = Graph(*names, triples, triples[:0], triples[:0], {"name": "random"})
training = {"batch_size": batch, "device": "cpu"}
config = parse_config({"dataset": "random", "model": {"units": units}, "training": training})
session = Session(config, graph, torch.device("cpu"))
for epoch in range(2):
    started = time.perf_counter()
    for _ in range(session.batches.per_epoch):
        session.step()
    session.next_epoch()
print(json.dumps([(time.perf_counter() - started) / session.batches.per_epoch, torch.get_num_threads()]))
"""

PYKEEN = """
import json, sys, time
import numpy as np, torch
from pykeen.models import QuatE
from pykeen.training import LCWATrainingLoop
from pykeen.triples import CoreTriplesFactory
entities, relations, facts, units, batch = map(int, sys.argv[1:])
triples = np.random.default_rng(0).integers(0, (entities, relations, entities), (facts, 3))
factory = CoreTriplesFactory(torch.from_numpy(triples), entities, relations, create_inverse_triples=True)
model = QuatE(triples_factory=factory, embedding_dim=2 * units, loss="crossentropy", random_seed=0)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
loop = LCWATrainingLoop(model=model, triples_factory=factory, optimizer=optimizer)
steps = -(-2 * facts // batch)
loop.train(factory, num_epochs=1, batch_size=batch, use_tqdm=False, use_tqdm_batch=False)
started = time.perf_counter()
loop.train(factory, num_epochs=2, batch_size=batch, use_tqdm=False, use_tqdm_batch=False, continue_training=True)
print(json.dumps([(time.perf_counter() - started) / steps, torch.get_num_threads()]))
"""


def measure(python: str, program: str, shape: list[str]) -> tuple[float, int]:
    done = subprocess.run([python, "-c", program, *shape], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    seconds, threads = json.loads(done.stdout.splitlines()[-1])
    return seconds, threads


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--pykeen", type=Path, help="a Python interpreter that has PyKEEN installed")
    parser.add_argument("--entities", type=int, default=14_541)
    parser.add_argument("--relations", type=int, default=237)
    parser.add_argument("--facts", type=int, default=1000)
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    shape = [str(getattr(options, name)) for name in ("entities", "relations", "facts", "units", "batch")]
    ours: list[float] = []
    theirs: list[float] = []
    for turn in range(options.repeat):
        seconds, threads = measure(sys.executable, BIQUE, shape)
        ours.append(seconds)
        line = f"turn {turn + 1}: bique {seconds:.3f} s per step"
        if options.pykeen:
            theirs.append(measure(str(options.pykeen), PYKEEN, shape)[0])
            line += f", PyKEEN {theirs[-1]:.3f} s"
        print(f"{line}  ({threads} threads)", flush=True)
    if theirs:
        print(f"bique is {statistics.median(theirs) / statistics.median(ours):.1f} times as fast")


if __name__ == "__main__":
    main()
