"""Losses of scores (batch, candidates), one per row: of one target among all candidates or negatives, or of many (1-N).

With y = (1 - smoothing)·[candidate = target] + smoothing/candidates, the smoothed label of each candidate:
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from torch.nn import functional

from bique.shapes import Float, Int


def softmax_cross_entropy(
    scores: Float[Tensor, "batch candidates"], targets: Int[Tensor, "batch"], smoothing: float = 0.0
) -> Float[Tensor, "batch"]:
    """−Σ y · log softmax(scores)."""
    return functional.cross_entropy(scores, targets, reduction="none", label_smoothing=smoothing)


def logistic_loss(
    scores: Float[Tensor, "batch candidates"], targets: Int[Tensor, "batch"], smoothing: float = 0.0
) -> Float[Tensor, "batch"]:
    """Σ log(1 + exp(score)) − y·score: without smoothing the paper's Σ log(1 + exp(±score)), minus for the target.

    The paper sums over the triples too; their mean keeps loss and penalty in the paper's proportion for any batch size.
    """
    target = scores.gather(1, targets[:, None])[:, 0]
    return functional.softplus(scores).sum(1) - (1 - smoothing) * target - smoothing * scores.mean(1)


def binary_cross_entropy(
    scores: Float[Tensor, "batch candidates"],
    labels: Float[Tensor, "batch candidates"],
    smoothing: float = 0.0,
    share: Literal["textbook", "published"] = "textbook",
) -> Float[Tensor, "batch"]:
    """1-N: the mean over all candidates of log(1 + exp(score)) − y·score, with labels 1 for every known tail.

    y = (1 − ε)·label + ε/candidates, or + 1/candidates as it was published.
    """
    base = (smoothing if share == "textbook" else float(smoothing > 0)) / scores.shape[1]
    return functional.softplus(scores).mean(1) - (((1 - smoothing) * labels + base) * scores).mean(1)


def shared_softmax(
    scores: Float[Tensor, "batch candidates"], labels: Float[Tensor, "batch candidates"], smoothing: float = 0.0
) -> Float[Tensor, "batch"]:
    """1-N: −Σ y · log softmax(scores), with labels 1 for every known tail, which share the target's part of y.

    A row without any label, which fills up a batch, must be finite: NaN times its weight of 0 would be NaN.
    """
    shares = labels / labels.sum(1, keepdim=True).clamp(min=1)
    return functional.cross_entropy(scores, shares, reduction="none", label_smoothing=smoothing)


def margin_loss(scores: Float[Tensor, "batch candidates"], margin: float) -> Float[Tensor, "batch"]:
    """The target first, then negatives: the mean of max(0, γ − target + negative)."""
    return functional.relu(margin - scores[:, :1] + scores[:, 1:]).mean(1)


def self_adversarial_loss(
    scores: Float[Tensor, "batch candidates"], margin: float, temperature: float
) -> Float[Tensor, "batch"]:
    """The target first, then negatives: −½ log σ(γ + target) − ½ Σ p log σ(−γ − negative) (Sun et al., 2019).

    p = softmax(α · negatives) counts as a constant.
    """
    target, negatives = scores[:, 0], scores[:, 1:]
    weights = (temperature * negatives.detach()).softmax(1)
    away = (weights * functional.logsigmoid(-margin - negatives)).sum(1)
    return -(functional.logsigmoid(margin + target) + away) / 2


def weighted_mean(losses: Float[Tensor, "batch"], weights: Float[Tensor, "batch"] | None = None) -> Float[Tensor, ""]:
    """Σ w·loss / Σ w; the plain mean without weights."""
    return losses.mean() if weights is None else (weights * losses).sum() / weights.sum()


def degree_weights(degrees: Int[Tensor, "entities"]) -> Float[Tensor, "entities"]:
    """w(e) = 0.1 + 0.9·deg(e)/max deg, the weighting behind the published WN18RR figures (parity)."""
    return 0.1 + 0.9 * degrees / degrees.max().clamp(min=1)
