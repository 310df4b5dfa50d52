"""ConvE (Dettmers et al., AAAI 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.config.models import CompGCNConfig, ConvEConfig
from bique.models.layers import ConvolutionModel, convolve, made, made_filters
from bique.models.model import Size
from bique.shapes import Float


class ConvE(ConvolutionModel):
    """score(h, r, t) = f(W·f(ω ∗ [h; r]))·t + b_t: h and r as two pictures, one above the other, convolved"""

    def __init__(
        self, config: ConvEConfig | CompGCNConfig, size: Size, generator: torch.Generator, start: int | None = None
    ) -> None:
        super().__init__(config, size, generator, start)
        self.height, self.width = config.height, config.units // config.height
        self.filters = made_filters(config.filters, config.kernel, generator)
        side = 2 * self.height - config.kernel + 1, self.width - config.kernel + 1
        self.hidden = made(nn.Linear, config.filters * side[0] * side[1], config.units, bias=False, generator=generator)
        self.picture_norm = nn.BatchNorm2d(1, affine=False)  # the next norm would take scale and shift away
        self.feature_norm = nn.BatchNorm2d(config.filters)
        self.query_norm = nn.BatchNorm1d(config.units)

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch query_width"]:
        pictures = [rows[:, : self.units].view(-1, 1, self.height, self.width) for rows in (head, relation)]
        picture = self.drop(self.picture_norm(torch.cat(pictures, dim=2)), 0)
        features = self.drop(functional.relu(self.feature_norm(convolve(picture, self.filters))), 1)
        query = self.drop(self.hidden(features.flatten(1)), 2)
        return self.with_one(functional.relu(self.query_norm(query)))
