"""Optimizers over whole tables, and their state as named tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.config import OptimizerConfig
from bique.models import Model


def make_optimizer(config: OptimizerConfig, model: Model) -> torch.optim.Optimizer:
    """Adagrad starts its sums at 0; neither has a schedule."""
    if config.name == "adagrad":
        return torch.optim.Adagrad(model.parameters(), lr=config.learning_rate, eps=config.eps)
    betas = config.betas or (0.9, 0.999)
    return torch.optim.Adam(model.parameters(), lr=config.learning_rate, betas=betas, eps=config.eps)


def optimizer_tensors(optimizer: torch.optim.Optimizer, model: Model) -> dict[str, Tensor]:
    """`table/quantity` → tensor, without padding: what a checkpoint keeps."""
    return {
        f"{name}/{quantity}": model.without_padding(name, value) if value.ndim else value
        for name, table in model.named_parameters()
        for quantity, value in optimizer.state[table].items()
    }


@torch.no_grad()
def load_optimizer_tensors(optimizer: torch.optim.Optimizer, model: Model, tensors: dict[str, Tensor]) -> None:
    """Padding rows never get a gradient, so their state is the one a fresh optimizer gives them: zero."""
    for name, table in model.named_parameters():
        state = optimizer.state[table]
        for key, saved in tensors.items():
            owner, quantity = key.rsplit("/", 1)
            if owner != name:
                continue
            if not saved.ndim:
                state[quantity] = saved.clone()
                continue
            full = state.get(quantity)
            state[quantity] = full if full is not None else torch.zeros_like(table)
            model.without_padding(name, state[quantity]).copy_(saved)
