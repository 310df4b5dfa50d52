from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bique.errors import UserError
from bique.evaluation import Protocol, bootstrap, paired_bootstrap, summarise
from bique.evaluation.evaluate import _bucket_name

PROTOCOL = Protocol("d", "hash", "test", ("train", "valid", "test"), "worst", 0, "1")


def test_figures_of_ranks_by_hand() -> None:
    metrics = summarise(np.array([1.0, 2.0, 10.0, 15.0]), np.array([100] * 4))
    assert metrics.mrr == pytest.approx((1 + 0.5 + 0.1 + 1 / 15) / 4)
    assert (metrics.mr, metrics.hits_at_1, metrics.hits_at_3, metrics.hits_at_10) == (7.0, 0.25, 0.5, 0.75)


@given(st.integers(2, 60))
def test_adjusted_index_is_one_for_perfect_and_zero_for_random_order(candidates: int) -> None:
    every = np.arange(1.0, candidates + 1)
    same = np.full(candidates, candidates)
    assert summarise(every, same).adjusted_mrr_index == pytest.approx(0, abs=1e-12)
    assert summarise(np.ones(candidates), same).adjusted_mrr_index == pytest.approx(1)


def test_a_single_candidate_leaves_nothing_to_adjust() -> None:
    assert summarise(np.ones(3), np.ones(3, dtype=int)).adjusted_mrr_index == 0


def test_bootstrap_covers_the_true_mean_about_19_times_in_20() -> None:
    generator = np.random.default_rng(0)
    samples = [generator.normal(3.0, 1.0, 80) for _ in range(200)]
    intervals = [bootstrap(sample, 300, seed=i) for i, sample in enumerate(samples)]
    covered = sum(low <= 3.0 <= high for low, high in intervals)
    assert 176 <= covered < 200  # 190 expected, standard deviation 3; all 200 would mean that it is too wide
    widths = [high - low for low, high in intervals]
    usual = [2 * 1.96 * sample.std() / 80**0.5 for sample in samples]
    assert np.mean(widths) == pytest.approx(np.mean(usual), rel=0.05)


def test_bootstrap_of_one_seed_repeats_and_of_a_constant_is_the_constant() -> None:
    values = np.random.default_rng(1).random(50)
    assert bootstrap(values, 130) == bootstrap(values, 130)
    assert bootstrap(np.full(9, 0.25), 100) == (0.25, 0.25)


def test_paired_bootstrap_sees_a_small_constant_gain_that_unpaired_intervals_hide() -> None:
    generator = np.random.default_rng(2)
    a = generator.random(400)
    b = a + 0.01 + generator.normal(0, 0.01, 400)
    found = paired_bootstrap(a, b, 2000)
    assert found.difference == pytest.approx((b - a).mean())
    assert found.interval.low > 0
    assert found.p_value < 0.01
    assert bootstrap(a, 500).high > bootstrap(b, 500).low  # unpaired, the two overlap


def test_paired_bootstrap_of_equal_systems_is_undecided() -> None:
    a = np.random.default_rng(3).random(100)
    assert paired_bootstrap(a, a, 500).p_value == 1.0


@pytest.mark.parametrize("differing", [1, 2, 3, 5, 10])
def test_few_triples_cannot_show_a_small_p(differing: int) -> None:
    """A sign test of n triples cannot go below 2/2ⁿ; those on which the two are even say nothing."""
    gain = np.concatenate([np.linspace(0.1, 0.2, differing), np.zeros(7)])
    found = paired_bootstrap(np.zeros(len(gain)), gain, 5000)
    assert found.p_value >= 2 / 2**differing
    assert paired_bootstrap(gain, np.zeros(len(gain)), 5000).p_value == pytest.approx(found.p_value, rel=0.2)


def test_many_triples_may() -> None:
    assert paired_bootstrap(np.zeros(3000), np.full(3000, 0.1), 1000).p_value == pytest.approx(2 / 1001)


def test_protocols_are_alike_but_for_seed_and_version() -> None:
    assert PROTOCOL.differences(replace(PROTOCOL, seed=5, version="2")) == []
    assert PROTOCOL.differences(replace(PROTOCOL, dataset="the same graph in another folder")) == []
    for change in ({"ties": "mean"}, {"graph_hash": "x"}, {"split": "valid"}, {"filtered_by": ("train",)}):
        assert len(PROTOCOL.differences(replace(PROTOCOL, **change))) == 1


def test_a_protocol_comes_back_from_json_and_a_damaged_one_is_refused() -> None:
    assert Protocol.from_json(PROTOCOL.to_json()) == PROTOCOL
    for text in ("", "{}", '{"dataset": 1}', "[]"):
        with pytest.raises(UserError, match="evaluate again"):
            Protocol.from_json(text)


def test_degree_buckets_have_plain_names() -> None:
    assert [_bucket_name(i) for i in range(4)] == ["0", "1", "2-3", "4-7"]
