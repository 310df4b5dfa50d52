"""ATTH (Chami et al., ACL 2020): rotations and reflections in the Poincaré ball, weighed by attention."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.algebra.givens import reflect, rotate
from bique.models.hyperbolic import Hyperbolic
from bique.shapes import Float


class AttH(Hyperbolic):
    """score(h, r, t) = −d_c(Att(Rot(θ_r) h, Ref(φ_r) h; a_r) ⊕ r, t)² + b_h + b_t, attention in the tangent space"""

    parts = 3

    def turn(
        self, vector: Float[Tensor, "batch units"], parts: Float[Tensor, "batch parts"]
    ) -> Float[Tensor, "batch units"]:
        angles, mirrors, context = parts.chunk(3, dim=-1)
        both = torch.stack((rotate(vector, angles), reflect(vector, mirrors)), dim=1)
        weights = ((both * context[:, None]).sum(-1, keepdim=True) / self.units**0.5).softmax(1)
        return (weights * both).sum(1)
