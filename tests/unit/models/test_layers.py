"""What ConvE and its heirs share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from bique.config import parse_config
from bique.graph import Graph
from bique.models import MODELS, Size, build_model
from bique.models.layers import convolve
from bique.runs import Run, read_checkpoint
from bique.training import Session, train


@pytest.mark.parametrize(("pictures", "up", "across"), [(1, 3, 3), (1, 4, 4), (3, 5, 5), (1, 2, 5), (2, 3, 6)])
def test_a_product_with_patches_is_a_convolution(pictures: int, up: int, across: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, pictures, 9, 7, dtype=torch.float64, requires_grad=True)
    filters = torch.randn(6, up, across, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, pictures * 6, 10 - up, 8 - across, dtype=torch.float64)
    # groups: each picture by itself, the same filters for all
    torchs = functional.conv2d(x, filters[:, None].repeat(pictures, 1, 1, 1), groups=pictures)
    ours = convolve(x, filters)
    torch.testing.assert_close(ours, torchs)
    for one, other in zip(
        *(torch.autograd.grad((y * weights).sum(), (x, filters)) for y in (ours, torchs)), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_dropout_takes_whole_feature_maps() -> None:
    config = parse_config({"dataset": "small", "model": {"name": "conve", "units": 24, "height": 4}}).model
    model: Any = MODELS["conve"](config, Size(5, 4), torch.Generator().manual_seed(0)).train()
    seen: list[torch.Tensor] = []
    model.reader.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    torch.manual_seed(0)
    model.query(torch.arange(5), torch.zeros(5, dtype=torch.int64))
    maps = seen[0].view(5, -1, 32)  # place by place
    gone = (maps == 0).all(1)
    assert 0.05 < gone.double().mean() < 0.5  # a fifth of them
    # relu leaves some places of a map at 0, but hardly any map of 24 places with half of them gone
    assert ((maps != 0).double().mean(1)[~gone] > 0.1).all()


CONVOLUTIONAL: dict[str, dict[str, Any]] = {
    "conve": {"units": 16, "height": 4, "filters": 3},
    "interacte": {"units": 16, "height": 4, "filters": 3, "kernel": 3},
    "convtranse": {"units": 16, "channels": 3, "kernel": 3},
    "compgcn": {"units": 16, "start": 8, "height": 4, "filters": 3, "kernel": 3},
}


WIDE: dict[str, dict[str, Any]] = {
    "conve": {"units": 64, "height": 8, "filters": 16},
    "interacte": {"units": 64, "height": 8, "filters": 8, "kernel": 5, "permutations": 2},
    "convtranse": {"units": 64, "channels": 16, "kernel": 3},
    "compgcn": {"units": 64, "start": 32, "height": 8, "filters": 16, "kernel": 5},
}


@pytest.mark.parametrize("batch", [2, 200])  # entities are most of it, or queries
@pytest.mark.parametrize("kind", WIDE)
def test_what_layers_keep_for_the_way_back_is_in_the_plan(kind: str, batch: int, small_graph: Any) -> None:
    tree = {"dataset": "small", "model": {"name": kind, "entity_dropout": 0.3, **WIDE[kind]}}
    model = build_model(parse_config(tree).model, small_graph, 0).train()
    tables = {one.untyped_storage().data_ptr() for one in (*model.parameters(), *model.buffers())}
    kept: dict[int, torch.Tensor] = {}  # held here, so that no address is given out twice

    def keep(one: torch.Tensor) -> torch.Tensor:
        kept[one.untyped_storage().data_ptr()] = one
        return one

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
        model.query(torch.zeros(batch, dtype=torch.int64), torch.zeros(batch, dtype=torch.int64))
    numbers = sum(one.untyped_storage().nbytes() for place, one in kept.items() if place not in tables) / 4
    assert numbers < model.kept_numbers(batch) < 3 * numbers  # and their gradients


def run_of(kind: str, statistics: str, graph: Any, path: Any, **training: Any) -> Run:
    model = {"name": kind, "entity_dropout": 0.3, "norm_statistics": statistics, **CONVOLUTIONAL[kind]}
    tree = {
        "graph": str(graph),
        "model": model,
        "objective": {"loss": "binary"},
        "penalty": {"weight": 0.0},
        "optimizer": {"name": "adam"},
        "training": {"epochs": 3, "batch_size": 50, "device": "cpu", **training},
    }
    return Run.create(parse_config(tree), Graph.open(graph), path / statistics)


@pytest.mark.parametrize("kind", CONVOLUTIONAL)
def test_measured_norms_know_what_evaluation_sees(
    kind: str, small_graph_directory: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every norm's mean and variance are those of what reaches it from train, without dropout."""
    monkeypatch.setattr("bique.models.layers.QUERIES", 30)
    graph, run = Graph.open(small_graph_directory), run_of(kind, "measured", small_graph_directory, tmp_path)
    session = Session(run.config, graph, torch.device("cpu"))
    for _ in range(3):
        session.step()
    session.settle()
    assert session.model.training
    model = session.model.eval()
    norms = {name: one for name, one in model.named_modules() if isinstance(one, (nn.BatchNorm1d, nn.BatchNorm2d))}
    assert len(norms) >= 2
    given: dict[str, list[torch.Tensor]] = {name: [] for name in norms}
    for name, norm in norms.items():
        assert norm.momentum == 0.1
        norm.register_forward_pre_hook(lambda _, seen, name=name: given[name].append(seen[0]))
    queries = session.batches.facts
    assert len(queries) > 60
    with torch.no_grad():
        model.query(queries[:, 0], queries[:, 1])
    for name, norm in norms.items():
        rows = given[name][0].transpose(0, 1).flatten(1)
        # in training the norms before it took the moments of a batch, not of all
        torch.testing.assert_close(norm.running_mean, rows.mean(1), rtol=0.1, atol=0.02 + 0.1 * float(rows.std()))
        torch.testing.assert_close(norm.running_var, rows.var(1), rtol=0.25, atol=1e-6)


