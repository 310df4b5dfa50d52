"""The matrix M(q) of multiplication by q from the right (equation 4 of the paper)."""

from __future__ import annotations

import torch
from torch import Tensor

from bique.algebra.biquaternion import ROUNDINGS, refuse
from bique.shapes import Inexact


def right_matrix(q: Inexact[Tensor, "*n 4 units"]) -> Inexact[Tensor, "*n units 4 4"]:
    """M(q) with V(pq) = M(q)V(p), where V(p) is the column (w, x, y, z). So M(pq) = M(q)M(p), in reversed order."""
    w, x, y, z = q.unbind(-2)
    rows = (
        (w, -x, -y, -z),
        (x, w, z, -y),
        (y, -z, w, x),
        (z, y, -x, w),
    )
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)


def matrix_to_biquaternion(matrix: Inexact[Tensor, "*n units 4 4"]) -> Inexact[Tensor, "*n 4 units"]:
    """The q with M(q) = matrix, read from the first column. ValueError if the matrix is not of that form.

    Every entry may be a few roundings off (measured against the largest), as it is after a product of matrices.
    """
    q = matrix[..., 0].mT
    error = (right_matrix(q) - matrix).detach().abs().amax((-2, -1))
    allowed = ROUNDINGS * torch.finfo(matrix.dtype).eps * matrix.detach().abs().amax((-2, -1))
    refuse(error > allowed, "matrices are not M(q) of any biquaternion", ValueError)
    return q
