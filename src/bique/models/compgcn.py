"""CompGCN (Vashishth et al., ICLR 2020): one layer of message passing, then ConvE."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from bique.config.models import CompGCNConfig
from bique.kernels.messages import Composition, Messages, compose
from bique.models.conve import ConvE
from bique.models.model import Size
from bique.shapes import Float


class CompGCN(ConvE):
    """ConvE over x_v = tanh(BN(⅓(Σ_in W_in φ(x_u, z_r) + Σ_out W_out φ(x_u, z_r) + W_self φ(x_v, z₀)))), z_r' = W z_r

    Σ_in is over facts (v, r, u), Σ_out over inverse ones. φ is a difference, a product or a circular correlation; edges
    are weighted by 1/√(deg u · deg v). As W is linear, it acts once on the sums, not on every message.
    """

    needs_facts = True

    def __init__(self, config: CompGCNConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(config, size, generator, start=config.start)
        assert size.facts is not None, "messages pass along facts"
        self.start, self.message_dropout = config.start, config.message_dropout
        self.encodes_entities = True
        self.composition: Composition = config.composition
        edges = torch.as_tensor(size.facts).long()
        half = len(edges) // 2  # the facts, then their inverted ones, whose messages arrive apart
        weights = torch.cat([_edge_weights(part, size.num_entities) for part in (edges[:half], edges[half:])])
        # an entity hears from the tails of its own facts; what inverse ones say arrives behind what the others say
        edges = torch.cat((edges[:half], edges[half:] + torch.tensor([size.num_entities, 0, 0]))).flip(1)
        sizes = size.num_entities, size.num_relations, 2 * size.num_entities
        self.messages = Messages(edges, weights, sizes=sizes, composition=config.composition)
        self.itself = nn.Parameter(torch.empty(1, config.start))
        shape = config.start, config.units
        self.weights = nn.ParameterList([torch.empty(shape) for _ in range(4)])
        with torch.no_grad():
            for weight in (self.relation, self.itself, *self.weights):
                nn.init.xavier_normal_(weight, generator=generator)
        self.node_norm = nn.BatchNorm1d(config.units)
        self._kept: tuple[Tensor, Tensor] | None = None

    def encode(self) -> tuple[Float[Tensor, "rows width"], Float[Tensor, "num_relations relation_width"]]:
        """Made anew for every training step; in evaluation once."""
        if self.training or torch.is_grad_enabled():
            return self._propagate()
        if self._kept is None:
            self._kept = self._propagate()
        return self._kept

    def train(self, mode: bool = True) -> CompGCN:
        self._kept = None
        return super().train(mode)

    def load_tables(self, tables: dict[str, Tensor]) -> None:
        self._kept = None
        super().load_tables(tables)

    def _propagate(self) -> tuple[Tensor, Tensor]:
        rows = self.entity[: self.num_entities, : self.start]
        into, out, loop, of_relations = self.weights
        x, z, own = (self._spectrum(one) for one in (rows, self.relation, self.itself))
        heard = self._from_spectrum(torch.cat((self.messages(x, z), compose(self.composition, x, own))))
        into_out, itself = (heard.unflatten(0, (3, -1)) @ torch.stack((into, out, loop))).split((2, 1))
        into_out = functional.dropout(into_out, self.message_dropout, self.training)
        rows = torch.tanh(self.node_norm((into_out.sum(0) + itself[0]) / 3))
        rows = functional.dropout(rows, self.entity_dropout, self.training)  # as heads and as candidates alike
        rows = functional.pad(rows, (0, 0, 0, len(self.entity) - self.num_entities))
        biases = self.entity[:, self.start :]
        return torch.cat((rows, biases), dim=1), self.relation @ of_relations

    def arrange(
        self, head: Float[Tensor, "batch units"], relation: Float[Tensor, "batch units"]
    ) -> Float[Tensor, "batch twice_units"]:
        """h and r in turn, number by number, so that every window sees as much of both."""
        return torch.stack((head, relation), dim=2).flatten(1)

    def drop_features(self, maps: Float[Tensor, "batch features places"]) -> Float[Tensor, "batch features places"]:
        """Single numbers of the maps, in training; as they lie in memory."""
        return functional.dropout(maps.mT, self.dropout[1], self.training).mT

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
