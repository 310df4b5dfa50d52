"""Biquaternions on tensors: products, norms, matrices, Theorem 4.1 and the normalisations. Needs torch only."""

from bique.algebra.biquaternion import (
    as_biquaternion,
    as_reals,
    basis_like,
    complex_conjugate,
    conjugate,
    dot,
    from_parts,
    hermitian,
    imaginary_part,
    inverse,
    is_null,
    is_unit,
    multiply,
    norm,
    real_part,
    scalar_part,
    squared_norm,
    vector_norm,
    vector_part,
)
from bique.algebra.decomposition import Decomposition, decompose
from bique.algebra.matrices import matrix_to_biquaternion, right_matrix
from bique.algebra.normalise import normalise_unit, normalise_vector
from bique.algebra.polar import Polar, from_polar, polar_form

__all__ = [
    "Decomposition",
    "Polar",
    "as_biquaternion",
    "as_reals",
    "basis_like",
    "complex_conjugate",
    "conjugate",
    "decompose",
    "dot",
    "from_parts",
    "from_polar",
    "hermitian",
    "imaginary_part",
    "inverse",
    "is_null",
    "is_unit",
    "matrix_to_biquaternion",
    "multiply",
    "norm",
    "normalise_unit",
    "normalise_vector",
    "polar_form",
    "real_part",
    "right_matrix",
    "scalar_part",
    "squared_norm",
    "vector_norm",
    "vector_part",
]
