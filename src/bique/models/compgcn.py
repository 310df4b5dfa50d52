"""CompGCN (Vashishth et al., ICLR 2020): one layer of message passing, then ConvE."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bique.config.models import CompGCNConfig
from bique.kernels.dropout import dropout
from bique.kernels.precision import products_in
from bique.models.conve import ConvE
from bique.models.model import Size
from bique.models.propagation import Propagation
from bique.shapes import Float


class CompGCN(ConvE):
    """ConvE over x_v = tanh(BN(⅓(Σ_in W_in φ(x_u, z_r) + Σ_out W_out φ(x_u, z_r) + W_self φ(x_v, z₀)))), z_r' = W z_r

    Σ_in is over facts (v, r, u), Σ_out over inverse ones. φ is a difference, a product or a circular correlation; edges
    are weighted by 1/√(deg u · deg v).
    """

    needs_facts = True

    def __init__(self, config: CompGCNConfig, size: Size, generator: torch.Generator) -> None:
        super().__init__(config, size, generator, start=config.start)
        self.start, self.encodes_entities = config.start, True
        nn.init.xavier_normal_(self.relation, generator=generator)
        self.propagation = Propagation(config, size, len(self.entity), generator)
        self._kept: tuple[Tensor, Tensor] | None = None

    def encode(self) -> tuple[Float[Tensor, "rows width"], Float[Tensor, "num_relations relation_width"]]:
        """Made anew for every training step; in evaluation once."""
        if self.training or torch.is_grad_enabled():
            return self._propagate()
        if self._kept is None:
            # whoever asks first, the tables are those of a ranking
            with products_in("fp32", self.device):
                self._kept = self._propagate()
        return self._kept

    def kept_numbers(self, batch: int) -> int:
        """Also the mask of single numbers of the maps, and what propagation makes of every row: three sums of messages,
        their products with dropout, the norm and the gradients of these."""
        made = len(self.entity) * (3 * self.start + 8 * self.units)
        return super().kept_numbers(batch) + batch * self.reader.in_features + made

    def train(self, mode: bool = True) -> CompGCN:
        self._kept = None
        return super().train(mode)

    def load_tables(self, tables: dict[str, Tensor]) -> None:
        self._kept = None
        super().load_tables(tables)

    def _propagate(self) -> tuple[Tensor, Tensor]:
        own, biases = self.entity[:, : self.start], self.entity[:, self.start :]
        rows, relations = self.propagation(own, self.relation)
        rows = dropout(rows, self.entity_dropout, self.training)  # as heads and as candidates alike
        return torch.cat((rows, biases), dim=1), relations

    def arrange(
        self, head: Float[Tensor, "batch units"], relation: Float[Tensor, "batch units"]
    ) -> Float[Tensor, "batch twice_units"]:
        """h and r in turn, number by number, so that every window sees as much of both."""
        return torch.stack((head, relation), dim=2).flatten(1)

    def drop_features(self, maps: Float[Tensor, "batch features places"]) -> Float[Tensor, "batch features places"]:
        """Single numbers of the maps, in training; as they lie in memory."""
        return dropout(maps.mT, self.dropout[1], self.training).mT
