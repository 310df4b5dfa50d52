"""Objectives: tensors in, one number per triple out, never a model."""

from bique.objectives.losses import (
    binary_cross_entropy,
    degree_weights,
    logistic_loss,
    margin_loss,
    self_adversarial_loss,
    shared_softmax,
    softmax_cross_entropy,
    weighted_mean,
)
from bique.objectives.penalties import cubed_group_norm, dura, embedding_penalty

__all__ = [
    "binary_cross_entropy",
    "cubed_group_norm",
    "degree_weights",
    "dura",
    "embedding_penalty",
    "logistic_loss",
    "margin_loss",
    "self_adversarial_loss",
    "shared_softmax",
    "softmax_cross_entropy",
    "weighted_mean",
]
