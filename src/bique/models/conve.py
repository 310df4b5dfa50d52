"""ConvE (Dettmers et al., AAAI 2018)."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.config.models import CompGCNConfig, ConvEConfig
from bique.kernels.batch_norm import BatchNorm
from bique.models.layers import ConvolutionModel, convolve, made_filters
from bique.models.model import Size
from bique.shapes import Float


class ConvE(ConvolutionModel):
    """score(h, r, t) = f(W·f(ω ∗ [h; r]))·t + b_t: h and r as two pictures, one above the other, convolved"""

    def __init__(
        self, config: ConvEConfig | CompGCNConfig, size: Size, generator: torch.Generator, start: int | None = None
    ) -> None:
        super().__init__(config, size, generator, start)
        self.height, self.width = config.height, config.units // config.height
        self.filters = made_filters(config.filters, config.kernel, config.kernel, generator)
        places = (2 * self.height - config.kernel + 1) * (self.width - config.kernel + 1)
        self.read_by(config.filters, places, generator)
        self.picture_norm = BatchNorm(1, affine=False)  # the next norm would take scale and shift away

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch query_width"]:
        numbers = self.arrange(head[:, : self.units], relation)
        picture = self.drop(self.picture_norm(numbers.view(-1, 1, 2 * self.height, self.width)))
        return self.read(convolve(picture, self.filters))

    def arrange(
        self, head: Float[Tensor, "batch units"], relation: Float[Tensor, "batch units"]
    ) -> Float[Tensor, "batch twice_units"]:
        """The picture, row after row: h above r."""
        return torch.cat((head, relation), dim=1)
