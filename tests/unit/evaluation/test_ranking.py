from __future__ import annotations

import importlib
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bique.config import BiQUEConfig, EvaluationConfig
from bique.errors import UserError
from bique.evaluation import Blocks, FrequencyBaseline, Ranking, evaluate, rank_queries, score_tiles
from bique.evaluation.metrics import MEANS
from bique.graph import Answers
from bique.models import BiQUE, Size, build_model

QUERIES, CANDIDATES = Blocks.on(torch.device("cpu"))


class Given:
    """Scores straight from a table: relation r of head h has row scores[h]."""

    def __init__(self, scores: torch.Tensor) -> None:
        self.entities, self.device = scores.T.contiguous(), scores.device

    def query(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(heads, self.entities.shape[1]).to(self.entities.dtype)

    def similarity(self, query: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        return query @ candidates.T


def ranks_by_sorting(scores: np.ndarray, queries: np.ndarray, known: np.ndarray) -> list[tuple[int, int, int]]:
    """(better, equal, candidates) the slow way, one query after the other."""
    result = []
    for h, r, t in queries:
        removed = {int(tail) for head, relation, tail in known if (head, relation) == (h, r)} - {int(t)}
        rivals = [scores[h, e] for e in range(scores.shape[1]) if e not in removed and e != t]
        result.append((sum(s > scores[h, t] for s in rivals), sum(s == scores[h, t] for s in rivals), len(rivals) + 1))
    return result


@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 200))
def test_ranking_counts_like_a_plain_loop(seed: int, levels: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.integers(0, levels + 1, (12, 12)).astype(np.float32)  # few levels: many ties
    known = generator.integers(0, (12, 2, 12), (30, 3)).astype(np.int32)
    queries = generator.integers(0, (12, 2, 12), (count, 3)).astype(np.int32)
    ranking = rank_queries(Given(torch.from_numpy(scores)), queries, Answers.from_triples(known, 2))
    found = list(zip(ranking.better, ranking.equal, ranking.candidates, strict=True))
    assert found == ranks_by_sorting(scores, queries, known)


def test_ties_count_against_the_target_half_or_not_at_all() -> None:
    ranking = Ranking(np.array([2]), np.array([3]), np.array([10]))
    assert [ranking.ranks(ties)[0] for ties in ("worst", "mean", "best")] == [6.0, 4.5, 3.0]


@pytest.mark.parametrize("units", [3, 16])
def test_rank_does_not_depend_on_memory_or_tile_size(units: int) -> None:
    entities = 3 * CANDIDATES + 17
    model = BiQUE(BiQUEConfig(units=units, initial_scale=1.0), Size(entities, 4), torch.Generator().manual_seed(0))
    generator = np.random.default_rng(0)
    queries = generator.integers(0, (entities, 4, entities), (2 * QUERIES + 5, 3)).astype(np.int32)
    answers = Answers.from_triples(queries, 4)
    block = QUERIES * CANDIDATES * 4
    found = [rank_queries(model, queries, answers, memory) for memory in (1, block, 2 * block, 3 * block, 1 << 30)]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].better, other.better)
        np.testing.assert_array_equal(found[0].equal, other.equal)


def test_equal_embeddings_tie_wherever_they_stand() -> None:
    """Twins at the two ends of the table, in blocks of different fill, get the same score to the last bit."""
    entities = 2 * CANDIDATES + 3
    model = BiQUE(BiQUEConfig(units=8, initial_scale=1.0), Size(entities, 2), torch.Generator().manual_seed(3))
    twins = [0, 1, CANDIDATES - 1, CANDIDATES, entities - 1]
    with torch.no_grad():
        model.entity[twins] = model.entity[0].clone()
    queries = np.array([(h, 0, t) for h in range(5, 40) for t in twins], dtype=np.int32)
    ranking = rank_queries(model, queries, Answers.from_triples(queries[:0], 2))
    assert set(ranking.equal) == {len(twins) - 1}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_is_an_error_never_rank_one(value: float, small_graph) -> None:
    model = build_model(BiQUEConfig(units=2), small_graph, 0)
    with torch.no_grad():
        model.entity[3, 5] = value
    with pytest.raises(UserError, match="not a finite number"):
        evaluate(model, small_graph, "test")


def test_evaluation_does_not_change_the_known_answers(small_graph) -> None:
    model = build_model(BiQUEConfig(units=2), small_graph, 0)
    before = small_graph.answers.tails.copy()
    first, second = (evaluate(model, small_graph, "test").metrics for _ in range(2))
    assert first == second
    np.testing.assert_array_equal(before, small_graph.answers.tails)


def test_unseen_entities_stay_in_the_evaluation(small_graph) -> None:
    from dataclasses import replace

    model = build_model(BiQUEConfig(units=2), small_graph, 0)
    seen_once = replace(small_graph, train=small_graph.train[:3])
    assert evaluate(model, seen_once, "test").metrics.queries == 2 * len(small_graph.test)


