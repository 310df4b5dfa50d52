"""Layers that start from the model's own generator, and what ConvE and its heirs share."""

from __future__ import annotations

import math
from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.config.models import ConvolutionSection
from bique.models.model import Model, Size
from bique.shapes import Float

Layer = TypeVar("Layer", bound=nn.Module)

# the bias of a candidate is a column of the entity table, and a row of bf16 likes a multiple of 8
BIAS_WIDTH = 8


@torch.no_grad()
def made(kind: type[Layer], *arguments: int, generator: torch.Generator, **options: object) -> Layer:
    """A layer with weights uniform in ±1/√(inputs) from this generator, not from torch's global one.

    Ours have no bias: a norm follows each, and would take it away again.
    """
    layer = cast("Layer", nn.utils.skip_init(kind, *arguments, **options))
    for weight in layer.parameters():
        bound = 1 / math.sqrt(weight[0].numel())
        weight.uniform_(-bound, bound, generator=generator)
    return layer


def made_filters(number: int, kernel: int, generator: torch.Generator) -> nn.Parameter:
    return nn.Parameter(torch.empty(number, kernel, kernel).uniform_(-1 / kernel, 1 / kernel, generator=generator))


def convolve(
    pictures: Float[Tensor, "batch pictures height width"], filters: Float[Tensor, "filters kernel kernel"]
) -> Float[Tensor, "batch features up across"]:
    """Every filter over every picture by itself.

    As a product of filters and patches: the way back of a convolution of one channel takes ten times as long.
    """
    size, room = filters.shape[-1], -filters.shape[-1] % 4
    # columns of zeros: tensor cores multiply rows of whole multiples of four numbers
    filters = functional.pad(filters, (0, room)).flatten(1)
    patches = functional.pad(pictures, (0, room)).unfold(2, size, 1).unfold(3, size + room, 1)
    up, across = patches.shape[2:4]
    patches = patches.permute(0, 1, 4, 5, 2, 3).reshape(-1, filters.shape[1], up * across)
    return torch.bmm(filters.expand(len(patches), -1, -1), patches).view(len(pictures), -1, up, across)


class ConvolutionModel(Model):
    """score(h, r, t) = query(h, r)·t + b_t: the bias is a column of the entity table, and the query has a 1 there."""

    def __init__(
        self, config: ConvolutionSection, size: Size, generator: torch.Generator, start: int | None = None
    ) -> None:
        """`start`: the width of the tables, if it is not that of the query."""
        width = config.units if start is None else start
        super().__init__(size, width + BIAS_WIDTH, width, config.initial_scale, generator)
        with torch.no_grad():
            self.entity[:, width:] = 0
        self.units = config.units
        self.dropout = config.input_dropout, config.feature_dropout, config.hidden_dropout

    def drop(self, values: Tensor, place: int) -> Tensor:
        """Single values of the picture (0) and the query (2), whole feature maps (1); in training only."""
        function = functional.dropout1d if place == 1 else functional.dropout
        return function(values.flatten(2) if place == 1 else values, self.dropout[place], self.training).view_as(values)

    def with_one(self, query: Float[Tensor, "batch units"]) -> Float[Tensor, "batch query_width"]:
        return functional.pad(functional.pad(query, (0, 1), value=1.0), (0, BIAS_WIDTH - 1))

    def as_units(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch 1 units 1"]:
        """Without the bias."""
        return rows[:, : self.units].reshape(len(rows), 1, -1, 1)
