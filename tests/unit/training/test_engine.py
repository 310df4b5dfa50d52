"""The engine takes the plain step's steps: loss, gradients (as what they do to the tables) and ten of them in a row."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bique.config import RunConfig, parse_config
from bique.errors import UserError
from bique.graph import Graph
from bique.models import Model, build_model
from bique.objectives import degree_weights
from bique.training import Session
from bique.training.batches import Batches
from bique.training.capture import CapturedSteps
from bique.training.engine import Engine, choose_precision
from bique.training.fronts import Batch, EncodedFront, ProductFront, RowsFront
from bique.training.fusion import can_be_fused
from bique.training.optimizers import make_optimizer
from bique.training.step import Objective
from bique.training.stepper import EngineSteps, PlainSteps, make_stepper

NO_DROPOUT = {"entity_dropout": 0.0, "input_dropout": 0.0, "feature_dropout": 0.0, "hidden_dropout": 0.0}
COMPGCN = {"name": "compgcn", "units": 16, "start": 8, "height": 4, "filters": 2, "kernel": 3, "message_dropout": 0.0}
BINARY: dict[str, Any] = {
    "objective": {"loss": "binary", "label_smoothing": 0.1},
    "penalty": {"weight": 0.0},
    # a small eps would make steps of full size out of gradients that are rounding
    "optimizer": {"name": "adam", "learning_rate": 0.01, "eps": 1e-6},
}
SHARED = {**BINARY, "objective": {"loss": "shared_softmax", "label_smoothing": 0.1}}
VARIANTS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "weighted": {"objective": {"target_weight": "degree"}},
    "rare triples count more": {"objective": {"target_weight": "rarity"}},
    "rare queries count more": {"objective": {"target_weight": "query_rarity"}},
    "logistic, weighted": {"objective": {"loss": "logistic", "target_weight": "degree"}},
    "smoothed": {"objective": {"label_smoothing": 0.1}},
    "logistic, smoothed": {"objective": {"loss": "logistic", "label_smoothing": 0.1}},
    "adam": {"optimizer": {"name": "adam", "learning_rate": 0.01, "eps": 1e-6}},
    "no penalty": {"penalty": {"weight": 0.0}},
    "penalty on all parts": {"penalty": {"head": "plain", "relation_part": "both"}},
    "no translation": {"model": {"translation": False}},
    "normalised": {"model": {"relation_norm": "vector"}},
    "dura": {"penalty": {"kind": "dura"}},
    "distmult": {"model": {"name": "distmult", "units": 6}},
    "complex": {"model": {"name": "complex", "units": 3}},
    "complex, binary": {"model": {"name": "complex", "units": 3}, **BINARY},
    "quate, shared": {"model": {"name": "quate"}, **SHARED},
    "transe, shared": {"model": {"name": "transe", "units": 6}, **SHARED},
    "quate": {"model": {"name": "quate"}},
    "duale": {"model": {"name": "duale", "units": 1}},
    "transe": {"model": {"name": "transe", "units": 6}},
    "rotate": {"model": {"name": "rotate", "units": 3}},
    "conve, binary": {"model": {"name": "conve", "units": 16, "height": 4, "filters": 2, **NO_DROPOUT}, **BINARY},
    "conve, dura": {
        "model": {"name": "conve", "units": 16, "height": 4, "filters": 2, **NO_DROPOUT},
        "penalty": {"kind": "dura"},
        "optimizer": BINARY["optimizer"],
    },
    "compgcn": {"model": {**COMPGCN, **NO_DROPOUT}, "penalty": {"weight": 0.0}, "optimizer": BINARY["optimizer"]},
    "compgcn, binary": {"model": {**COMPGCN, **NO_DROPOUT}, **BINARY},
    "conve, shared": {"model": {"name": "conve", "units": 16, "height": 4, "filters": 2, **NO_DROPOUT}, **SHARED},
    # logistic: a softmax does not see the head's bias, whose gradient is then rounding
    "roth": {
        "model": {"name": "roth", "units": 4},
        "objective": {"loss": "logistic"},
        "optimizer": BINARY["optimizer"],
    },
}
FRONTS = {
    "normalised": RowsFront,
    "dura": RowsFront,
    "duale": RowsFront,
    "conve, binary": RowsFront,
    "conve, shared": RowsFront,
    "conve, dura": RowsFront,
    "transe, shared": type(None),
    "compgcn": EncodedFront,
    "compgcn, binary": EncodedFront,
    "transe": type(None),
    "rotate": type(None),
    "roth": type(None),
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
    batches = Batches(graph, config.training.batch_size, 0, device, queries=config.objective.one_to_n)
    return model, batches, Objective.of(config, graph, device)


def ten_steps(stepper: Any, batches: Batches) -> list[float]:
    """The sum of losses after each step, over two epochs and the short batch of the first."""
    sums = []
    for number in range(10):
        epoch, step = divmod(number, batches.per_epoch)
        stepper.step(batches.order(epoch), step)
        sums.append(stepper.loss_sum.item())
    return sums


def assert_same(mine: Model, theirs: Model) -> None:
    # float32 sums in another order, ten steps long; a wrong gradient is off by steps of .1 (Adagrad) or .01 (Adam)
    found, expected = mine.tables(), theirs.tables()
    torch.testing.assert_close(found, expected, rtol=2e-3, atol=1e-4)


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
    assert isinstance(engine.front, FRONTS.get(variant, ProductFront))
    stepper = CapturedSteps(engine, batches, objective)
    assert ten_steps(stepper, batches) == pytest.approx(expected, rel=1e-5)
    assert (stepper.graph is not None) == (kernel_device.type == "cuda")
    assert_same(mine, model)
    assert mine.entity[mine.num_entities :].abs().max() == 0


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("sampler", ["bernoulli", "pairs", "shared"])
@pytest.mark.parametrize("loss", ["margin", "self_adversarial", "softmax", "logistic"])
def test_ten_steps_with_negatives_are_ten_plain_steps(
    loss: str, sampler: str, filtered: bool, tiny_graph: Graph
) -> None:
    """What is drawn depends on the number of the step alone."""
    smoothing = 0.1 if loss in ("softmax", "logistic") and not filtered else 0.0
    negatives = {"negatives": 4, "sampler": sampler, "filtered": filtered}
    name = "complex" if loss == "logistic" else "rotate"  # a distance gives no score above 0
    tree: dict[str, Any] = {
        "dataset": "small",
        "model": {"name": name, "units": 3, "initial_scale": 0.5},
        "objective": {"loss": loss, "label_smoothing": smoothing, **negatives},
        "training": {"batch_size": 11, "device": "cpu"},
    }
    found = []
    for engine in ("plain", "fast"):
        tree["training"]["engine"] = engine
        session = Session(parse_config(tree), tiny_graph, torch.device("cpu"))
        for _ in range(10):
            if session.place.step == session.batches.per_epoch:
                session.next_epoch()
            session.step()
        found.append((session.model, session.stepper.loss_sum.item()))
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-5)
    assert_same(found[1][0], found[0][0])


@pytest.mark.parametrize("name", ["complex", "rotate"])
@pytest.mark.parametrize("sampler", ["uniform", "pairs", "shared"])
def test_adagrad_with_negatives_touches_no_row_but_those_looked_up(sampler: str, name: str, tiny_graph: Graph) -> None:
    """So a step does not grow with the graph. Adam moves every row, and an encoded one depends on all.

    Where a sum is not a number a pass over the table would leave none.
    """
    tree: dict[str, Any] = {
        "dataset": "small",
        "model": {"name": name, "units": 3},
        "objective": {"negatives": 2, "sampler": sampler},
        "penalty": {"weight": 0.1},
        "training": {"batch_size": 1, "device": "cpu"},
    }

    def engine_of(**changes: Any) -> tuple[Session, Engine]:
        session = Session(parse_config({**tree, **changes}), tiny_graph, torch.device("cpu"))
        assert isinstance(session.stepper, EngineSteps)
        return session, session.stepper.engine

    session, engine = engine_of()
    training = {**tree["training"], "engine": "plain"}
    plain = Session(parse_config({**tree, "training": training}), tiny_graph, torch.device("cpu"))
    for _ in range(10):
        session.step()
        plain.step()
    assert_same(session.model, plain.model)
    session.optimizer.state[session.model.entity]["sum"].fill_(float("nan"))
    session.step()
    touched = session.model.entity.isnan().any(1).sum()
    assert 0 < touched <= session.config.objective.lookups(1) == (6 if sampler == "pairs" else 4)
    assert engine.objective.sparse
    assert not engine_of(training={"batch_size": 50, "device": "cpu"})[1].objective.sparse  # many rows
    assert not engine_of(optimizer={"name": "adam", "learning_rate": 0.01})[1].objective.sparse
    encoded = {"name": "compgcn", "units": 16, "start": 8, "height": 4, "kernel": 3, "filters": 2}
    if sampler != "pairs":
        assert not engine_of(model=encoded, training={"batch_size": 5, "device": "cpu"})[1].objective.sparse


def test_entities_that_are_dropped_are_dropped_in_both_steps_alike(tiny_graph: Graph) -> None:
    model = {"name": "conve", "units": 16, "height": 4, "filters": 2, **NO_DROPOUT, "entity_dropout": 0.5}
    tree = {"dataset": "small", "model": model, **BINARY, "training": {"batch_size": 11, "precision": "fp32"}}

    def steps(engine: str) -> tuple[list[float], Session]:
        changed = {**tree, "training": {**tree["training"], "engine": engine}}
        session = Session(parse_config(changed), tiny_graph, torch.device("cpu"))
        torch.manual_seed(3)
        return ten_steps(session.stepper, session.batches), session

    (ours, session), (theirs, plain) = steps("fast"), steps("plain")
    assert isinstance(session.stepper, EngineSteps)
    assert isinstance(session.stepper.engine.front, EncodedFront)
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert_same(session.model, plain.model)


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


@pytest.mark.parametrize(
    "variant",
    [
        "softmax",
        "normalised",
        "duale",
        "complex, binary",
        "quate, shared",
        "conve, binary",
        "conve, dura",
        "compgcn, binary",
    ],
)
def test_a_cpu_rounds_slopes_and_layers_to_bf16_and_nothing_else(variant: str, tiny_graph: Graph) -> None:
    """Scores, and with them the first loss of a model without layers, are those of fp32."""

    def taken(precision: str) -> tuple[list[float], Session]:
        session = Session(configured(variant, precision=precision), tiny_graph, torch.device("cpu"))
        return ten_steps(session.stepper, session.batches), session

    (exact, fp32), (rounded, bf16) = taken("fp32"), taken("bf16")
    has_layers = variant.startswith(("conve", "compgcn"))
    assert (rounded[0] == exact[0]) != has_layers
    assert rounded[-1] != exact[-1]
    assert rounded == pytest.approx(exact, rel=0.01)
    mine, theirs = (dict(session.model.named_parameters()) for session in (bf16, fp32))
    assert {table.dtype for table in mine.values()} == {torch.float32}
    apart = torch.cat([(mine[name] - theirs[name]).abs().flatten() for name in theirs])
    assert apart.mean() < 0.01  # ten steps of .01 or .1


def test_bf16_leaves_the_biases_of_candidates_as_they_are(tiny_graph: Graph) -> None:
    """A bias of −10 would be known to .06 only."""
    session = Session(configured("compgcn, binary", precision="bf16"), tiny_graph, torch.device("cpu"))
    stepper, model = session.stepper, session.model
    assert isinstance(stepper, EngineSteps)
    start = COMPGCN["start"]  # biases lie behind the units that learning starts with
    model.entity.data[:, start] = torch.linspace(-10, -9, len(model.entity))
    seen: list[Tensor] = []
    front = stepper.engine.front
    assert isinstance(front, EncodedFront)
    queries = front.queries

    def look(batch: Batch, table: Tensor) -> tuple[Tensor, Tensor]:
        found = queries(batch, table)
        seen.append(found[1])
        return found

    front.queries = look  # type: ignore[method-assign]
    before = model.entity[:, start].clone()
    session.step()
    units, biases = seen[0][:, :16], seen[0][:, 16]
    assert torch.equal(biases, before)
    assert torch.equal(units, units.bfloat16().float())
    assert not torch.equal(biases, biases.bfloat16().float())


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
    for planned in (1500, 1 << 20):  # two batches of 11, and an epoch
        monkeypatch.setattr("bique.training.capture.PLANNED", planned)
        config = configured("softmax")
        model, batches, objective = parts(config, tiny_graph, kernel_device)
        engine = Engine(config, model, make_optimizer(config.optimizer, model), objective, "fp32", kernels=True)
        ten_steps(CapturedSteps(engine, batches, objective), batches)
        tables.append(model.tables()["entity"])
    assert torch.equal(*tables)


def test_a_precision_that_would_have_no_effect_is_refused(tiny_graph: Graph) -> None:
    assert Session(configured("transe", precision="auto"), tiny_graph, torch.device("cpu")).stepper.precision == "fp32"
    with pytest.raises(UserError, match="is for products over all candidates"):
        Session(configured("transe", precision="bf16"), tiny_graph, torch.device("cpu"))


@pytest.mark.parametrize("engine", ["fast", "plain"])
def test_a_batch_of_one_for_a_batch_norm_is_one_sentence(engine: str, tiny_graph: Graph) -> None:
    queries = len(Batches(tiny_graph, 7, 0, torch.device("cpu"), queries=True).facts)
    with pytest.raises(UserError, match="leaves a batch of one"):
        Session(configured("conve, binary", engine=engine, batch_size=queries - 1), tiny_graph, torch.device("cpu"))


ROTATE = {
    "model": {"name": "rotate", "units": 3, "initial_scale": 0.5},
    "optimizer": {"name": "adam", "learning_rate": 0.01},
}
RANDOM: dict[str, dict[str, Any]] = {
    "negatives": {**ROTATE, "objective": {"loss": "self_adversarial", "negatives": 4}},
    "shared negatives": {**ROTATE, "objective": {"loss": "self_adversarial", "negatives": 4, "sampler": "shared"}},
    "filtered negatives": {**ROTATE, "objective": {"loss": "self_adversarial", "negatives": 4, "filtered": True}},
    "dropout": {"model": {"name": "conve", "units": 16, "height": 4, "filters": 2}, **BINARY},
}


@pytest.mark.parametrize("regime", RANDOM)
def test_what_is_random_is_drawn_anew_in_every_step(
    regime: str, kernel_device: torch.device, tiny_graph: Graph
) -> None:
    """Also when a step is replayed: with a rate of 0 the tables stay, so only what is drawn can change the loss."""
    tree = {"dataset": "small", "training": {"batch_size": 11}, **RANDOM[regime]}
    config = parse_config(tree)
    model, batches, objective = parts(config, tiny_graph, kernel_device)
    engine = Engine(config, model, make_optimizer(config.optimizer, model), objective, "fp32", kernels=True)
    steps = CapturedSteps(engine, batches, objective)
    steps.set_rate(0.0)
    before = model.tables()["entity"].clone()
    losses = []
    for _ in range(6):  # three to warm up, then replays on a CUDA device
        steps.loss_sum.zero_()
        steps.order = None
        steps.step(batches.order(0), 0)
        losses.append(steps.loss_sum.item())
    assert torch.equal(model.tables()["entity"], before)
    assert len(set(losses)) == 6


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


@pytest.mark.parametrize("name", ["bique", "complex", "rotate", "quate", "roth", "transe"])
def test_only_complex_numbers_cannot_be_fused(name: str, tiny_graph: Graph) -> None:
    config = parse_config({"dataset": "small", "model": {"name": name, "units": 2}}).model
    assert can_be_fused(build_model(config, tiny_graph, 0)) == (name not in ("bique", "complex"))


COMPILED = """
import sys
import warnings
from pathlib import Path
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._inductor.exc import InductorError
from bique.config import parse_config
from bique.graph import Graph
from bique.training import Session
from bique.training.fusion import fused

