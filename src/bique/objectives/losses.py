"""Losses over all candidates: scores (batch, candidates) and the place of the target in each row; one loss per row.

With y = (1 - smoothing)·[candidate = target] + smoothing/candidates, the smoothed label of each candidate:
"""

from __future__ import annotations

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


def weighted_mean(losses: Float[Tensor, "batch"], weights: Float[Tensor, "batch"] | None = None) -> Float[Tensor, ""]:
    """Σ w·loss / Σ w; the plain mean without weights."""
    return losses.mean() if weights is None else (weights * losses).sum() / weights.sum()


def degree_weights(degrees: Int[Tensor, "entities"]) -> Float[Tensor, "entities"]:
    """w(e) = 0.1 + 0.9·deg(e)/max deg, the weighting behind the published WN18RR figures (parity)."""
    return 0.1 + 0.9 * degrees / degrees.max().clamp(min=1)
