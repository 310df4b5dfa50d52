from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bique.config import RunConfig, parse_config
from bique.errors import UserError
from bique.graph import Graph, Vocabulary
from bique.models import build_model
from bique.objectives import degree_weights
from bique.runs import Run, read_checkpoint
from bique.training import Session, Silent, StopRequest, make_plan, train
from bique.training.batches import Batches
from bique.training.session import NotFiniteError
from bique.training.step import Objective, take_step
from bique.training.train_answers import AnswerCounts, KnownFacts


def settings(directory: Path, **training: Any) -> RunConfig:
    tree: dict[str, Any] = {
        "graph": str(directory),
        "model": {"units": 4},
        "training": {
            "epochs": 6,
            "batch_size": 32,
            "validate_every": 2,
            "checkpoint_seconds": 1e9,
            "device": "cpu",
            **training,
        },
    }
    return parse_config(tree)


def new_run(directory: Path, path: Path, config: RunConfig | None = None) -> tuple[Run, Graph]:
    graph = Graph.open(directory)
    return Run.create(config or settings(directory), graph, path), graph


def tables(run: Run) -> dict[str, torch.Tensor]:
    return read_checkpoint(run.last).tensors


def assert_same_run(one: Run, other: Run) -> None:
    mine, theirs = tables(one), tables(other)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    best, their_best = read_checkpoint(one.best), read_checkpoint(other.best)
    assert all(torch.equal(best.tensors[name], their_best.tensors[name]) for name in best.tensors)
    assert best.record == their_best.record

    def without_time(run: Run) -> list[dict[str, Any]]:
        return [{key: value for key, value in record.items() if key != "seconds"} for record in run.metrics()]

    assert without_time(one) == without_time(other)


class StopAt(Silent):
    """Asks for a stop, as Ctrl-C would, after so many steps."""

    def __init__(self, stop: StopRequest, steps: int) -> None:
        self.stop, self.left = stop, steps

    def stepped(self, epoch: int, step: int) -> None:
        self.left -= 1
        if self.left == 0:
            self.stop.signal = signal.SIGINT


@pytest.mark.parametrize("steps", [1, 3, 6, 7, 17])
@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
def test_a_stopped_run_ends_bit_identical_to_one_never_stopped(
    steps: int, optimizer: str, small_graph_directory: Path, tmp_path: Path
) -> None:
    config = settings(small_graph_directory)
    config = config.model_copy(update={"optimizer": config.optimizer.model_copy(update={"name": optimizer})})
    whole, graph = new_run(small_graph_directory, tmp_path / "whole", config)
    train(whole, graph)
    broken, graph = new_run(small_graph_directory, tmp_path / "broken", config)
    stop = StopRequest()
    assert train(broken, graph, StopAt(stop, steps), stop).ended == "stopped"
    assert train(Run.open(broken.path), graph).ended == "finished"
    assert_same_run(whole, broken)


def test_the_same_seed_gives_the_same_digits_twice_and_another_seed_others(
    small_graph_directory: Path, tmp_path: Path
) -> None:
    runs = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        run, graph = new_run(small_graph_directory, tmp_path / name, settings(small_graph_directory, seed=seed))
        train(run, graph)
        runs.append(run)
    assert_same_run(runs[0], runs[1])
    assert not torch.equal(tables(runs[0])["model/entity"], tables(runs[2])["model/entity"])


def test_training_learns_the_small_graph(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, epochs=30))
    train(run, graph)
    losses = [record["loss"] for record in run.metrics()]
    assert losses[-1] < 0.6 * losses[0]


def test_best_checkpoint_is_the_epoch_of_the_highest_validation_mrr(
    small_graph_directory: Path, tmp_path: Path
) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, epochs=30))
    train(run, graph)
    validated = [record for record in run.metrics() if "valid_mrr" in record]
    best = max(validated, key=lambda record: record["valid_mrr"])
    assert read_checkpoint(run.best).record["epoch"] == best["epoch"]
    assert [record["epoch"] for record in validated] == list(range(2, 31, 2))