def test_the_baseline_orders_tails_by_how_often_the_relation_has_them(small_graph) -> None:
    baseline = FrequencyBaseline(small_graph)
    relation = torch.tensor([2])
    scores = baseline.similarity(baseline.query(torch.tensor([0]), relation), baseline.entities)[0]
    expected = np.bincount(small_graph.train[small_graph.train[:, 1] == 2][:, 2], minlength=small_graph.num_entities)
    np.testing.assert_array_equal(scores.numpy(), expected)
    inverse = small_graph.inverse(2)
    scores = baseline.similarity(baseline.query(torch.tensor([0]), torch.tensor([inverse])), baseline.entities)[0]
    expected = np.bincount(small_graph.train[small_graph.train[:, 1] == 2][:, 0], minlength=small_graph.num_entities)
    np.testing.assert_array_equal(scores.numpy(), expected)


def test_a_baseline_too_large_to_count_is_refused(small_graph, monkeypatch) -> None:
    assert FrequencyBaseline.fits(small_graph)
    monkeypatch.setattr("bique.evaluation.baseline.LARGEST", 40 * 6 - 1)
    assert not FrequencyBaseline.fits(small_graph)
    with pytest.raises(UserError, match="leave the baseline out"):
        FrequencyBaseline(small_graph)


def test_the_breakdowns_add_up_to_the_whole(small_graph) -> None:
    model = build_model(BiQUEConfig(units=2), small_graph, 0)
    evaluation = evaluate(model, small_graph, "test", EvaluationConfig(ties="mean"))
    for kind, rows in evaluation.breakdown(small_graph).items():
        assert sum(row.queries for row in rows.values()) == evaluation.metrics.queries, kind
        mean = sum(row.mrr * row.queries for row in rows.values()) / evaluation.metrics.queries
        assert mean == pytest.approx(evaluation.metrics.mrr), kind


def test_the_breakdowns_are_those_of_a_plain_loop(small_graph) -> None:
    evaluation = evaluate(build_model(BiQUEConfig(units=2), small_graph, 0), small_graph, "test")
    degrees = Counter(int(entity) for head, _, tail in small_graph.train for entity in (head, tail))
    expected: dict[str, dict[str, list[float]]] = {"direction": {}, "relation": {}, "degree": {}}
    triples = [tuple(map(int, triple)) for triple in small_graph.test]
    for place, rank in enumerate(evaluation.ranks):
        head, relation, tail = triples[place % len(triples)]
        direction, target = ("tail", tail) if place < len(triples) else ("head", head)
        degree = degrees[target]
        low = 1 << degree.bit_length() >> 1
        bucket = str(degree) if degree < 2 else f"{low}-{2 * low - 1}"
        for kind, name in (("direction", direction), ("relation", small_graph.relations[relation]), ("degree", bucket)):
            expected[kind].setdefault(name, []).append(1 / rank)
    found = evaluation.breakdown(small_graph)
    for kind, rows in expected.items():
        assert {name: row.mrr for name, row in found[kind].items()} == pytest.approx(
            {name: np.mean(values) for name, values in rows.items()}
        )


def test_what_a_bootstrap_resamples_has_the_mean_that_is_reported(small_graph) -> None:
    evaluation = evaluate(build_model(BiQUEConfig(units=8), small_graph, 0), small_graph, "train")
    metrics = evaluation.metrics.as_dict()
    assert metrics["hits_at_3"] > 0
    for name in MEANS:
        assert evaluation.per_triple(name).mean() == pytest.approx(metrics[name]), name


def test_the_memory_of_the_settings_is_what_ranking_gets(small_graph, monkeypatch) -> None:
    module = importlib.import_module("bique.evaluation.evaluate")
    given: list[int] = []

    def remember(scorer: object, queries: object, answers: object, memory: int) -> Ranking:
        given.append(memory)
        return rank_queries(scorer, queries, answers, memory)

    monkeypatch.setattr(module, "rank_queries", remember)
    evaluate(FrequencyBaseline(small_graph), small_graph, "test", EvaluationConfig(memory_mb=3))
    assert given == [3 << 20]


def test_more_queries_than_a_block_are_refused_not_cut(small_graph) -> None:
    model = build_model(BiQUEConfig(units=2), small_graph, 0)
    with pytest.raises(AssertionError):
        next(score_tiles(model, torch.zeros(QUERIES + 1, 16), 1 << 20))


def test_an_empty_split_is_one_sentence(small_graph) -> None:
    from dataclasses import replace

    with pytest.raises(UserError, match="is empty"):
        evaluate(FrequencyBaseline(small_graph), replace(small_graph, test=small_graph.test[:0]), "test")
