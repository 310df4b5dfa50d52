from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from bique.objectives import (
    binary_cross_entropy,
    cubed_group_norm,
    degree_weights,
    dura,
    embedding_penalty,
    logistic_loss,
    margin_loss,
    self_adversarial_loss,
    shared_softmax,
    softmax_cross_entropy,
    weighted_mean,
)

seeds = st.integers(0, 2**31)


def scores_and_targets(seed: int, batch: int = 6, candidates: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(batch, candidates, generator=generator, dtype=torch.float64) * 4
    return scores, torch.randint(candidates, (batch,), generator=generator)


@given(seeds)
def test_softmax_loss_is_minus_log_probability(seed: int) -> None:
    scores, targets = scores_and_targets(seed)
    terms = [-row.softmax(0)[t].log() for row, t in zip(scores, targets, strict=True)]
    torch.testing.assert_close(softmax_cross_entropy(scores, targets), torch.stack(terms))


@given(seeds)
def test_logistic_loss_is_the_papers_sum(seed: int) -> None:
    scores, targets = scores_and_targets(seed)
    signs = torch.ones_like(scores)
    signs[torch.arange(len(targets)), targets] = -1
    expected = torch.log(1 + torch.exp(signs * scores)).sum(1)
    torch.testing.assert_close(logistic_loss(scores, targets), expected)


@given(seeds, st.floats(0, 0.9))
def test_smoothing_shares_a_part_of_the_label_among_all_candidates(seed: int, smoothing: float) -> None:
    scores, targets = scores_and_targets(seed)
    count = scores.shape[1]
    labels = torch.full_like(scores, smoothing / count)
    labels[torch.arange(len(targets)), targets] += 1 - smoothing
    softmax = -(labels * scores.log_softmax(1)).sum(1)
    torch.testing.assert_close(softmax_cross_entropy(scores, targets, smoothing), softmax)
    binary = functional.binary_cross_entropy_with_logits(scores, labels, reduction="none").sum(1)
    torch.testing.assert_close(logistic_loss(scores, targets, smoothing), binary)


@given(seeds)
def test_the_weighted_mean_divides_by_the_sum_of_weights(seed: int) -> None:
    losses, weights = torch.rand(2, 7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    expected = sum(w * x for w, x in zip(weights, losses, strict=True)) / sum(weights)
    torch.testing.assert_close(weighted_mean(losses, weights), expected)
    torch.testing.assert_close(weighted_mean(losses, torch.full_like(losses, 0.37)), weighted_mean(losses))


def test_logistic_loss_stays_finite_for_huge_scores() -> None:
    scores = torch.tensor([[1e4, -1e4, 1e4]], requires_grad=True)
    loss = logistic_loss(scores, torch.tensor([0])).sum()
    loss.backward()
    assert loss.item() == 1e4
    assert torch.isfinite(scores.grad).all()


def test_degree_weights_run_from_a_tenth_to_one() -> None:
    assert degree_weights(torch.tensor([0, 5, 10])).tolist() == torch.tensor([0.1, 0.55, 1.0]).tolist()
    assert degree_weights(torch.tensor([0, 0])).tolist() == torch.tensor([0.1, 0.1]).tolist()


@given(seeds)
def test_cubed_group_norm_sums_cubes_of_the_eight_real_lengths(seed: int) -> None:
    rows = torch.randn(3, 4, 5, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    expected = [sum(rows[b, :, u].reshape(8).norm() ** 3 for u in range(5)) for b in range(3)]
    torch.testing.assert_close(cubed_group_norm(rows), torch.stack(expected))


def test_the_penalty_of_a_zero_biquaternion_has_gradient_zero_not_nan() -> None:
    rows = torch.zeros(1, 4, 2, 2, dtype=torch.float64)
    rows[0, :, 1] = 1.0
    rows.requires_grad_()
    cubed_group_norm(rows).sum().backward()
    assert rows.grad[0, :, 0].abs().max() == 0
    torch.testing.assert_close(rows.grad[0, :, 1], torch.full((4, 2), 3 * 8**0.5, dtype=torch.float64))
    assert torch.autograd.gradcheck(
        cubed_group_norm, (torch.randn(2, 4, 3, 2, dtype=torch.float64, requires_grad=True),)
    )


def test_group_n3_puts_its_weights_where_it_says() -> None:
    one = torch.zeros(2, 4, 1, 2, dtype=torch.float64)
    one[:, 0, 0, 0] = torch.tensor([1.0, 2.0])
    weights = {"kind": "group_n3", "weight": 0.5, "entity": 3.0, "relation_weight": 0.25}
    penalty = embedding_penalty(one, 2 * one, [one, one], **weights)
    assert penalty.tolist() == [0.5 * (3.0 * (1 + 8) + 0.25 * (1 + 1)), 0.5 * (3.0 * (8 + 64) + 0.25 * (8 + 8))]


@given(seeds, st.sampled_from(["textbook", "published"]))
def test_binary_loss_is_the_mean_cross_entropy_of_smoothed_labels(seed: int, share: str) -> None:
    scores, _ = scores_and_targets(seed)
    labels = (torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed)) < 0.3).double()
    smoothed = 0.9 * labels + (0.1 if share == "textbook" else 1.0) / scores.shape[1]
    expected = functional.binary_cross_entropy_with_logits(scores, smoothed, reduction="none").mean(1)
    torch.testing.assert_close(binary_cross_entropy(scores, labels, 0.1, share), expected)
    plain = functional.binary_cross_entropy_with_logits(scores, labels, reduction="none").mean(1)
    torch.testing.assert_close(binary_cross_entropy(scores, labels, 0.0, share), plain)


def test_a_row_without_labels_has_a_finite_loss_and_gradient() -> None:
    """It fills up a batch, with weight 0: NaN would not be taken away by it."""
    scores = torch.randn(2, 5, generator=torch.Generator().manual_seed(0)).requires_grad_()
    labels = torch.tensor([[0.0, 1, 0, 1, 0], [0, 0, 0, 0, 0]])
    losses = shared_softmax(scores, labels, 0.1)
    (losses * torch.tensor([1.0, 0.0])).sum().backward()
    assert torch.isfinite(losses).all()
    assert torch.isfinite(scores.grad).all()
    assert not scores.grad[1].any()


@given(seeds, st.sampled_from([0.0, 0.1]))
def test_a_shared_softmax_is_the_cross_entropy_with_equal_shares(seed: int, smoothing: float) -> None:
    scores, targets = scores_and_targets(seed)
    labels = (torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed)) < 0.3).double()
    labels[torch.arange(len(labels)), targets] = 1
    found = shared_softmax(scores, labels, smoothing)
    for row, truth, loss in zip(scores.tolist(), labels.tolist(), found.tolist(), strict=True):
        total = math.log(sum(map(math.exp, row)))
        y = [(1 - smoothing) * label / sum(truth) + smoothing / len(row) for label in truth]
        assert loss == pytest.approx(-sum(share * (score - total) for share, score in zip(y, row, strict=True)))
    alone = functional.one_hot(targets, scores.shape[1]).double()
    torch.testing.assert_close(
        shared_softmax(scores, alone, smoothing), softmax_cross_entropy(scores, targets, smoothing)
    )