def test_patience_ends_a_run_that_stopped_improving(small_graph_directory: Path, tmp_path: Path) -> None:
    config = settings(small_graph_directory, epochs=500, patience=2, validate_every=3)
    run, graph = new_run(small_graph_directory, tmp_path / "run", config)
    outcome = train(run, graph)
    assert outcome.ended == "early"
    assert outcome.epoch == outcome.best_epoch + 2 * 3
    assert train(Run.open(run.path), graph).epoch == outcome.epoch  # resuming it does not go on


def test_an_empty_validation_split_makes_the_last_epoch_the_best(small_graph: Graph, tmp_path: Path) -> None:
    from dataclasses import replace

    replace(small_graph, valid=small_graph.valid[:0]).save(tmp_path / "graph")
    run, graph = new_run(tmp_path / "graph", tmp_path / "run")
    train(run, graph)
    assert read_checkpoint(run.best).record["epoch"] == 6


def test_a_loss_that_is_not_finite_stops_with_the_last_good_checkpoint_kept(
    small_graph_directory: Path, tmp_path: Path
) -> None:
    config = settings(small_graph_directory, checkpoint_seconds=0)
    run, graph = new_run(small_graph_directory, tmp_path / "run", config)
    stop = StopRequest()
    train(run, graph, StopAt(stop, 5), stop)
    good = run.last.read_bytes()

    class Spoil(Silent):
        def stepped(self, epoch: int, step: int) -> None:
            sessions[0].model.entity.data[0, 0] = torch.nan

    from bique.training import loop

    sessions: list[Session] = []

    class Kept(Session):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            sessions.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "Session", Kept)
        with pytest.raises(NotFiniteError, match="last good checkpoint is kept"):
            train(run, graph, Spoil())
    assert run.last.read_bytes() == good
    assert train(Run.open(run.path), graph).ended == "finished"


def test_metrics_of_epochs_that_are_trained_again_are_written_once(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run")
    stop = StopRequest()
    train(run, graph, StopAt(stop, 8), stop)
    with (run.path / "metrics.jsonl").open("a") as file:  # what a process killed after two more epochs leaves behind
        file.write(json.dumps({"epoch": 2, "loss": 1.0}) + "\n" + '{"epoch": 3, "lo')
    train(Run.open(run.path), graph)
    assert [record["epoch"] for record in run.metrics()] == [1, 2, 3, 4, 5, 6]


def test_the_loss_of_an_epoch_is_the_mean_over_its_facts(small_graph_directory: Path, tmp_path: Path) -> None:
    """Each batch counts by its size: the last one is shorter."""
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, epochs=1))
    train(run, graph)
    session = Session(run.config, graph, torch.device("cpu"))
    order, sums = session.batches.order(0), 0.0
    for step in range(session.batches.per_epoch):
        batch = session.batches.batch(order, step)
        sums += take_step(session.model, session.objective, session.optimizer, batch).item() * len(batch)
    assert len(session.batches.facts) % 32 != 0
    # the plain step beside the engine, both in float32
    assert run.metrics()[0]["loss"] == pytest.approx(sums / len(session.batches.facts), rel=1e-6)


PENALTIES = [(head, part) for head in ("translated", "plain") for part in ("product", "both")]


@pytest.mark.parametrize(("head", "part"), PENALTIES)
def test_the_penalty_weighs_what_its_options_name(head: str, part: str, small_graph_directory: Path) -> None:
    tree = settings(small_graph_directory).model_dump(mode="json", exclude_none=True)
    tree["penalty"] = {"weight": 0.3, "entity": 1.5, "relation": 0.7, "head": head, "relation_part": part}
    tree["model"]["initial_scale"] = 1.0
    session = Session(parse_config(tree), Graph.open(small_graph_directory), torch.device("cpu"))
    batch = session.batches.facts[:7]
    h, r, t = batch.unbind(1)
    entity, relation = session.model.entity, session.model.relation

    def cubes(rows: torch.Tensor) -> torch.Tensor:
        return sum(row.view(4, 4, 2)[:, unit].reshape(8).norm() ** 3 for row in rows for unit in range(4))

    heads = entity[h] + relation[r, 32:] if head == "translated" else entity[h]
    relations = cubes(relation[r, :32]) + (cubes(relation[r, 32:]) if part == "both" else 0)
    expected = 0.3 * (1.5 * (cubes(heads) + cubes(entity[t])) + 0.7 * relations) / 7
    loss = torch.nn.functional.cross_entropy(session.model.score_all(h, r), t)
    torch.testing.assert_close(session.objective(session.model, batch) - loss, expected, rtol=1e-4, atol=1e-4)


