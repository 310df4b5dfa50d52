"""Lookup, translation, product and penalty of a batch of triples, in one kernel forward and one backward.

For every model whose query is (head + translation) ∘ relation, with ∘ the product of an algebra over the reals whose
basis elements multiply to ± a basis element or 0, as those of the real, complex, (bi)quaternion and dual numbers do:

    (p ∘ q)[j] = Σ_i sign[i, j] · p[i] · q[i xor j]

Its gradients are sums of the same kind. The penalty is the group norm |x|³ = Σ over units of (length of the unit)³.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from bique.kernels.backend import jit, tl
from bique.shapes import Float, Int


@dataclass(frozen=True)
class RowProduct:
    """Where the components of a unit lie in a row, and how they multiply."""

    units: int
    offsets: tuple[int, ...]
    """Of the components of unit 0; there are 1, 2, 4 or 8 of them."""
    stride: int
    """From one unit to the next."""
    translation: bool
    """Whether a relation row is the factor, then a translation of the head."""
    multiply: Callable[[Tensor, Tensor], Tensor]
    """The product of rows that hold one unit each, its components in order."""

    @property
    def width(self) -> int:
        return self.units * len(self.offsets)

    @property
    def relation_width(self) -> int:
        return self.width * (2 if self.translation else 1)

    @cached_property
    def signs(self) -> Float[Tensor, "components components"]:
        """sign[i, j], read off the products of the basis elements: the formula itself stands elsewhere."""
        count = len(self.offsets)
        signs = torch.zeros(count, count)
        for i in range(count):
            for k in range(count):
                one, other = torch.eye(count)[[i]], torch.eye(count)[[k]]
                product = self.multiply(one, other)[0]
                signs[i, i ^ k] = product[i ^ k]
                assert product.abs().sum() == product[i ^ k].abs(), "not an algebra of this kind"
        return signs


@dataclass(frozen=True)
class GroupPenalty:
    """Σ of weight · |part|³ over the parts of a triple."""

    head: float
    tail: float
    factor: float
    translation: float
    translated_head: bool
    """Whether the head counts after its translation."""


class RowProductKernel:
    """The two kernels of one model, with their constants on the device."""

    def __init__(self, product: RowProduct, penalty: GroupPenalty, device: torch.device) -> None:
        self.product, self.penalty = product, penalty
        self.signs = product.signs.to(device)
        self.offsets = torch.tensor(product.offsets, dtype=torch.int32, device=device)
        self.shape = {
            "UNITS": product.units,
            "STRIDE": product.stride,
            "COMPONENTS": len(product.offsets),
            "TRANSLATION": product.translation,
            "BLOCK": min(128, 1 << (product.units - 1).bit_length()),
        }

    def queries(
        self,
        entity: Float[Tensor, "entities width"],
        relation: Float[Tensor, "num_relations relation_width"],
        heads: Int[Tensor, "batch"],
        relations: Int[Tensor, "batch"],
        dtype: torch.dtype,
    ) -> Float[Tensor, "batch width"]:
        queries = torch.empty(len(heads), self.product.width, dtype=dtype, device=entity.device)
        _queries[(len(heads),)](
            entity, relation, heads, relations, self.signs, self.offsets, queries, num_warps=4, **self.shape
        )
        return queries

    def gradients(
        self,
        entity: Float[Tensor, "entities width"],
        relation: Float[Tensor, "num_relations relation_width"],
        heads: Int[Tensor, "batch"],
        relations: Int[Tensor, "batch"],
        tails: Int[Tensor, "batch"],
        query_gradients: Float[Tensor, "batch width"],
        weights: Float[Tensor, "batch"],
    ) -> tuple[Float[Tensor, "twice_batch width"], Float[Tensor, "batch relation_width"], Float[Tensor, "batch"]]:
        """Of the looked-up heads, then tails; of the looked-up relations; and weight · penalty of each triple."""
        assert all(one.is_contiguous() for one in (heads, relations, tails, query_gradients, weights))
        batch, device = len(heads), entity.device
        entity_gradients = torch.empty(2 * batch, self.product.width, device=device)
        relation_gradients = torch.empty(batch, self.product.relation_width, device=device)
        penalties = torch.empty(batch, device=device)
        _gradients[(batch,)](
            entity,
            relation,
            heads,
            relations,
            tails,
            query_gradients,
            weights,
            self.signs,
            self.offsets,
            entity_gradients,
            relation_gradients,
            penalties,
            self.penalty.head,
            self.penalty.tail,
            self.penalty.factor,
            self.penalty.translation,
            TRANSLATED=self.penalty.translated_head,
            num_warps=4,
            **self.shape,
        )
        return entity_gradients, relation_gradients, penalties


@jit
def _queries(
    entity,
    relation,
    heads,
    relations,
    signs,
    offsets,
    queries,
    UNITS: tl.constexpr,
    STRIDE: tl.constexpr,
    COMPONENTS: tl.constexpr,
    TRANSLATION: tl.constexpr,
    BLOCK: tl.constexpr,
):
    WIDTH: tl.constexpr = UNITS * COMPONENTS
    triple = tl.program_id(0)
    head = entity + tl.load(heads + triple).to(tl.int64) * WIDTH
    factor = relation + tl.load(relations + triple).to(tl.int64) * (2 * WIDTH if TRANSLATION else WIDTH)
    query = queries + triple.to(tl.int64) * WIDTH
    component = tl.arange(0, COMPONENTS)
    for start in tl.static_range(0, UNITS, BLOCK):  # pyright: ignore
        unit = start + tl.arange(0, BLOCK)
        inside = unit < UNITS
        mask = inside[:, None] & (component >= 0)[None, :]
        total = tl.zeros([BLOCK, COMPONENTS], tl.float32)
        for i in tl.static_range(COMPONENTS):
            place = tl.load(offsets + i) + unit * STRIDE
            p = tl.load(head + place, mask=inside, other=0.0)
            if TRANSLATION:
                p += tl.load(factor + WIDTH + place, mask=inside, other=0.0)
            across = tl.load(offsets + (component ^ i))[None, :] + unit[:, None] * STRIDE
            q = tl.load(factor + across, mask=mask, other=0.0)
            total += tl.load(signs + i * COMPONENTS + component)[None, :] * p[:, None] * q
        places = tl.load(offsets + component)[None, :] + unit[:, None] * STRIDE
        tl.store(query + places, total.to(queries.dtype.element_ty), mask=mask)


@jit
def _gradients(
    entity,
    relation,
    heads,
    relations,
    tails,
    query_gradients,
    weights,
    signs,
    offsets,
    entity_gradients,
    relation_gradients,
    penalties,
    head_weight,
    tail_weight,
    factor_weight,
    translation_weight,
    UNITS: tl.constexpr,
    STRIDE: tl.constexpr,
    COMPONENTS: tl.constexpr,
    TRANSLATION: tl.constexpr,
    BLOCK: tl.constexpr,
    TRANSLATED: tl.constexpr,
):
    WIDTH: tl.constexpr = UNITS * COMPONENTS
    triple = tl.program_id(0)
    batch = tl.num_programs(0)
    head = entity + tl.load(heads + triple).to(tl.int64) * WIDTH
    tail = entity + tl.load(tails + triple).to(tl.int64) * WIDTH
    relation_width = 2 * WIDTH if TRANSLATION else WIDTH
    factor = relation + tl.load(relations + triple).to(tl.int64) * relation_width
    slope = query_gradients + triple.to(tl.int64) * WIDTH
    to_head = entity_gradients + triple.to(tl.int64) * WIDTH
    to_tail = entity_gradients + (batch + triple).to(tl.int64) * WIDTH
    to_factor = relation_gradients + triple.to(tl.int64) * relation_width
    weight = tl.load(weights + triple)
    component = tl.arange(0, COMPONENTS)
    penalty = tl.zeros([BLOCK], tl.float32)
    for start in tl.static_range(0, UNITS, BLOCK):
        unit = start + tl.arange(0, BLOCK)
        inside = unit < UNITS
        mask = inside[:, None] & (component >= 0)[None, :]
        from_p = tl.zeros([BLOCK, COMPONENTS], tl.float32)
        from_q = tl.zeros([BLOCK, COMPONENTS], tl.float32)
        for i in tl.static_range(COMPONENTS):
            place = tl.load(offsets + i) + unit * STRIDE
            across = tl.load(offsets + (component ^ i))[None, :] + unit[:, None] * STRIDE
            # d/dq[k] = Σ_i sign[i, i xor k] · p[i] · slope[i xor k]
            p = tl.load(head + place, mask=inside, other=0.0)
            if TRANSLATION:
                p += tl.load(factor + WIDTH + place, mask=inside, other=0.0)
            sign = tl.load(signs + i * COMPONENTS + (component ^ i))
            from_q += sign[None, :] * p[:, None] * tl.load(slope + across, mask=mask, other=0.0)
            # d/dp[k] = Σ_j sign[k, j] · q[k xor j] · slope[j], here with j = i
            sign = tl.load(signs + component * COMPONENTS + i)
            q = tl.load(factor + across, mask=mask, other=0.0)
            from_p += sign[None, :] * q * tl.load(slope + place, mask=inside, other=0.0)[:, None]

        places = tl.load(offsets + component)[None, :] + unit[:, None] * STRIDE
        h = tl.load(head + places, mask=mask, other=0.0)
        t = tl.load(tail + places, mask=mask, other=0.0)
        q = tl.load(factor + places, mask=mask, other=0.0)
        moved = h
        if TRANSLATION:
            moved = h + tl.load(factor + WIDTH + places, mask=mask, other=0.0)
        weighed = moved if TRANSLATED else h
        # |x|³ has the gradient 3|x|x
        length = tl.sqrt(tl.sum(weighed * weighed, 1))
        penalty += head_weight * length * length * length
        from_penalty = (3.0 * weight * head_weight) * length[:, None] * weighed
        tl.store(to_head + places, from_p + from_penalty, mask=mask)
        if TRANSLATION:
            to_translation = from_p
            if TRANSLATED:
                to_translation += from_penalty
            if translation_weight != 0.0:
                r = tl.load(factor + WIDTH + places, mask=mask, other=0.0)
                length = tl.sqrt(tl.sum(r * r, 1))
                penalty += translation_weight * length * length * length
                to_translation += (3.0 * weight * translation_weight) * length[:, None] * r
            tl.store(to_factor + WIDTH + places, to_translation, mask=mask)
        length = tl.sqrt(tl.sum(t * t, 1))
        penalty += tail_weight * length * length * length
        tl.store(to_tail + places, (3.0 * weight * tail_weight) * length[:, None] * t, mask=mask)
        length = tl.sqrt(tl.sum(q * q, 1))
        penalty += factor_weight * length * length * length
        tl.store(to_factor + places, from_q + (3.0 * weight * factor_weight) * length[:, None] * q, mask=mask)
    tl.store(penalties + triple, weight * tl.sum(penalty, 0))