RANDOM = {"loss": "self_adversarial", "negatives": 4}

def steps(session):
    for _ in range(4):
        session.step()
    return session.model.tables()

def session(model, objective):
    model = {"name": model, "units": 3, "initial_scale": 0.5}
    tree = {"graph": sys.argv[1], "model": model, "objective": objective, "training": {"batch_size": 32}}
    return Session(parse_config(tree), Graph.open(Path(sys.argv[1])), torch.device("cpu"))

def broken(graph, inputs):
    raise InductorError(RuntimeError("no compiler found"), None)

for sampler in ("uniform", "shared"):
    objective = {**RANDOM, "sampler": sampler}
    expected = steps(session("rotate", objective))
    compiled = session("rotate", objective)
    compiled.stepper.engine.terms = fused(compiled.stepper.engine.terms)
    torch.testing.assert_close(steps(compiled), expected, rtol=1e-4, atol=1e-5)
    print("compiled")
kept = lambda graph, inputs: graph
expected = steps(session("transe", {}))
for backend in (broken, aot_autograd(fw_compiler=kept, bw_compiler=broken)):
    falls_back = session("transe", {})
    engine = falls_back.stepper.engine
    engine.compiles, engine.terms = True, torch.compile(engine.terms, backend=backend)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.testing.assert_close(steps(falls_back), expected)
    said = [str(one.message) for one in caught if "cannot be compiled, so it is slower" in str(one.message)]
    print(len(said), engine.compiles)
"""


def test_compiled_steps_are_the_plain_ones_and_what_cannot_be_compiled_is_taken_as_it_is(
    small_graph_directory: Path,
) -> None:
    """As a model without a dot product trains on a CUDA device; what is drawn is the same, too. A compiler that fails
    may do so on the way there or on the way back.

    In a process of its own: torch.compile does not see through the checks of types that the tests put in.
    """
    if shutil.which("g++") is None:
        pytest.skip("needs a C++ compiler")
    command = [sys.executable, "-c", COMPILED, str(small_graph_directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "compiled\ncompiled\n1 False\n1 False\n", done.stderr
