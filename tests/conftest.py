"""Shapes in signatures are checked here, and only here; a small graph for whoever needs one."""

from __future__ import annotations

import os
from pathlib import Path

# two workers on two cores: more threads than that wait for each other (set before torch is imported)
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
import torch
from hypothesis import settings
from jaxtyping import install_import_hook

# kernels is not among them: its jitted functions must reach Triton as they are written
ROOMS = ("algebra", "graph", "objectives", "models", "evaluation", "training", "runs", "serving", "analysis")
if not torch.cuda.is_available():
    # the same kernels, run by Triton's interpreter on the CPU (read when Triton is imported)
    os.environ.setdefault("TRITON_INTERPRET", "1")
    # a CUDA device compiles steps, and torch.compile does not see through the checks
    install_import_hook([f"bique.{room}" for room in ROOMS], "beartype.beartype")

settings.register_profile("suite", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("suite")


@pytest.fixture(autouse=True)
def no_real_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests share one cache of prepared graphs, never the user's."""
    if "BIQUE_TEST_CACHE" not in os.environ:
        os.environ["BIQUE_TEST_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    monkeypatch.setenv("BIQUE_CACHE", os.environ["BIQUE_TEST_CACHE"])
    monkeypatch.delenv("BIQUE_DATASETS", raising=False)


DEVICES = [pytest.param("cpu", id="interpreted"), pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.fixture(params=DEVICES)
def kernel_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """Where the Triton kernels run: compiled on a CUDA device, else interpreted on the CPU."""
    from bique.kernels import backend

    if torch.cuda.is_available() != (request.param == "cuda"):
        pytest.skip("no CUDA device" if request.param == "cuda" else "the kernels run on the CUDA device")
    if backend.triton is None:
        pytest.skip("Triton is not installed")
    monkeypatch.setattr(backend, "interpreting", request.param == "cpu")
    return torch.device(request.param)


@pytest.fixture(scope="session")
def small_graph():
    """40 entities, 3 relations: a cyclic next, a symmetric pair and a tree, so that a model has something to learn."""
    from bique.graph import Graph, Vocabulary

    generator = np.random.default_rng(0)
    count = 40
    ring = [(i, 0, (i + 1) % count) for i in range(count)]
    pairs = [fact for i in range(0, count, 2) for fact in ((i, 1, i + 1), (i + 1, 1, i))]
    tree = [(i, 2, i // 3) for i in range(1, count)]
    facts = generator.permutation(np.array(ring + pairs + tree, dtype=np.int32))
    entities = Vocabulary.from_names(f"entity {i:02d}" for i in range(count))
    relations = Vocabulary.from_names(["a next", "b pair", "c parent"])
    return Graph(entities, relations, facts[:90], facts[90:105], facts[105:], {"name": "small"})


@pytest.fixture
def small_graph_directory(small_graph, tmp_path: Path) -> Path:
    small_graph.save(tmp_path / "graph")
    return tmp_path / "graph"


@pytest.fixture
def facts_folder(small_graph, tmp_path: Path) -> Path:
    """The small graph as train.txt, valid.txt and test.txt."""
    folder = tmp_path / "facts"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        lines = [
            f"{small_graph.entities[h]}\t{small_graph.relations[r]}\t{small_graph.entities[t]}\n"
            for h, r, t in small_graph.split(split).tolist()
        ]
        (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")
    return folder
