"""InteractE (Vashishth et al., AAAI 2020)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from bique.config.models import InteractEConfig
from bique.kernels.batch_norm import BatchNorm
from bique.models.layers import ConvolutionModel, convolve, made_filters
from bique.models.model import Size
from bique.shapes import Float


class InteractE(ConvolutionModel):
    """score(h, r, t) = f(W·f(ω ⋆ φ(h, r)))·t + b_t: chequered pictures of shuffled features, circular convolution.

    The same filters pass over every picture by itself.
    """

    places: Tensor

    def __init__(self, config: InteractEConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(config, size, generator)
        self.side = 2 * config.height, config.units // config.height
        self.kernel, self.permutations = config.kernel, config.permutations
        self.register_buffer("places", chequered(config, generator))
        self.filters = made_filters(config.filters, config.kernel, config.kernel, generator)
        self.read_by(config.filters * config.permutations, self.side[0] * self.side[1], generator)
        self.picture_norm = BatchNorm(config.permutations, affine=False)

    def transform(
        self, head: Float[Tensor, "batch width"], relation: Float[Tensor, "batch relation_width"]
    ) -> Float[Tensor, "batch query_width"]:
        both = torch.cat((head[:, : self.units], relation), dim=1)
        pictures = both.index_select(1, self.places).view(-1, self.permutations, *self.side)
        pictures = self.drop(self.picture_norm(pictures))
        around = functional.pad(pictures, [self.kernel // 2] * 4, mode="circular")
        return self.read(convolve(around, self.filters))


def chequered(config: InteractEConfig, generator: torch.Generator) -> Tensor:
    """For each picture: which feature of (h, r) stands on which square, h on the white ones and r on the black ones."""
    height, width = 2 * config.height, config.units // config.height
    white = (torch.arange(height)[:, None] + torch.arange(width)) % 2 == 0
    pictures = []
    for _ in range(config.permutations):
        picture = torch.empty(height, width, dtype=torch.int64)
        # the rows are even in number, so there are as many white squares as black ones
        order = [torch.randperm(config.units, generator=generator) for _ in range(2)]
        picture[white], picture[~white] = order[0], config.units + order[1]
        pictures.append(picture.flatten())
    return torch.cat(pictures)
