"""What each relation learned: Theorem 4.1 applied to every biquaternion of a trained BiQUE."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from bique.algebra import decompose, dot, multiply, squared_norm, vector_norm
from bique.analysis.patterns import composition_triples
from bique.errors import UserError
from bique.graph import Graph
from bique.models import BiQUE, Model
from bique.shapes import Float

# |‖q‖²| below this share of ‖q‖_v²: the scale is small beside the numbers it is made of
NEAR_NULL = 0.01
# a composition is told when it holds for so many of the paths
OFTEN = 0.1
QUANTITIES = ("angle", "rapidity", "modulus", "phase")


@dataclass(frozen=True)
class RelationGeometry:
    """One number per biquaternion of Q^×, without the null ones, which have no decomposition and are counted."""

    relation: str
    units: int
    null: int
    """Biquaternions without a decomposition (‖q‖ = 0)."""
    near_null: int
    """Biquaternions whose scale is small beside their size; the null ones among them."""
    angle: Float[np.ndarray, "shown"]
    """θ of the circular rotation, in [0, π]."""
    rapidity: Float[np.ndarray, "shown"]
    """φ ≥ 0 of the hyperbolic rotation: it stretches by e^φ one way and by e^−φ another."""
    modulus: Float[np.ndarray, "shown"]
    """|‖q‖|, the scaling."""
    phase: Float[np.ndarray, "shown"]
    """Argument of ‖q‖: the turn of the complex plane."""
    translation: float
    """‖Q⁺‖ beside the mean length of an entity; 0 without translation."""

    # kept: every relation is told beside all others
    @cached_property
    def _medians(self) -> dict[str, float]:
        values: dict[str, Float[np.ndarray, "shown"]] = {name: getattr(self, name) for name in QUANTITIES}
        return {name: float(np.median(one)) if len(one) else float("nan") for name, one in values.items()}

    def median(self, quantity: str) -> float:
        return self._medians[quantity]

    @cached_property
    def lengths(self) -> tuple[float, float]:
        """By how much the stretched and the squeezed half of the directions change, the scaling with it; medians."""
        long, short = (float(np.median(self.modulus * np.exp(sign * self.rapidity))) for sign in (1, -1))
        return long, short

    def as_dict(self) -> dict[str, Any]:
        """Medians, deciles and counts; a quantity that no biquaternion has is None."""
        found: dict[str, Any] = {"relation": self.relation, "units": self.units, "null": self.null}
        found |= {"near_null": self.near_null, "translation": self.translation}
        for name in QUANTITIES:
            values = getattr(self, name)
            parts = np.quantile(values, (0.1, 0.5, 0.9)).tolist() if len(values) else [None] * 3
            found[name] = dict(zip(("low", "median", "high"), parts, strict=True))
        return found


def relation_geometry(model: Model, graph: Graph) -> list[RelationGeometry]:
    """Of every relation, then of every inverse one."""
    if not isinstance(model, BiQUE):
        raise UserError(
            f"geometry is read off biquaternions, and this run is of {type(model).__name__}; train model.name = bique"
        )
    with torch.no_grad():
        product, translation = model.parts(model.relation.double().cpu())
        parts = decompose(product, null="mask")
        near = squared_norm(product).abs() <= NEAR_NULL * vector_norm(product).square()
        entity = float(model.entities.double().norm(dim=1).mean())
    lengths = torch.zeros(len(product)) if translation is None else translation.abs().square().sum((1, 2)).sqrt()
    found: list[RelationGeometry] = []
    for relation, exists in enumerate(parts.exists):
        shown = {name: getattr(parts, name)[relation][exists].numpy() for name in QUANTITIES}
        counts = {"units": model.units, "null": int((~exists).sum()), "near_null": int(near[relation].sum())}
        beside = float(lengths[relation]) / max(entity, 1e-30)
        found.append(RelationGeometry(graph.relation_name(relation), **counts, **shown, translation=beside))
    return found


def product_distance(model: BiQUE, first: int, second: int, third: int) -> float:
    """How far Q₁^×Q₂^× is from a multiple of Q₃^×: the sine of their angle, 0 for the same and 1 for unrelated."""
    with torch.no_grad():
        one, other, both = (model.parts(model.relation[[i]].double().cpu())[0] for i in (first, second, third))
        product = multiply(one, other)
        cosine = dot(product, both) / (dot(product, product) * dot(both, both)).sqrt().clamp(min=1e-300)
    return float((1 - cosine.square()).clamp(min=0).sqrt())


@dataclass(frozen=True)
class Composition:
    """a –first→ b –second→ c where a –relation→ c: a share of the paths, and how far the learned product is from it."""

    relation: str
    first: str
    second: str
    share: float
    paths: int
    """Of how many."""
    product_distance: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def learned_compositions(model: Model, graph: Graph) -> list[Composition]:
    """The compositions that hold often in the facts, the surest first, with what the model makes of them."""
    assert isinstance(model, BiQUE), "a product of relations is one of biquaternions"
    found: list[Composition] = []
    for one in composition_triples(graph):
        if one.share >= OFTEN:
            relation, first, second = (graph.relations[i] for i in (one.third, one.first, one.second))
            away = product_distance(model, one.first, one.second, one.third)
            found.append(Composition(relation, first, second, one.share, one.paths, away))
    return found


def rapidity_range(learned: list[RelationGeometry]) -> int:
    """A round number that nearly all rapidities stay below, for histograms that are compared."""
    values = np.concatenate([np.zeros(1), *(one.rapidity for one in learned)])
    return max(1, int(np.ceil(np.quantile(values, 0.95))))
