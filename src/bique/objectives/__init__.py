"""Objectives: tensors in, one number per triple out, never a model."""

from bique.objectives.losses import degree_weights, logistic_loss, softmax_cross_entropy, weighted_mean
from bique.objectives.penalties import cubed_group_norm, group_n3

__all__ = [
    "cubed_group_norm",
    "degree_weights",
    "group_n3",
    "logistic_loss",
    "softmax_cross_entropy",
    "weighted_mean",
]