@given(seeds)
def test_sampled_losses_are_their_formulas(seed: int) -> None:
    scores, _ = scores_and_targets(seed)
    margin, adversarial = margin_loss(scores, 1.5), self_adversarial_loss(scores, 1.5, 0.7)
    for row, found, other in zip(scores.tolist(), margin.tolist(), adversarial.tolist(), strict=True):
        target, negatives = row[0], row[1:]
        hinges = [max(0.0, 1.5 - target + negative) for negative in negatives]
        assert found == pytest.approx(sum(hinges) / len(hinges))
        weights = [math.exp(0.7 * negative) for negative in negatives]
        terms = [
            w / sum(weights) * math.log(1 / (1 + math.exp(1.5 + n))) for w, n in zip(weights, negatives, strict=True)
        ]
        assert other == pytest.approx(-(math.log(1 / (1 + math.exp(-1.5 - target))) + sum(terms)) / 2)


def test_the_weights_of_adversarial_negatives_are_constants() -> None:
    scores = torch.tensor([[1.0, 2.0, -1.0]], dtype=torch.float64, requires_grad=True)
    self_adversarial_loss(scores, 1.0, 1.0).sum().backward()
    weights = torch.tensor([2.0, -1.0], dtype=torch.float64).softmax(0)
    expected = weights * torch.sigmoid(1.0 + torch.tensor([2.0, -1.0], dtype=torch.float64)) / 2
    torch.testing.assert_close(scores.grad[0, 1:], expected)


def test_the_kinds_of_penalty_are_their_sums() -> None:
    head, tail, relation = torch.randn(3, 2, 4, 3, 2, dtype=torch.float64)
    weights = {"weight": 0.5, "entity": 3.0, "relation_weight": 0.25}
    for kind, power in (("n3", 3), ("l2", 2)):
        sizes = [one.abs().pow(power).flatten(1).sum(1) for one in (head, tail, relation)]
        expected = 0.5 * (3.0 * (sizes[0] + sizes[1]) + 0.25 * sizes[2])
        torch.testing.assert_close(embedding_penalty(head, tail, [relation], kind=kind, **weights), expected)
    query, row = torch.randn(2, 5, 7, dtype=torch.float64)
    torch.testing.assert_close(dura(query, row, 0.1), 0.1 * (query.norm(dim=1) ** 2 + row.norm(dim=1) ** 2))
