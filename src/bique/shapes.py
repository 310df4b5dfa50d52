"""Shapes in signatures: `Complex[Tensor, "*n 4 units"]`.

jaxtyping is needed to check them (under pytest and by pyright), never to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtyping import Bool, Complex, Float, Inexact, Int, Num
else:
    try:
        from jaxtyping import Bool, Complex, Float, Inexact, Int, Num
    except ImportError:

        class _AnyShape:
            def __class_getitem__(cls, item: object) -> object:
                return Any

        Bool = Complex = Float = Inexact = Int = Num = _AnyShape

__all__ = ["Bool", "Complex", "Float", "Inexact", "Int", "Num"]
