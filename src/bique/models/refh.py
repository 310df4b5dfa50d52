"""RefH (Chami et al., ACL 2020): reflections in the Poincaré ball."""

from __future__ import annotations

from torch import Tensor

from bique.algebra.givens import reflect
from bique.models.hyperbolic import Hyperbolic
from bique.shapes import Float


class RefH(Hyperbolic):
    """score(h, r, t) = −d_c(Ref(φ_r) h ⊕ r, t)² + b_h + b_t"""

    def turn(
        self, vector: Float[Tensor, "batch units"], parts: Float[Tensor, "batch units"]
    ) -> Float[Tensor, "batch units"]:
        return reflect(vector, parts)
