"""Losses over all candidates: scores (batch, candidates) and the place of the target in each row."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from bique.shapes import Float, Int


def softmax_cross_entropy(
    scores: Float[Tensor, "batch candidates"],
    targets: Int[Tensor, "batch"],
    weights: Float[Tensor, "candidates"] | None = None,
) -> Float[Tensor, ""]:
    """−Σ w(t) log softmax(scores)[t] / Σ w(t): the plain mean without weights."""
    return functional.cross_entropy(scores, targets, weight=weights)


def logistic_loss(scores: Float[Tensor, "batch candidates"], targets: Int[Tensor, "batch"]) -> Float[Tensor, ""]:
    """Σ over candidates of log(1 + exp(y·score)), y = −1 for the target and 1 elsewhere; mean over the batch.

    The paper sums over the triples too; the mean keeps loss and penalty in the paper's proportion for any batch size.
    """
    target = scores.gather(1, targets[:, None])
    # softplus(−s) = softplus(s) − s, so only the target's column differs from the rest
    return (functional.softplus(scores).sum(1) - target[:, 0]).mean()


def degree_weights(degrees: Int[Tensor, "entities"]) -> Float[Tensor, "entities"]:
    """w(e) = 0.1 + 0.9·deg(e)/max deg, the weighting behind the published WN18RR figures (parity)."""
    return 0.1 + 0.9 * degrees / degrees.max().clamp(min=1)
