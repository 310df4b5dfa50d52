"""What every model of MODELS promises."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from bique.config import ModelConfig, ObjectiveConfig, PenaltyConfig, parse_config
from bique.evaluation import Blocks, evaluate, rank_queries
from bique.graph import Answers, Graph
from bique.models import MODELS, Model, build_model
from bique.runs import Run, read_checkpoint
from bique.training import Session, Silent, StopRequest, train
from bique.training.step import Objective

NO_DROPOUT = {"entity_dropout": 0.0, "input_dropout": 0.0, "feature_dropout": 0.0, "hidden_dropout": 0.0}
SMALL: dict[str, dict[str, Any]] = {
    "bique": {"units": 3},
    "bique without translation": {"units": 3, "translation": False},
    "bique, vector norm": {"units": 3, "relation_norm": "vector"},
    "bique, unit norm": {"units": 3, "relation_norm": "unit"},
    "transe": {"units": 6},
    "transe, l1": {"units": 6, "norm": "l1"},
    "distmult": {"units": 6},
    "complex": {"units": 4},
    "rotate": {"units": 4},
    "quate": {"units": 3},
    "duale": {"units": 2},
    "conve": {"units": 16, "height": 4, "filters": 3, **NO_DROPOUT},
    "interacte": {"units": 16, "height": 4, "filters": 3, "kernel": 3, "permutations": 2, **NO_DROPOUT},
    "convtranse": {"units": 16, "channels": 3, "kernel": 3, **NO_DROPOUT},
    "compgcn": {"units": 16, "start": 8, "height": 4, "filters": 3, "kernel": 3, "message_dropout": 0.0, **NO_DROPOUT},
    "compgcn, multiply": {
        "units": 16,
        "start": 8,
        "height": 4,
        "filters": 3,
        "kernel": 3,
        "composition": "multiply",
        "norm_statistics": "measured",
        "message_dropout": 0.0,
        **NO_DROPOUT,
    },
    "murp": {"units": 6},
    "roth": {"units": 6},
    "refh": {"units": 6},
    "atth": {"units": 6},
}


def configured(name: str, **options: Any) -> ModelConfig:
    model = name.replace(" ", ",").split(",")[0]
    return parse_config({"dataset": "small", "model": {"name": model, **SMALL[name], **options}}).model


@pytest.fixture(params=SMALL)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(name: str, small_graph: Graph) -> Model:
    """In evaluation mode, in float64, far from its start."""
    return build_model(configured(name, initial_scale=0.5), small_graph, seed=7).double().eval()


def some_triples(model: Model, count: int = 20) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    ids = [torch.randint(n, (count,), generator=generator) for n in (model.num_entities, model.num_relations)]
    return torch.stack([*ids, torch.randint(model.num_entities, (count,), generator=generator)], dim=1)


def test_every_model_of_the_table_is_tried_here() -> None:
    assert {configured(name).name for name in SMALL} == set(MODELS)


def test_every_model_says_its_formula_first() -> None:
    for kind in MODELS.values():
        assert kind.__doc__.splitlines()[0].startswith(("score(h, r, t) = ", "ConvE over "))


def test_settings_and_model_agree_on_how_it_compares(name: str, model: Model) -> None:
    compares_by = configured(name).compares_by
    assert (compares_by == "dot product") == model.dot_product
    if compares_by == "distance":
        h, r, _ = some_triples(model).unbind(1)
        assert (model.score_all(h, r) <= 0).all()


def test_score_of_one_triple_is_its_entry_among_all_candidates(model: Model) -> None:
    h, r, t = some_triples(model).unbind(1)
    torch.testing.assert_close(model.score(h, r, t), model.score_all(h, r).gather(1, t[:, None])[:, 0])
    assert model.score(h[:0], r[:0], t[:0]).shape == (0,)
    assert model.score_all(h[:0], r[:0]).shape == (0, model.num_entities)


def test_scores_are_finite_at_the_start_and_far_from_it(name: str, small_graph: Graph) -> None:
    for scale in (1e-3, 3.0, 100.0):
        model = build_model(configured(name, initial_scale=scale), small_graph, seed=0).eval()
        h, r, _ = some_triples(model).unbind(1)
        assert torch.isfinite(model.score_all(h, r)).all()


OBJECTIVES = {
    "softmax, group n3": (ObjectiveConfig(), PenaltyConfig(weight=0.1)),
    "logistic, n3": (ObjectiveConfig(loss="logistic"), PenaltyConfig(weight=0.1, kind="n3", head="plain")),
    "smoothed, l2": (ObjectiveConfig(label_smoothing=0.1), PenaltyConfig(weight=0.1, kind="l2")),
    "softmax, dura": (ObjectiveConfig(), PenaltyConfig(weight=0.1, kind="dura")),
}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_gradients_are_those_of_finite_differences(model: Model, objective: str) -> None:
    function, batch = Objective(*OBJECTIVES[objective]), some_triples(model, 5)
    names, tables = zip(*model.named_parameters(), strict=True)

    def loss(*values: torch.Tensor) -> torch.Tensor:
        given = {f"model.{one}": value for one, value in zip(names, values, strict=True)}
        return torch.func.functional_call(_Call(model, function), given, (batch,))

    values = [table.detach().clone().requires_grad_() for table in tables]
    assert torch.autograd.gradcheck(loss, values, fast_mode=True, atol=1e-4)


class _Call(torch.nn.Module):
    def __init__(self, model: Model, objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.objective(self.model, batch)


def test_padding_rows_take_part_in_nothing(model: Model) -> None:
    h, r, _ = some_triples(model).unbind(1)
    before = model.score_all(h, r)
    assert before.shape[1] == model.num_entities
    with torch.no_grad():
        model.entity[model.num_entities :] = 1e6
    torch.testing.assert_close(model.score_all(h, r), before, rtol=0, atol=0)
    assert model.tables()["entity"].shape[0] == model.num_entities
    Objective(*OBJECTIVES["softmax, group n3"])(model, some_triples(model)).backward()
    assert model.entity.grad[model.num_entities :].abs().max() == 0
    assert len(model.entity) % 128 == 0


def test_the_seed_alone_decides_the_start(name: str, small_graph: Graph) -> None:
    torch.manual_seed(5)  # the global state has no say, and is left alone
    before = torch.random.get_rng_state()
    one = build_model(configured(name), small_graph, 1).tables()
    assert torch.equal(before, torch.random.get_rng_state())
    torch.manual_seed(6)
    same, other = (build_model(configured(name), small_graph, seed).tables() for seed in (1, 2))
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert not torch.equal(one["entity"], other["entity"])


def test_ranks_do_not_depend_on_tile_size(name: str, small_graph: Graph) -> None:
    """With more entities than a block has."""
    from bique.graph import Vocabulary

    queries, candidates = Blocks.on(torch.device("cpu"))
    count = 2 * candidates + 17
    triples = np.random.default_rng(0).integers(0, (count, 3, count), (queries + 5, 3)).astype(np.int32)
    large = replace(
        small_graph, entities=Vocabulary.from_names(f"{i:05d}" for i in range(count)), train=triples, path=None
    )
    model = build_model(configured(name, initial_scale=0.5), large, seed=0).eval()
    answers = Answers.from_triples(triples, 6)
    found = [rank_queries(model, triples, answers, memory) for memory in (1, 1 << 30)]
    np.testing.assert_array_equal(found[0].better, found[1].better)
    np.testing.assert_array_equal(found[0].equal, found[1].equal)


BY_ADAM = {"penalty": {"weight": 0.0}, "optimizer": {"name": "adam", "learning_rate": 0.02}}
BY_N3 = {"penalty": {"weight": 0.001}}
ONE_TO_N = {**BY_ADAM, "objective": {"loss": "binary"}, "optimizer": {"name": "adam", "learning_rate": 0.01}}
LEARNERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bique": ({"units": 4}, BY_N3),
    "transe": ({"units": 16, "initial_scale": 0.3}, BY_ADAM),
    "distmult": ({"units": 16}, BY_N3),
    "complex": ({"units": 8}, BY_N3),
    "rotate": ({"units": 8, "initial_scale": 0.3}, BY_ADAM),
    "quate": ({"units": 6}, BY_N3),
    "duale": ({"units": 4}, BY_N3),
    "conve": ({"units": 32, "height": 4, "filters": 8}, ONE_TO_N),
    "interacte": ({"units": 32, "height": 4, "filters": 8, "kernel": 3}, ONE_TO_N),
    "convtranse": ({"units": 32, "channels": 8, "kernel": 3}, ONE_TO_N),
    "compgcn": (
        {
            "units": 32,
            "start": 16,
            "height": 4,
            "filters": 8,
            "kernel": 3,
            "composition": "multiply",
            "entity_dropout": 0.1,
        },
        ONE_TO_N,
    ),
    "murp": ({"units": 8, "initial_scale": 0.01}, BY_ADAM),
    "roth": ({"units": 8, "initial_scale": 0.01}, BY_ADAM),
    "refh": ({"units": 8, "initial_scale": 0.01}, BY_ADAM),
    "atth": ({"units": 8, "initial_scale": 0.01}, BY_ADAM),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_learns_the_small_graph_by_heart(kind: str, small_graph: Graph) -> None:
    """With dropout where it has it; a model that guesses has an MRR of .1."""
    options, rest = LEARNERS[kind]
    training = {"batch_size": 30, "epochs": 60, "device": "cpu"}
    config = parse_config({"dataset": "small", "model": {"name": kind, **options}, "training": training, **rest})
    session = Session(config, small_graph, torch.device("cpu"))
    for _ in range(60):
        for _ in range(session.batches.per_epoch):
            session.step()
        session.next_epoch()
    assert evaluate(session.model.eval(), small_graph, "train").metrics.mrr > 0.75


class StopAt(Silent):
    def __init__(self, stop: StopRequest, steps: int) -> None:
        self.stop, self.left = stop, steps

    def stepped(self, epoch: int, step: int) -> None:
        self.left -= 1
        if self.left == 0:
            self.stop.signal = 2


REGIMES: dict[str, dict[str, Any]] = {
    "all candidates": {"penalty": {"weight": 0.01}},
    "binary": {
        "objective": {"loss": "binary", "label_smoothing": 0.1, "smoothing_share": "published"},
        "penalty": {"weight": 0.0},
        "optimizer": {"name": "adam", "learning_rate": 0.003},
    },
    "shared softmax": {
        "objective": {"loss": "shared_softmax", "label_smoothing": 0.1},
        "penalty": {"weight": 0.0},
        "optimizer": {"name": "adam", "learning_rate": 0.003},
    },
    "negatives": {
        "objective": {"loss": "self_adversarial", "negatives": 5, "margin": 2.0},
        "optimizer": {"name": "adam", "learning_rate": 0.003},
        "penalty": {"weight": 0.0},
    },
}


# a distance without biases gives no score above 0, so 1-N binary is refused for it
TRAINABLE = [
    (name, regime)
    for name, regime in product(SMALL, REGIMES)
    if regime != "binary" or configured(name).compares_by != "distance"
]


@pytest.mark.parametrize(("name", "regime"), TRAINABLE)
def test_a_stopped_run_goes_on_to_the_same_bits(
    name: str, regime: str, small_graph_directory: Any, tmp_path: Any
) -> None:
    """With dropout where the model has it: what a step draws depends on its number alone."""
    options = {key: value for key, value in SMALL[name].items() if "dropout" not in key}
    model = {"name": configured(name).name, **options}
    training = {"epochs": 3, "batch_size": 50, "validate_every": 2, "device": "cpu"}
    config = parse_config(
        {"graph": str(small_graph_directory), "model": model, "training": training, **REGIMES[regime]}
    )
    graph = Graph.open(small_graph_directory)
    whole, broken = (Run.create(config, graph, tmp_path / one) for one in ("whole", "broken"))
    train(whole, graph)
    stop = StopRequest()
    assert train(broken, graph, StopAt(stop, 6), stop).ended == "stopped"
    assert train(Run.open(broken.path), graph).ended == "finished"
    for file in ("last", "best"):
        mine, theirs = (read_checkpoint(getattr(run, file)).tensors for run in (whole, broken))
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)
    loaded, _ = whole.model()
    assert not loaded.training
    h, r, _ = some_triples(loaded).unbind(1)
    assert torch.equal(loaded.score_all(h, r), Run.open(whole.path).model()[0].score_all(h, r))
