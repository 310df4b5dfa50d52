"""Whatever the caller allowed: what is measured, ranked or answered on a CPU is multiplied alike, by fp32 products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from bique.config import parse_config
from bique.evaluation import best_entities, evaluate
from bique.kernels import precision
from bique.models import Model
from bique.serving import Predictor
from bique.training import Session

SWITCH = getattr(torch.backends.mkldnn, "matmul", None)
CPU = torch.device("cpu")
MODEL = {
    "name": "compgcn",
    "units": 16,
    "start": 8,
    "height": 4,
    "filters": 3,
    "kernel": 3,
    "norm_statistics": "measured",
}


def relations(model: Model, graph: Any) -> None:
    Predictor(model, graph, graph).relations("entity 03", "entity 04")


WORK: dict[str, Callable[[Model, Any], object]] = {
    "ranks": lambda model, graph: evaluate(model, graph, "test"),
    "answers": lambda model, graph: best_entities(model, torch.arange(3), torch.arange(3), 4),
    "relations": relations,
    "tables": lambda model, graph: model.entities,
}


@pytest.mark.skipif(SWITCH is None, reason="torch before 2.9 has no switch for oneDNN's products")
@pytest.mark.parametrize("what", ["norms", *WORK])
def test_products_are_ours_whatever_the_caller_allowed(what: str, small_graph, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SWITCH is not None
    config = parse_config({"dataset": "small", "model": MODEL, "training": {"batch_size": 30}})
    session = Session(config, small_graph, CPU)
    model: Any = session.model.eval().requires_grad_(False)
    seen: list[str] = []
    for layer in (model.propagation, model.reader):
        layer.register_forward_hook(lambda *_: seen.append(SWITCH.fp32_precision))
    monkeypatch.setattr(precision, "prefers_onednn", lambda: False)
    SWITCH.fp32_precision = "bf16"
    try:
        if what == "norms":
            session.settle()
        else:
            with torch.no_grad():
                WORK[what](model, small_graph)
    finally:
        SWITCH.fp32_precision = "none"
    assert set(seen) == {"ieee"}
