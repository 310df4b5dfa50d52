"""One layer of message passing along facts, as CompGCN has it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.config.models import CompGCNConfig
from bique.kernels.dropout import dropout
from bique.kernels.messages import Composition, Messages, compose
from bique.models.model import Size
from bique.shapes import Float

# of long tables the three matrices get their gradient in shares: one product keeps few blocks of a GPU busy (LOG.md)
LONG, SHARES = 4096, 32


class Propagation(nn.Module):
    """From the tables that are learned to those that ConvE sees (the formula: `CompGCN`).

    As W is linear, it acts once on the sums, not on every message.
    """

    def __init__(self, config: CompGCNConfig, size: Size, rows: int, generator: torch.Generator) -> None:
        """`rows`: of the entity table, those that pad it included."""
        super().__init__()
        assert size.facts is not None, "messages pass along facts"
        self.start, self.dropout, self.num_entities = config.start, config.message_dropout, size.num_entities
        self.shares = SHARES if rows >= LONG else 1  # rows are padded to a multiple of it
        self.composition: Composition = config.composition
        edges = torch.as_tensor(size.facts).long()
        half = len(edges) // 2  # the facts, then their inverted ones, whose messages arrive apart
        weights = torch.cat([_edge_weights(part, size.num_entities) for part in (edges[:half], edges[half:])])
        # an entity hears from the tails of its own facts; what inverse ones say arrives behind what the others say
        edges = torch.cat((edges[:half], edges[half:] + torch.tensor([rows, 0, 0]))).flip(1)
        sizes = rows, size.num_relations, 2 * rows
        self.messages = Messages(edges, weights, sizes=sizes, composition=config.composition)
        self.itself = nn.Parameter(torch.empty(1, config.start))
        self.weights = nn.ParameterList([torch.empty(config.start, config.units) for _ in range(4)])
        for weight in (self.itself, *self.weights):
            nn.init.xavier_normal_(weight, generator=generator)
        self.norm = nn.BatchNorm1d(config.units)

    def forward(
        self, rows: Float[Tensor, "rows start"], relations: Float[Tensor, "num_relations start"]
    ) -> tuple[Float[Tensor, "rows units"], Float[Tensor, "num_relations units"]]:
        """The rows that pad the table stay 0, and no statistics see them."""
        into, out, loop, of_relations = self.weights
        x, z, own = (self._spectrum(one) for one in (rows, relations, self.itself))
        heard = self._from_spectrum(torch.cat((self.messages(x, z), compose(self.composition, x, own))))
        heard = heard.unflatten(0, (3, self.shares, -1)) @ torch.stack((into, out, loop)).unsqueeze(1)
        into_out, itself = heard.flatten(1, 2).split((2, 1))
        into_out = dropout(into_out, self.dropout, self.training)
        made = torch.tanh(self.norm(((into_out.sum(0) + itself[0]) / 3)[: self.num_entities]))
        return functional.pad(made, (0, 0, 0, len(rows) - self.num_entities)), relations @ of_relations

    def _spectrum(self, rows: Tensor) -> Tensor:
        """A correlation is a product of spectra, so it is rows that are transformed there and sums back, not edges."""
        if self.composition != "correlate":
            return rows
        return torch.view_as_real(torch.fft.rfft(rows)).flatten(-2)

    def _from_spectrum(self, rows: Tensor) -> Tensor:
        if self.composition != "correlate":
            return rows
        return torch.fft.irfft(torch.view_as_complex(rows.unflatten(-1, (-1, 2))), n=self.start)


def _edge_weights(edges: Tensor, num_entities: int) -> Tensor:
    """1/√(deg u · deg v), the degree as a head for v and as a tail for u."""
    degrees = [torch.bincount(edges[:, place], minlength=num_entities).clamp(min=1) for place in (0, 2)]
    return (degrees[0][edges[:, 0]] * degrees[1][edges[:, 2]]).float().rsqrt()
