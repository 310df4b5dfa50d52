"""A learned relation in motion: what BiQUE does to a head, one part after the other."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from bique.algebra import as_biquaternion, as_reals, basis_like, decompose, multiply
from bique.errors import UserError
from bique.models import BiQUE, Model
from bique.shapes import Complex, Float

# in the order in which they act on a head: (h + Q⁺)·‖q‖·u·h
PARTS = ("shift (translation)", "scale and phase", "turn (circular rotation)", "stretch (hyperbolic rotation)")


class Motion:
    """The way from a head to its query: each parameter grows from nothing to its learned value, in turn.

    A null biquaternion has no scale and no rotations; in their time it moves straight from 1 to what it is.
    """

    def __init__(self, model: Model, relation: int) -> None:
        if not isinstance(model, BiQUE):
            raise UserError(
                f"the parts of a motion are read off biquaternions, and this run is of {type(model).__name__}; "
                "train model.name = bique"
            )
        with torch.no_grad():
            self._product, self._translation = model.parts(model.relation[[relation]].double().cpu())
        self._decomposition = decompose(self._product, null="mask")
        self.parts = PARTS if self._translation is not None else PARTS[1:]
        self.units = model.units
        self.null = int((~self._decomposition.exists).sum())

    def at(self, time: float, heads: Float[Tensor, "heads width"]) -> Float[Tensor, "heads width"]:
        """Where the heads are at a time from 0 (themselves) to 1 (the queries); every part takes as long."""
        elapsed = time * len(self.parts)
        grown = {part: min(max(elapsed - place, 0.0), 1.0) for place, part in enumerate(self.parts)}
        moved = as_biquaternion(heads)
        if self._translation is not None:
            moved = moved + grown[PARTS[0]] * self._translation
        return as_reals(multiply(moved, self._grown_product(*(grown[part] for part in PARTS[1:]))))

    def part_at(self, time: float) -> int:
        """Which of the parts acts at a time, counted from 0."""
        return max(math.ceil(time * len(self.parts)) - 1, 0)

    def _grown_product(self, scale: float, circular: float, hyperbolic: float) -> Complex[Tensor, "1 4 units"]:
        """‖q‖^a·u(b·θ)·h(c·φ)."""
        whole = self._decomposition
        grown = replace(
            whole,
            modulus=whole.modulus**scale,
            phase=whole.phase * scale,
            angle=whole.angle * circular,
            rapidity=whole.rapidity * hyperbolic,
        ).compose()
        one = basis_like(self._product)[0]
        straight = torch.lerp(one.expand_as(self._product), self._product, (scale + circular + hyperbolic) / 3)
        return torch.where(whole.exists.unsqueeze(-2), grown, straight)
