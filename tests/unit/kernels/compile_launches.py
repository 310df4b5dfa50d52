"""Compiles for a GPU, without one, every kernel that a step of these models launches, and prints their names.

A process of its own: where other tests run, kernels are interpreted, and an interpreter takes more than a compiler.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from bique.config import parse_config
from bique.graph import Graph
from bique.kernels import backend
from bique.models import build_model
from bique.training.batches import Batches
from bique.training.engine import Engine
from bique.training.optimizers import make_optimizer
from bique.training.step import Objective
from bique.training.stepper import EngineSteps

H200 = GPUTarget("cuda", 90, 32)
TYPES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float64: "fp64", torch.int32: "i32", torch.int64: "i64"}
CONVOLUTION = {"units": 16, "height": 4, "filters": 2, "kernel": 3}
NO_PENALTY = {"penalty": {"weight": 0.0}}
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("fp32", {"model": {"name": "bique", "units": 4}}),
    ("bf16", {"model": {"name": "bique", "units": 4}, "optimizer": {"name": "adam"}}),
    ("fp32", {"model": {"name": "quate", "units": 4}, "objective": {"loss": "logistic", "label_smoothing": 0.1}}),
    ("bf16", {"model": {"name": "conve", **CONVOLUTION}, "objective": {"loss": "binary"}, **NO_PENALTY}),
    ("fp32", {"model": {"name": "compgcn", "start": 8, **CONVOLUTION}, **NO_PENALTY}),
    (
        "fp32",
        {
            "model": {"name": "rotate", "units": 4},
            "objective": {"loss": "self_adversarial", "negatives": 4, "sampler": "shared"},
            **NO_PENALTY,
        },
    ),
]
launches: dict[str, tuple[JITFunction[Any], dict[str, str], dict[str, Any]]] = {}


def remembered(kernel: JITFunction[Any], grid: object) -> Any:
    """In place of a launch: what a compiler has to know of it."""

    def launch(*args: Any, **options: Any) -> None:
        given = dict(zip(kernel.arg_names, args, strict=False)) | options
        fixed = {one.name for one in kernel.params if one.is_constexpr}
        types = {name: "constexpr" if name in fixed else _type_of(given[name]) for name in kernel.arg_names}
        constants = {name: given[name] for name in kernel.arg_names if name in fixed}
        launches[f"{kernel.fn.__qualname__} {types} {constants}"] = kernel, types, constants

    return launch


def _type_of(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"*{TYPES[value.dtype]}"
    return "fp32" if isinstance(value, float) else "i32"


def main() -> None:
    backend.interpreting = True  # so that ops on the CPU call their kernels
    JITFunction.__getitem__ = remembered  # type: ignore[method-assign]
    torch.Tensor.new_empty = torch.Tensor.new_zeros  # nothing is written there
    graph = Graph.open(Path(sys.argv[1]))
    for precision, tree in STEPS:
        config = parse_config({"dataset": "small", "training": {"batch_size": 11}, **tree})
        model = build_model(config.model, graph, 0)
        device = torch.device("cpu")
        batches = Batches(graph, 11, 0, device, queries=config.objective.one_to_n)
        objective = Objective.of(config, graph, device)
        engine = Engine(config, model, make_optimizer(config.optimizer, model), objective, precision, kernels=True)
        EngineSteps(engine, batches, objective).step(batches.order(0), 0)
    for kernel, types, constants in launches.values():
        triton.compile(ASTSource(fn=kernel, signature=types, constexprs=constants), target=H200)
        sys.stdout.write(f"{kernel.fn.__qualname__}\n")


if __name__ == "__main__":
    main()