def test_target_weights_of_the_settings_reach_the_loss(small_graph_directory: Path) -> None:
    tree = settings(small_graph_directory).model_dump(mode="json", exclude_none=True)
    tree |= {"objective": {"target_weight": "degree"}, "penalty": {"weight": 0.0}}
    tree["model"]["initial_scale"] = 1.0
    graph = Graph.open(small_graph_directory)
    session = Session(parse_config(tree), graph, torch.device("cpu"))
    batch = session.batches.facts[:9]
    h, r, t = batch.unbind(1)
    logarithms = session.model.score_all(h, r).log_softmax(1)
    weights = degree_weights(torch.from_numpy(graph.degrees))[t]
    expected = -(weights * logarithms[torch.arange(9), t]).sum() / weights.sum()
    torch.testing.assert_close(session.objective(session.model, batch), expected)


def test_the_optimizer_is_the_one_of_the_settings(small_graph: Graph) -> None:
    from bique.config import BiQUEConfig, OptimizerConfig
    from bique.models import build_model
    from bique.training.optimizers import make_optimizer

    model = build_model(BiQUEConfig(units=1), small_graph, 0)
    adam = make_optimizer(OptimizerConfig(name="adam", learning_rate=0.3, eps=1e-5, betas=(0.5, 0.6)), model)
    assert isinstance(adam, torch.optim.Adam)
    assert {name: adam.defaults[name] for name in ("lr", "eps", "betas")} == {
        "lr": 0.3,
        "eps": 1e-5,
        "betas": (0.5, 0.6),
    }
    adagrad = make_optimizer(OptimizerConfig(learning_rate=0.2, eps=1e-6), model)
    assert isinstance(adagrad, torch.optim.Adagrad)
    assert (adagrad.defaults["lr"], adagrad.defaults["eps"]) == (0.2, 1e-6)
    assert all(float(adagrad.state[table]["sum"].abs().max()) == 0 for table in model.parameters())


def test_the_plan_counts_parameters_and_memory(small_graph_directory: Path) -> None:
    config = settings(small_graph_directory)
    graph = Graph.open(small_graph_directory)
    session = Session(config, graph, torch.device("cpu"))
    plan = make_plan(config, graph, session.model, session.batches.per_epoch, "here", "fp32")
    assert plan.parameters == 40 * 32 + 6 * 64
    # padded tables, their gradients and accumulators, and the scores of a batch
    values = 128 * 32 + 6 * 64
    assert plan.memory_bytes == 4 * (3 * values + 2 * 32 * 128)
    bf16 = make_plan(config, graph, session.model, session.batches.per_epoch, "here", "bf16")
    assert bf16.memory_bytes == 4 * 2 * values + 2 * values + 2 * values + (2 + 4) * 32 * 128
    assert bf16.line().endswith("here, bf16")
    assert plan.steps_per_epoch == 6


