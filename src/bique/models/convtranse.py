"""ConvTransE (Shang et al., AAAI 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.config.models import ConvTransEConfig
from bique.models.layers import ConvolutionModel, convolve, made_filters
from bique.models.model import Size
from bique.shapes import Float


class ConvTransE(ConvolutionModel):
    """score(h, r, t) = f(W·f(ω ∗ (h, r)))·t + b_t: h and r as the two rows of a convolution that keeps their length"""

    def __init__(self, config: ConvTransEConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(config, size, generator)
        self.filters = made_filters(config.channels, 2, config.kernel, generator)
        self.read_by(config.channels, config.units, generator)
        self.picture_norm = nn.BatchNorm1d(2)

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch query_width"]:
        rows = torch.stack((head[:, : self.units], relation), dim=1)
        rows = self.drop(self.picture_norm(rows))
        side = self.filters.shape[-1] // 2
        return self.read(convolve(functional.pad(rows, (side, side))[:, None], self.filters))
