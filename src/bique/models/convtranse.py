"""ConvTransE (Shang et al., AAAI 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.config.models import ConvTransEConfig
from bique.models.layers import ConvolutionModel, made
from bique.models.model import Size
from bique.shapes import Float


class ConvTransE(ConvolutionModel):
    """score(h, r, t) = f(W·f(ω ∗ (h, r)))·t + b_t: h and r as the two rows of a convolution that keeps their length"""

    def __init__(self, config: ConvTransEConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(config, size, generator)
        padding = config.kernel // 2
        self.convolution = made(
            nn.Conv1d, 2, config.channels, config.kernel, padding=padding, bias=False, generator=generator
        )
        self.hidden = made(nn.Linear, config.channels * config.units, config.units, bias=False, generator=generator)
        self.picture_norm = nn.BatchNorm1d(2)
        self.feature_norm = nn.BatchNorm1d(config.channels)
        self.query_norm = nn.BatchNorm1d(config.units)

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch query_width"]:
        rows = self.drop(self.picture_norm(torch.stack((head[:, : self.units], relation), dim=1)), 0)
        features = self.drop(functional.relu(self.feature_norm(self.convolution(rows))), 1)
        query = self.drop(self.hidden(features.flatten(1)), 2)
        return self.with_one(functional.relu(self.query_norm(query)))
