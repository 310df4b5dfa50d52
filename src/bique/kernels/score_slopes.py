"""Scores → loss of each query and slope of the loss in each score: one visit to the score matrix.

With y = hit·[candidate = target] + share and a weight w for every query (hit = 1 and share = 0 without smoothing),

    softmax    loss = w·(log Σ exp(s) - Σ y·s)          slope = w·(softmax(s) - y)
    logistic   loss = w·Σ (log(1 + exp(s)) - y·s)       slope = w·(sigmoid(s) - y)

Without targets only the shared part of y counts: whoever has many targets in a query adds them (`all_candidates`).

Columns from `candidates` on are padding: they take part in no sum and get slope 0.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from bique.kernels.backend import can_use_triton, jit, tl
from bique.shapes import Float, Int

Loss = Literal["softmax", "logistic"]

BLOCK = 4096


class Labels(NamedTuple):
    """What a target's score is multiplied with, and every candidate's."""

    hit: float = 1.0
    share: float = 0.0

    @classmethod
    def smoothed(cls, smoothing: float, candidates: int, published: bool = False) -> Labels:
        """A target's label is 1 - smoothing; every candidate has smoothing/candidates, or 1/candidates as published."""
        share = float(smoothing > 0) if published else smoothing
        return cls(1 - smoothing, share / candidates)


def score_slopes(
    scores: Float[Tensor, "queries columns"],
    targets: Int[Tensor, "queries"] | None,
    weights: Float[Tensor, "queries"],
    candidates: int,
    loss: Loss,
    labels: Labels,
    slopes: Float[Tensor, "queries columns"],
) -> Float[Tensor, "queries"]:
    """The loss of each query; `slopes` is written, and what `scores` then hold is nobody's business."""
    if not can_use_triton(scores.device):
        return score_slopes_plain(scores, targets, weights, candidates, loss, labels, slopes)
    assert all(one is None or one.is_contiguous() for one in (targets, weights)), "the kernel reads them as they lie"
    losses = torch.empty(len(scores), dtype=torch.float32, device=scores.device)
    _score_slopes[(len(scores),)](
        scores,
        weights if targets is None else targets,
        weights,
        losses,
        slopes,
        scores.stride(0),
        slopes.stride(0),
        scores.shape[1],
        candidates,
        labels.hit,
        labels.share,
        LOGISTIC=loss == "logistic",
        TARGETS=targets is not None,
        SHARE=labels.share > 0,
        BLOCK=BLOCK,
        num_warps=16,
    )
    return losses


def score_slopes_plain(
    scores: Float[Tensor, "queries columns"],
    targets: Int[Tensor, "queries"] | None,
    weights: Float[Tensor, "queries"],
    candidates: int,
    loss: Loss,
    labels: Labels,
    slopes: Float[Tensor, "queries columns"],
) -> Float[Tensor, "queries"]:
    """The same in torch alone."""
    exact = scores[:, :candidates]
    wanted = labels.share * exact.sum(1)
    if targets is not None:
        wanted = wanted + labels.hit * exact.gather(1, targets[:, None].long())[:, 0]
    if loss == "softmax":
        total = exact.logsumexp(1)
        exact.sub_(total[:, None]).exp_()
    else:
        total = functional.softplus(exact).sum(1)
        exact.sigmoid_()
    if labels.share:
        exact.sub_(labels.share)
    if targets is not None:
        exact[torch.arange(len(exact), device=exact.device), targets] -= labels.hit
    torch.mul(exact, weights[:, None], out=slopes[:, :candidates])
    slopes[:, candidates:] = 0
    return weights * (total - wanted)


@jit
def _score_slopes(
    scores,
    targets,
    weights,
    losses,
    slopes,
    scores_stride,
    slopes_stride,
    num_columns,
    candidates,
    hit,
    share,
    LOGISTIC: tl.constexpr,
    TARGETS: tl.constexpr,
    SHARE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    query = tl.program_id(0)
    row = scores + query.to(tl.int64) * scores_stride
    out = slopes + query.to(tl.int64) * slopes_stride
    lanes = tl.arange(0, BLOCK)
    weight = tl.load(weights + query)
    wanted = 0.0
    if TARGETS:
        target = tl.load(targets + query)
        wanted = tl.load(row + target).to(tl.float32) * hit

    # every lane keeps its own running maximum and sum; they meet once, at the end
    highest = tl.full([BLOCK], -1e38, tl.float32)
    sums = tl.zeros([BLOCK], tl.float32)
    plain = tl.zeros([BLOCK], tl.float32)
    for start in range(0, candidates, BLOCK):
        inside = start + lanes < candidates
        score = tl.load(row + start + lanes, mask=inside, other=-float("inf")).to(tl.float32)
        if LOGISTIC:
            # log(1 + exp(s)) without overflow; 0 for a masked column
            sums += tl.maximum(score, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(score)))
        else:
            higher = tl.maximum(highest, score)
            sums = sums * tl.exp(highest - higher) + tl.exp(score - higher)
            highest = higher
        if SHARE:
            plain += tl.where(inside, score, 0.0)
    if LOGISTIC:
        total = tl.sum(sums, 0)
    else:
        top = tl.max(highest, 0)
        total = top + tl.log(tl.sum(sums * tl.exp(highest - top), 0))
    if SHARE:
        wanted += share * tl.sum(plain, 0)
    tl.store(losses + query, weight * (total - wanted))

    for start in range(0, num_columns, BLOCK):
        columns = start + lanes
        score = tl.load(row + columns, mask=columns < candidates, other=-float("inf")).to(tl.float32)
        slope = 1.0 / (1.0 + tl.exp(-score)) if LOGISTIC else tl.exp(score - total)
        if SHARE:
            slope -= share
        if TARGETS:
            slope = tl.where(columns == target, slope - hit, slope)
        slope = tl.where(columns < candidates, weight * slope, 0.0)
        tl.store(out + columns, slope.to(slopes.dtype.element_ty), mask=columns < num_columns)
