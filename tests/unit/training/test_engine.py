"""The engine takes the plain step's steps: loss, gradients (as what they do to the tables) and ten of them in a row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from bique.config import RunConfig, parse_config
from bique.errors import UserError
from bique.graph import Graph
from bique.models import Model, build_model
from bique.objectives import degree_weights
from bique.training import Session
from bique.training.batches import Batches
from bique.training.capture import CapturedSteps
from bique.training.engine import Engine, ProductFront, RowsFront, choose_precision
from bique.training.optimizers import make_optimizer
from bique.training.step import Objective
from bique.training.stepper import EngineSteps, PlainSteps, make_stepper

VARIANTS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "weighted": {"objective": {"target_weight": "degree"}},
    "logistic, weighted": {"objective": {"loss": "logistic", "target_weight": "degree"}},
    "smoothed": {"objective": {"label_smoothing": 0.1}},
    "logistic, smoothed": {"objective": {"loss": "logistic", "label_smoothing": 0.1}},
    "adam": {"optimizer": {"name": "adam", "learning_rate": 0.01, "eps": 1e-6}},
    "no penalty": {"penalty": {"weight": 0.0}},
    "penalty on all parts": {"penalty": {"head": "plain", "relation_part": "both"}},
    "no translation": {"model": {"translation": False}},
    "normalised": {"model": {"relation_norm": "vector"}},
}


def configured(variant: str, **training: Any) -> RunConfig:
    tree: dict[str, Any] = {"dataset": "small", **VARIANTS[variant]}
    tree["model"] = {"units": 2, "initial_scale": 0.5, **tree.get("model", {})}
    tree["training"] = {"batch_size": 11, "precision": "fp32", **training}  # 50 queries: the fifth batch is short
    return parse_config(tree)


@pytest.fixture
def tiny_graph(small_graph: Graph) -> Graph:
    """Few facts: the interpreter takes its time."""
    return replace(small_graph, train=small_graph.train[:25])


def parts(config: RunConfig, graph: Graph, device: torch.device) -> tuple[Model, Batches, Objective]:
    model = build_model(config.model, graph, 0).to(device)
    batches = Batches(graph, config.training.batch_size, 0, device)
    return model, batches, Objective.of(config, graph, device)


def ten_steps(stepper: Any, batches: Batches) -> list[float]:
    """The sum of losses after each step, over two epochs and the short batch of the first."""
    sums = []
    for number in range(10):
        epoch, step = divmod(number, batches.per_epoch)
        stepper.step(batches.order(epoch), step)
        sums.append(stepper.loss_sum.item())
    return sums


def assert_same(mine: Model, theirs: Model, rtol: float = 2e-4, atol: float = 2e-5) -> None:
    for name, table in theirs.tables().items():
        torch.testing.assert_close(mine.tables()[name], table, rtol=rtol, atol=atol)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("memory", ["whole", "blocks"])
def test_ten_steps_of_the_engine_are_ten_plain_steps(variant: str, memory: str, tiny_graph: Graph) -> None:
    """On the CPU, with torch alone."""
    config, device = configured(variant), torch.device("cpu")
    model, batches, objective = parts(config, tiny_graph, device)
    plain = PlainSteps(model, make_optimizer(config.optimizer, model), batches, objective)
    expected = ten_steps(plain, batches)
    mine, batches, objective = parts(config, tiny_graph, device)
    _, stepper = make_stepper(config, mine, batches, objective)
    assert isinstance(stepper, EngineSteps)
    if memory == "blocks":
        few = stepper.engine.config.training.model_copy(update={"score_memory_mb": 0})
        stepper.engine.config = config.model_copy(update={"training": few})
    assert ten_steps(stepper, batches) == pytest.approx(expected, rel=1e-5)
    assert_same(mine, model)


@pytest.mark.parametrize("variant", VARIANTS)
def test_ten_steps_by_kernels_are_ten_plain_steps(variant: str, kernel_device: torch.device, tiny_graph: Graph) -> None:
    """The path of a CUDA device with its batches from the plan: captured there, interpreted here."""
    config = configured(variant)
    model, batches, objective = parts(config, tiny_graph, kernel_device)
    plain = PlainSteps(model, make_optimizer(config.optimizer, model), batches, objective)
    expected = ten_steps(plain, batches)
    mine, batches, objective = parts(config, tiny_graph, kernel_device)
    engine = Engine(config, mine, make_optimizer(config.optimizer, mine), objective, "fp32", kernels=True)
    assert isinstance(engine.front, RowsFront if variant == "normalised" else ProductFront)
    stepper = CapturedSteps(engine, batches, objective)
    assert ten_steps(stepper, batches) == pytest.approx(expected, rel=1e-5)
    assert (stepper.graph is not None) == (kernel_device.type == "cuda")
    assert_same(mine, model)
    assert mine.entity[mine.num_entities :].abs().max() == 0


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_bf16_products_stay_near_and_tables_stay_float32(device: str, tiny_graph: Graph) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    config = configured("softmax", precision="bf16", device=device)
    exact = configured("softmax", engine="plain", device=device)
    session, plain = (Session(one, tiny_graph, torch.device(device)) for one in (config, exact))
    ours, theirs = ten_steps(session.stepper, session.batches), ten_steps(plain.stepper, plain.batches)
    assert ours != theirs
    assert ours == pytest.approx(theirs, rel=0.02)
    # Adagrad's first steps have the size of the learning rate whatever the gradient's, so single elements may differ
    for name, table in plain.model.tables().items():
        assert (session.model.tables()[name] - table).abs().mean() < 0.01
    assert {table.dtype for table in session.save().tensors.values()} == {torch.float32}


def test_the_plan_holds_the_batches_of_the_plain_path(tiny_graph: Graph) -> None:
    """The same triples in the same order; the short last batch filled up with weight 0."""
    config = configured("weighted")
    model, batches, objective = parts(config, tiny_graph, torch.device("cpu"))
    engine = Engine(config, model, make_optimizer(config.optimizer, model), objective, "fp32", kernels=True)
    steps = CapturedSteps(engine, batches, objective)
    order = batches.order(3)
    steps._make_plan(order, 0)
    for step in range(batches.per_epoch):
        steps.current.copy_(steps.plan[[step]])
        expected = batches.batch(order, step)
        size = len(expected)
        found = torch.stack(steps.batch[:3], dim=1)
        assert torch.equal(found[:size].long(), expected)
        weights = degree_weights(torch.from_numpy(tiny_graph.degrees))[expected[:, 2]]
        torch.testing.assert_close(steps.batch.loss_weights[:size], weights / weights.sum())
        torch.testing.assert_close(steps.batch.penalty_weights[:size], torch.full((size,), 1 / size))
        assert steps.batch.loss_weights[size:].sum() == 0
        assert steps.batch.penalty_weights[size:].sum() == 0
        assert steps.batch.size.item() == size
    assert size == 6


def test_a_plan_shorter_than_an_epoch_is_made_anew(
    kernel_device: torch.device, tiny_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []
    for planned in (2, 512):
        monkeypatch.setattr("bique.training.capture.PLANNED", planned)
        config = configured("softmax")
        model, batches, objective = parts(config, tiny_graph, kernel_device)
        engine = Engine(config, model, make_optimizer(config.optimizer, model), objective, "fp32", kernels=True)
        ten_steps(CapturedSteps(engine, batches, objective), batches)
        tables.append(model.tables()["entity"])
    assert torch.equal(*tables)


def test_precision_is_what_the_device_can_do() -> None:
    cpu = torch.device("cpu")
    assert [choose_precision(one, cpu) for one in ("auto", "bf16", "fp32")] == ["fp32", "bf16", "fp32"]
    with pytest.raises(UserError, match="needs a CUDA device"):
        choose_precision("tf32", cpu)


def test_a_cuda_device_without_triton_trains_anyway_and_says_so(
    tiny_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configured("softmax")
    model, batches, objective = parts(config, tiny_graph, torch.device("cpu"))
    monkeypatch.setattr("bique.training.stepper.why_no_triton", lambda device: "Triton is not installed")
    _, stepper = make_stepper(config, model, batches, objective)
    assert isinstance(stepper, EngineSteps)
    assert stepper.note == "Triton is not installed: training without the fused kernels, which is slower"
