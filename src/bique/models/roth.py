"""RotH (Chami et al., ACL 2020): rotations in the Poincaré ball."""

from __future__ import annotations

from torch import Tensor

from bique.algebra.givens import rotate
from bique.models.hyperbolic import Hyperbolic
from bique.shapes import Float


class RotH(Hyperbolic):
    """score(h, r, t) = −d_c(Rot(θ_r) h ⊕ r, t)² + b_h + b_t"""

    def turn(
        self, vector: Float[Tensor, "batch units"], parts: Float[Tensor, "batch units"]
    ) -> Float[Tensor, "batch units"]:
        return rotate(vector, parts)
