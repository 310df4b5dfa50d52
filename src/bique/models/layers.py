"""Layers that start from the model's own generator, and what ConvE and its heirs share."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.config.models import ConvolutionSection
from bique.kernels.batch_norm import BatchNorm
from bique.kernels.dropout import dropout
from bique.models.model import Model, Size
from bique.shapes import Float, Int

# queries that norms are measured with at a time
QUERIES = 512
# the bias of a candidate is a column of the entity table, and a row of bf16 likes a multiple of 8
BIAS_WIDTH = 8


def made_linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """Weights uniform in ±1/√inputs from this generator, not from torch's global one.

    Ours have no bias: a norm follows each, and would take it away again.
    """
    layer = cast("nn.Linear", nn.utils.skip_init(nn.Linear, inputs, outputs, bias=False))
    layer.weight.data.uniform_(-1 / math.sqrt(inputs), 1 / math.sqrt(inputs), generator=generator)
    return layer


def made_filters(number: int, height: int, width: int, generator: torch.Generator) -> nn.Parameter:
    bound = 1 / math.sqrt(height * width)
    return nn.Parameter(torch.empty(number, height, width).uniform_(-bound, bound, generator=generator))


def whole_fours(width: int) -> int:
    """Tensor cores multiply rows of whole multiples of four numbers."""
    return width + -width % 4


def convolve(
    pictures: Float[Tensor, "batch pictures height width"], filters: Float[Tensor, "filters up across"]
) -> Float[Tensor, "batch features rows columns"]:
    """Every filter over every picture by itself.

    As a product of patches and filters: the way back of a convolution of one channel was two thirds of a step (LOG.md).
    The features of a place lie together in memory, where a norm of few channels is fastest.
    """
    up, across = filters.shape[1:]
    room = whole_fours(across) - across  # columns of zeros
    weights = functional.pad(filters, (0, room)).flatten(1)
    patches = functional.pad(pictures, (0, room)).unfold(2, up, 1).unfold(3, across + room, 1)
    batch, _, rows, columns = patches.shape[:4]
    features = patches.permute(0, 2, 3, 1, 4, 5).flatten(4) @ weights.mT  # batch, rows, columns, pictures, filters
    return features.view(batch, rows, columns, pictures.shape[1] * len(filters)).permute(0, 3, 1, 2)


class ConvolutionModel(Model):
    """score(h, r, t) = query(h, r)·t + b_t: the bias is a column of the entity table, and the query has a 1 there."""

    filters: nn.Parameter

    def __init__(
        self, config: ConvolutionSection, size: Size, generator: torch.Generator, start: int | None = None
    ) -> None:
        """`start`: the width of the tables, if it is not that of the query."""
        width = config.units if start is None else start
        super().__init__(size, width + BIAS_WIDTH, width, config.initial_scale, generator)
        with torch.no_grad():
            self.entity[:, width:] = 0
            if config.initial_bias == "prior":
                self.entity[: size.num_entities, width] = -math.log(size.num_entities)
        self.units, self.entity_dropout = config.units, config.entity_dropout
        self.encodes_entities = config.entity_dropout > 0
        self.dropout = config.input_dropout, config.feature_dropout, config.hidden_dropout
        self.measures_norms = config.norm_statistics == "measured"

    def encode(self) -> tuple[Float[Tensor, "rows width"], Float[Tensor, "num_relations relation_width"]]:
        """In training single numbers of the entities may be dropped; never their biases."""
        if not (self.training and self.entity_dropout):
            return super().encode()
        rows, biases = self.entity.split((self.units, BIAS_WIDTH), dim=1)
        return torch.cat((dropout(rows, self.entity_dropout, self.training), biases), dim=1), self.relation

    @torch.no_grad()
    def settle(self, heads: Int[Tensor, "queries"], relations: Int[Tensor, "queries"]) -> None:
        """The statistics of every norm anew, as means over batches (Wu and Johnson 2021), without dropout."""
        if not self.measures_norms:
            return
        norms = [module for module in self.modules() if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d))]
        momenta, training = [norm.momentum for norm in norms], self.training
        self.eval()
        parts = -(-len(heads) // QUERIES)
        for part in range(parts):
            for norm in norms:
                norm.train()
                norm.momentum = 1 / (part + 1)
            self.query(heads[part::parts], relations[part::parts])
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        self.train(training)

    def kept_numbers(self, batch: int) -> int:
        """Patches, feature maps before and behind norm and dropout and their gradients, pictures and the query."""
        filters, up, across = self.filters.shape
        maps = self.reader.in_features
        patches = maps // filters * up * whole_fours(across)
        dropped = 2 * len(self.entity) * self.units if self.encodes_entities else 0
        return batch * (5 * maps + patches + 8 * self.units) + dropped

    def read_by(self, features: int, places: int, generator: torch.Generator) -> None:
        """Makes the layers from feature maps to query."""
        self.reader = made_linear(features * places, self.units, generator)
        self.feature_norm = BatchNorm(features, relu=True)
        self.query_norm = nn.BatchNorm1d(self.units)

    def read(self, features: Float[Tensor, "batch features rows columns"]) -> Float[Tensor, "batch query_width"]:
        """f(W·f(features)), with norms and dropout: the query."""
        maps = self.drop_features(self.feature_norm(features).flatten(2))
        query = dropout(self.reader(maps.mT.flatten(1)), self.dropout[2], self.training)
        return self.with_one(functional.relu(self.query_norm(query)))

    def drop_features(self, maps: Float[Tensor, "batch features places"]) -> Float[Tensor, "batch features places"]:
        """Whole maps, in training."""
        return functional.dropout1d(maps, self.dropout[1], self.training)

    def drop(self, pictures: Tensor) -> Tensor:
        """Single values of what is convolved, in training."""
        return dropout(pictures, self.dropout[0], self.training)

    def with_one(self, query: Float[Tensor, "batch units"]) -> Float[Tensor, "batch query_width"]:
        return functional.pad(functional.pad(query, (0, 1), value=1.0), (0, BIAS_WIDTH - 1))

    def as_units(self, rows: Float[Tensor, "batch width"]) -> Float[Tensor, "batch 1 units 1"]:
        """Without the bias."""
        return rows[:, : self.units].reshape(len(rows), 1, -1, 1)