def test_what_a_killed_process_was_writing_is_cleared_away(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run")
    (run.path / "checkpoints" / ".last.safetensors.123.part").write_bytes(b"half")
    train(run, graph)
    assert sorted(file.name for file in (run.path / "checkpoints").iterdir()) == [
        "best.safetensors",
        "last.safetensors",
    ]


def test_every_fact_is_trained_in_both_directions_once_per_epoch(small_graph: Graph) -> None:
    batches = Batches(small_graph, batch_size=32, seed=1, device=torch.device("cpu"))
    order = batches.order(0)
    epoch = torch.cat([batches.batch(order, step) for step in range(batches.per_epoch)])
    expected = torch.from_numpy(small_graph.both_directions(small_graph.train))
    assert sorted(map(tuple, epoch.tolist())) == sorted(map(tuple, expected.tolist()))
    assert not torch.equal(order, batches.order(1))
    assert torch.equal(order, batches.order(0))


def test_two_trainings_of_one_run_at_once_are_refused(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run")
    with run.locked(), pytest.raises(UserError, match="another process"):
        train(Run.open(run.path), graph)


def test_deterministic_mode_trains_to_the_same_weights(small_graph_directory: Path, tmp_path: Path) -> None:
    plain, graph = new_run(small_graph_directory, tmp_path / "plain")
    strict, _ = new_run(small_graph_directory, tmp_path / "strict", settings(small_graph_directory, deterministic=True))
    train(plain, graph)
    train(strict, graph)
    assert not torch.are_deterministic_algorithms_enabled()  # as before: the switch is the caller's
    assert torch.equal(tables(plain)["model/entity"], tables(strict)["model/entity"])


def test_target_weights_follow_the_degree_over_head_and_tail(small_graph: Graph) -> None:
    degrees = [0] * small_graph.num_entities
    for head, _, tail in small_graph.train.tolist():
        degrees[head] += 1
        degrees[tail] += 1
    expected = [0.1 + 0.9 * degree / max(degrees) for degree in degrees]
    assert degree_weights(torch.from_numpy(small_graph.degrees)).tolist() == pytest.approx(expected)


def test_rare_triples_count_more(small_graph: Graph) -> None:
    both = [tuple(one) for one in small_graph.both_directions(small_graph.train).tolist()]
    counts = Counter((head, relation) for head, relation, _ in set(both))
    found = AnswerCounts.of(small_graph, torch.device("cpu")).rarity(torch.tensor(both))
    expected = [
        (counts[head, relation] + counts[tail, small_graph.inverse(relation)] + 6) ** -0.5
        for head, relation, tail in both
    ]
    assert found.tolist() == pytest.approx(expected)


def test_rare_queries_count_more_whatever_their_targets_are(small_graph: Graph) -> None:
    both = [tuple(one) for one in small_graph.both_directions(small_graph.train).tolist()]
    counts = Counter((head, relation) for head, relation, _ in set(both))
    found = AnswerCounts.of(small_graph, torch.device("cpu")).query_rarity(torch.tensor(both))
    assert found.tolist() == pytest.approx([(counts[head, relation] + 3) ** -0.5 for head, relation, _ in both])
    assert len(set(found.tolist())) > 1


def test_cuda_asked_for_where_there_is_none_is_one_sentence(small_graph_directory: Path, tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, device="cuda"))
    with pytest.raises(UserError, match="no CUDA device"):
        train(run, graph)


@pytest.mark.parametrize("negatives", [0, 300])
@pytest.mark.parametrize("name", ["transe", "rotate", "murp", "roth", "refh", "atth", "complex"])
def test_what_autograd_keeps_of_scores_is_in_the_plan(name: str, negatives: int, small_graph: Graph) -> None:
    sampled = {"loss": "softmax", "negatives": negatives, "sampler": "shared"}
    objective = sampled if negatives else {}
    tree = {"dataset": "small", "model": {"name": name, "units": 4}, "objective": objective}
    config = parse_config({**tree, "training": {"engine": "plain", "batch_size": 100}})
    model, graph = build_model(config.model, small_graph, 0), small_graph
    facts = torch.from_numpy(graph.both_directions(graph.train)[:100]).long()
    kept: list[torch.Tensor] = []

    def keep(one: torch.Tensor) -> torch.Tensor:
        kept.append(one)
        return one

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
        Objective.of(config, graph, torch.device("cpu"))(model, facts)
    sizes = {one.data_ptr(): one.nbytes for one in kept}
    assert sum(sizes.values()) < make_plan(config, graph, model, 1, "cpu", "fp32").memory_bytes


def test_curves_are_written_for_tensorboard(small_graph_directory: Path, tmp_path: Path) -> None:
    run, graph = new_run(small_graph_directory, tmp_path / "run", settings(small_graph_directory, tensorboard=True))
    train(run, graph)
    assert list((run.path / "tensorboard").glob("events*"))


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("sampler", ["uniform", "pairs", "shared"])
@pytest.mark.parametrize("name", ["roth", "complex", "rotate"])
def test_a_triple_is_compared_with_the_negatives_of_its_sampler(
    name: str, sampler: str, filtered: bool, small_graph: Graph
) -> None:
    objective = {"negatives": 30, "sampler": sampler, "filtered": filtered}
    tree = {"dataset": "small", "model": {"name": name, "units": 4, "initial_scale": 0.5}, "objective": objective}
    session = Session(parse_config(tree), small_graph, torch.device("cpu"))
    model, facts = session.model, torch.from_numpy(small_graph.both_directions(small_graph.train)).long()
    made, shape = Objective.of(session.config, small_graph, torch.device("cpu")), (len(facts), 30)
    torch.manual_seed(7)
    losses = made.terms(model, facts).losses
    torch.manual_seed(7)
    wrong_tails = torch.randint(model.num_entities, shape[1:] if sampler == "shared" else shape).expand(shape)
    wrong_heads = torch.randint(model.num_entities, shape) if sampler == "pairs" else facts[:, :1].expand(shape)
    triples = torch.stack((wrong_heads, facts[:, 1:2].expand(shape), wrong_tails), dim=-1)
    wrong = model.score(*triples.flatten(0, 1).unbind(1)).view(shape)
    known = set(map(tuple, facts.tolist()))
    fact = torch.tensor([[tuple(one) in known for one in row] for row in triples.tolist()])
    assert fact.any()
    right = model.score(*facts.unbind(1))
    rivals = (wrong.exp() * ~fact if filtered else wrong.exp()).sum(1)
    torch.testing.assert_close(losses, (right.exp() + rivals).log() - right)


def test_a_fact_of_train_is_known_in_both_directions_and_nothing_else_is(small_graph: Graph) -> None:
    facts = KnownFacts.of(small_graph, torch.device("cpu"))
    entities, relations = small_graph.num_entities, small_graph.num_directed_relations
    expected = torch.zeros(entities, relations, entities, dtype=torch.bool)
    heads, kinds, tails = torch.from_numpy(small_graph.both_directions(small_graph.train)).long().unbind(1)
    expected[heads, kinds, tails] = True
    every = torch.meshgrid(*(torch.arange(size) for size in expected.shape), indexing="ij")
    assert torch.equal(facts.hold(*every), expected)


@pytest.mark.parametrize("loss", ["margin", "self_adversarial", "softmax", "logistic"])
def test_a_triple_whose_negatives_are_all_facts_still_has_a_gradient(loss: str) -> None:
    """Every entity answers every query, so nothing is left to compare with."""
    names = Vocabulary.from_names(["a", "b"])
    every = np.array([(h, 0, t) for h in range(2) for t in range(2)], dtype=np.int32)
    graph = Graph(names, Vocabulary.from_names(["r"]), every, every[:0], every[:0], {"name": "full"})
    objective = {"loss": loss, "negatives": 3, "filtered": True}
    name = "complex" if loss == "logistic" else "rotate"  # a distance gives no score above 0
    tree = {"dataset": "full", "model": {"name": name, "units": 4, "initial_scale": 0.5}, "objective": objective}
    config = parse_config({**tree, "penalty": {"weight": 0.0}})
    model = build_model(config.model, graph, 0)
    total = Objective.of(config, graph, torch.device("cpu"))(model, torch.from_numpy(every).long())
    total.backward()
    assert total.isfinite()
    assert all(one.grad is not None and one.grad.isfinite().all() for one in model.parameters())


@pytest.mark.parametrize(
    "model", [{"name": "conve", "entity_dropout": 0.2}, {"name": "compgcn"}], ids=["conve", "compgcn"]
)
def test_two_threads_train_alike_every_time(model: dict[str, Any]) -> None:
    """Of entities that are made anew in every step: a gradient indexed back is added up in the order of the threads."""
    generator, count = np.random.default_rng(0), 3000
    facts = generator.integers(0, (40, 3, count), (6000, 3)).astype(np.int32)
    names = Vocabulary.from_names(f"e{i:05d}" for i in range(count)), Vocabulary.from_names(["a", "b", "c"])
    graph = Graph(*names, np.unique(facts, axis=0), facts[:0], facts[:0], {"name": "random"})
    training = {"batch_size": 1000, "device": "cpu"}
    config = parse_config({"dataset": "small", "model": model, "training": training, "penalty": {"kind": "dura"}})
    threads, found = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        for _ in range(3):
            session = Session(config, graph, torch.device("cpu"))
            session.step()
            session.step()
            found.append(session.model.tables()["entity"].clone())
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