@pytest.mark.parametrize("kind", CONVOLUTIONAL)
def test_measuring_norms_changes_nothing_else(kind: str, small_graph_directory: Any, tmp_path: Any) -> None:
    graph, found = Graph.open(small_graph_directory), {}
    for statistics in ("running", "measured"):
        run = run_of(kind, statistics, small_graph_directory, tmp_path)
        train(run, graph)
        found[statistics] = read_checkpoint(run.last).tensors
    running, measured = found["running"], found["measured"]
    unlike = {name for name in running if not torch.equal(running[name], measured[name])}
    assert unlike
    assert all("norm.running_" in name or name.endswith("norm.num_batches_tracked") for name in unlike)


def test_norms_are_measured_without_a_validation_split_too(small_graph_directory: Any, tmp_path: Any) -> None:
    graph = Graph.open(small_graph_directory)
    empty = replace(graph, valid=graph.valid[:0])
    found = []
    for statistics in ("running", "measured"):
        run = run_of("conve", statistics, small_graph_directory, tmp_path)
        train(run, empty)
        found.append(read_checkpoint(run.best).tensors["model/query_norm.running_var"])
    assert not torch.equal(*found)


def unsettled(kind: str, graph: Graph, **options: Any) -> Any:
    """In float64, with norms that know something."""
    tree = {"name": kind, "initial_scale": 0.5, **CONVOLUTIONAL[kind], **options}
    model: Any = build_model(parse_config({"dataset": "small", "model": tree}).model, graph, seed=5).double()
    generator = torch.Generator().manual_seed(6)
    for norm in (one for one in model.modules() if isinstance(one, (nn.BatchNorm1d, nn.BatchNorm2d))):
        norm.running_mean.normal_(generator=generator)
        norm.running_var.uniform_(0.5, 2, generator=generator)
        if norm.affine:
            nn.init.normal_(norm.weight, generator=generator)
            nn.init.normal_(norm.bias, generator=generator)
    return model


def normalised(norm: Any, given: torch.Tensor) -> torch.Tensor:
    shape = (1, -1) + (1,) * (given.ndim - 2)
    mean, deviation = norm.running_mean.view(shape), (norm.running_var + norm.eps).sqrt().view(shape)
    found = (given - mean) / deviation
    return found * norm.weight.view(shape) + norm.bias.view(shape) if norm.affine else found


def features_by_hand(kind: str, model: Any, head: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
    """By torch's own convolutions."""
    if kind == "convtranse":
        rows = normalised(model.picture_norm, torch.stack((head, relation), dim=1))
        return functional.conv1d(rows, model.filters, padding=model.filters.shape[-1] // 2)[:, :, None]
    if kind == "interacte":
        places = torch.cat((head, relation), dim=1)[:, model.places].view(len(head), -1, *model.side)
        around = functional.pad(normalised(model.picture_norm, places), [model.kernel // 2] * 4, mode="circular")
        weights = model.filters[:, None].repeat(around.shape[1], 1, 1, 1)  # the same for every picture
        return functional.conv2d(around, weights, groups=around.shape[1])
    both = torch.cat((head, relation), dim=1)
    if kind == "compgcn":
        both = torch.stack((head, relation), dim=2).flatten(1)
    picture = normalised(model.picture_norm, both.view(len(head), 1, 2 * model.height, -1))
    return functional.conv2d(picture, model.filters[:, None])


@pytest.mark.parametrize("kind", CONVOLUTIONAL)
def test_a_query_is_what_its_formula_says(kind: str, small_graph: Graph) -> None:
    """f(W·f(ω ∗ picture)): norm and ReLU after the convolution, norm and ReLU after W."""
    model = unsettled(kind, small_graph).eval()
    heads, relations = torch.tensor([1, 3, 8]), torch.tensor([0, 1, 5])
    rows, tables = model.encode()
    features = features_by_hand(kind, model, rows[heads][:, : model.units], tables[relations])
    maps = functional.relu(normalised(model.feature_norm, features)).flatten(2)
    query = maps.mT.flatten(1) @ model.reader.weight.T
    expected = functional.relu(normalised(model.query_norm, query))
    found = model.query(heads, relations)
    assert (expected == 0).any()
    torch.testing.assert_close(found[:, : model.units], expected)
    assert (found[:, model.units] == 1).all()


DROPOUTS = ("entity_dropout", "input_dropout", "feature_dropout", "hidden_dropout")


def dropouts(kind: str) -> tuple[str, ...]:
    return (*DROPOUTS, "message_dropout") if kind == "compgcn" else DROPOUTS


@pytest.mark.parametrize(("kind", "which"), [(kind, one) for kind in CONVOLUTIONAL for one in (None, *dropouts(kind))])
def test_every_dropout_is_one(kind: str, which: str | None, small_graph: Graph) -> None:
    """By itself it makes a query random in training; without any, nothing does."""
    chances = {name: 0.4 if name == which else 0.0 for name in dropouts(kind)}
    model = unsettled(kind, small_graph, **chances).train()
    heads, relations = torch.tensor([1, 3, 8]), torch.tensor([0, 1, 5])
    found = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        found.append(model.query(heads, relations))
    assert torch.equal(*found) == (which is None)
