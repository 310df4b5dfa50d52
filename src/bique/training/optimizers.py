"""Optimizers over whole tables, and their state as named tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bique.config import OptimizerConfig
from bique.errors import UserError
from bique.models import Model


def make_optimizer(config: OptimizerConfig, model: Model, fused: bool = False) -> torch.optim.Optimizer:
    """Adagrad starts its sums at 0. `fused`: torch's one-pass kernels, where it has them."""
    if config.name == "adagrad":
        fused = fused and model.device.type == "cpu"  # torch has it for the CPU only
        return torch.optim.Adagrad(model.parameters(), lr=config.learning_rate, eps=config.eps, fused=fused or None)
    betas = config.betas or (0.9, 0.999)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=config.learning_rate, betas=betas, eps=config.eps, fused=fused or None
    )
    for table in model.parameters():
        # as torch makes them at the first step; the engine has no first step of torch's
        optimizer.state[table] = {
            "step": torch.zeros((), device=table.device if fused else "cpu"),
            "exp_avg": torch.zeros_like(table),
            "exp_avg_sq": torch.zeros_like(table),
        }
    return optimizer


def rate_in(config: OptimizerConfig, epoch: int, epochs: int) -> float:
    """The learning rate of an epoch, counted from 0."""
    left = 1 - epoch / epochs
    share = {"constant": 1.0, "linear": left, "cosine": (1 + math.cos(math.pi * (1 - left))) / 2}
    return config.learning_rate * share[config.schedule]


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def optimizer_tensors(optimizer: torch.optim.Optimizer, model: Model, steps_done: int) -> dict[str, Tensor]:
    """`table/quantity` → tensor, without padding: what a checkpoint keeps."""
    steps = torch.tensor(float(steps_done))
    return {name: value if value.ndim else steps.clone() for name, value in _state(optimizer, model).items()}


@torch.no_grad()
def load_optimizer_tensors(optimizer: torch.optim.Optimizer, model: Model, tensors: dict[str, Tensor]) -> None:
    """Padding rows never get a gradient, so their state is the one a fresh optimizer gives them: zero."""
    for name, value in _state(optimizer, model).items():
        saved = tensors.get(name)
        if saved is None or saved.shape != value.shape:
            found = "none" if saved is None else tuple(saved.shape)
            raise UserError(
                f"the checkpoint's state of the optimizer is not that of the settings ({name}: {found}, asked for "
                f"{tuple(value.shape)}); was config.toml edited, or was the run made by another version of bique?"
            )
        value.copy_(saved)


def _state(optimizer: torch.optim.Optimizer, model: Model) -> dict[str, Tensor]:
    return {
        f"{name}/{quantity}": model.without_padding(name, value) if value.ndim else value
        for name, table in model.named_parameters()
        for quantity, value in optimizer.state[table].items()
    }
