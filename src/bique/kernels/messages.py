"""Sums of messages along the edges of a graph, without a row per edge in memory, there and on the way back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from bique.kernels.backend import have_kernel, jit, tl
from bique.shapes import Float, Int

Composition = Literal["subtract", "multiply", "correlate"]
"""Of two rows x and z: x − z, x·z, or conj(x)·z over complex numbers, real and imaginary parts in turn."""
Product = Literal["first", "-first", "first - second", "first * second", "conjugate * second", "complex product"]
# what is summed for the messages, for the gradient of x (from slopes s and z) and for that of z (from s and x)
PRODUCTS: dict[Composition, tuple[Product, Product, Product]] = {
    "subtract": ("first - second", "first", "-first"),
    "multiply": ("first * second", "first * second", "first * second"),
    "correlate": ("conjugate * second", "conjugate * second", "complex product"),
}
# edges that one program adds up: a relation may have half of all edges, and is summed in shares
SHARE = 64
# rows that a program reads at once: most places have few edges, a relation may have hundreds of shares
EDGES_AT_ONCE, SHARES_AT_ONCE = 8, 32
BLOCK = 256
# numbers of the products that the plain path holds at once
PLAIN_AT_ONCE = 1 << 20


def compose(composition: Composition, x: Tensor, z: Tensor) -> Tensor:
    """φ(x, z), row by row."""
    return _product(PRODUCTS[composition][0], x, z)


class Messages(nn.Module):
    """Σ w·φ(x[source], z[label]) over the edges to each place.

    A graph stays as it is, so its edges are sorted once: by place for the sums, by source and by label for gradients.
    """

    def __init__(
        self,
        edges: Int[Tensor, "edges 3"],
        weights: Float[Tensor, "edges"],
        *,
        sizes: tuple[int, int, int],
        composition: Composition,
    ) -> None:
        """`edges`: source, label and place; `sizes`: how many there are of each."""
        super().__init__()
        self.sizes, self.composition, self.products = sizes, composition, PRODUCTS[composition]
        source, label, place = edges.unbind(1)
        self.to_places = Route(place, source, label, weights, sizes[2], sizes[1])
        self.to_sources = Route(source, place, label, weights, sizes[0], sizes[1])
        self.to_labels = Route(label, place, source, weights, sizes[1], sizes[0])

    def forward(
        self, x: Float[Tensor, "sources width"], z: Float[Tensor, "labels width"]
    ) -> Float[Tensor, "places width"]:
        assert (len(x), len(z)) == self.sizes[:2], "a row for every source and label"
        assert x.shape[1] == z.shape[1], "rows of one width"
        assert self.composition != "correlate" or x.shape[1] % 2 == 0, "rows of complex numbers"
        return _Sum.apply(x, z, self)  # type: ignore[no-any-return]


class Route(nn.Module):
    """Edges sorted by what they are summed for and by the second of the rows that each multiplies."""

    first: Tensor
    second: Tensor
    weight: Tensor
    starts: Tensor
    into: Tensor
    divided: Tensor
    divided_starts: Tensor
    pair_starts: Tensor
    target_starts: Tensor
    pair_target: Tensor
    pair_second: Tensor

    def __init__(
        self, target: Tensor, first: Tensor, second: Tensor, weights: Tensor, targets: int, seconds: int
    ) -> None:
        """`targets` and `seconds`: how many there are."""
        super().__init__()
        pair, order = (target * seconds + second).sort(stable=True)
        pairs, per_pair = pair.unique_consecutive(return_counts=True)
        edges = torch.bincount(target, minlength=targets)
        shares = torch.ceil(edges / SHARE).long().clamp(min=1)
        divided = shares > 1
        share_of = torch.arange(targets).repeat_interleave(shares)
        which = torch.arange(len(share_of)) - _ends(shares)[share_of]  # first share, second, …
        # a share that is all of a target is its sum; the others wait behind all targets until they are added up
        waits = divided[share_of]
        parts = {
            "first": first[order],
            "second": second[order],
            "starts": torch.cat((_ends(edges)[share_of] + which * SHARE, torch.tensor([len(order)]))),
            "into": torch.where(waits, targets - 1 + waits.cumsum(0), share_of),
            "divided": divided.nonzero()[:, 0],
            "divided_starts": targets + _ends(shares[divided]),
            "pair_starts": _ends(per_pair),
            "target_starts": _ends(torch.bincount(pairs // seconds, minlength=targets)),
            "pair_target": pairs // seconds,
            "pair_second": pairs % seconds,
        }
        for name, part in parts.items():
            self.register_buffer(name, part.int(), persistent=False)
        self.register_buffer("weight", weights[order], persistent=False)
        self.targets, self.rows = targets, targets + int(waits.sum())

    def sums(self, product: Product, a: Tensor, b: Tensor) -> Float[Tensor, "targets width"]:
        """Σ w·product(a[first], b[second]) over the edges of each target."""
        if not have_kernel(a, b):
            return self.sums_plain(product, a, b)
        found = a.new_empty(self.rows, a.shape[1])
        edges = self.first, self.second, self.weight
        _sum_into(found, self.into, product, a.contiguous(), b.contiguous(), self.starts, edges)
        if len(self.divided):
            _sum_into(found, self.divided, "first", found, found, self.divided_starts, None)
        return found[: self.targets]

    def sums_plain(self, product: Product, a: Tensor, b: Tensor) -> Float[Tensor, "targets width"]:
        """As products are linear in their first rows, those that meet the same second row are added up before it."""
        found = a.new_zeros(self.targets, a.shape[1])
        for some in _slices(len(self.pair_target), max(1, PLAIN_AT_ONCE // max(1, a.shape[1]))):
            targets = self.pair_target[some]
            starts = self.pair_starts[some.start : some.start + len(targets) + 1]
            edges = slice(int(starts[0]), int(starts[-1]))
            sums = partial(_sum_runs, starts=starts - starts[0], weights=self.weight[edges].to(a.dtype))
            others = sums(b, self.second[edges]) if product == "first - second" else b[self.pair_second[some]]
            rows = _product(product, sums(a, self.first[edges]), others)
            reached = slice(int(targets[0]), int(targets[-1]) + 1)
            starts = (self.target_starts[reached.start : reached.stop + 1] - some.start).clamp(0, len(rows))
            found[reached] += _sum_runs(rows, torch.arange(len(rows), device=rows.device, dtype=torch.int32), starts)
        return found


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, z: Tensor, messages: Messages) -> Tensor:
        ctx.save_for_backward(x, z)
        ctx.messages = messages
        return messages.to_places.sums(messages.products[0], x, z)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *slopes: Tensor
    ) -> tuple[Tensor, Tensor, None]:
        x, z = ctx.saved_tensors
        messages = ctx.messages
        to_x = messages.to_sources.sums(messages.products[1], slopes[0], z)
        return to_x, messages.to_labels.sums(messages.products[2], slopes[0], x), None


def _sum_runs(
    table: Float[Tensor, "rows width"],
    chosen: Int[Tensor, "edges"],
    starts: Int[Tensor, "runs_and_end"],
    weights: Float[Tensor, "edges"] | None = None,
) -> Float[Tensor, "runs width"]:
    """Of the chosen rows, one sum for each run between two of `starts`."""
    return functional.embedding_bag(
        chosen, table, starts, mode="sum", per_sample_weights=weights, include_last_offset=True
    )


def _ends(counts: Int[Tensor, "runs"]) -> Int[Tensor, "runs_and_end"]:
    """Where runs of so many begin that lie one behind the other, and where the last one ends."""
    return functional.pad(counts.cumsum(0), (1, 0))


def _slices(total: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, total, size))


def _product(product: Product, a: Tensor, b: Tensor) -> Tensor:
    if product == "first - second":
        return a - b
    if product == "first * second":
        return a * b
    if product == "first":
        return a
    if product == "-first":
        return -a
    one, other = (torch.view_as_complex(rows.unflatten(-1, (-1, 2))) for rows in (a, b))
    return torch.view_as_real((one if product == "complex product" else one.conj()) * other).flatten(-2)


def _sum_into(
    found: Float[Tensor, "rows width"],
    into: Int[Tensor, "runs"],
    product: Product,
    a: Tensor,
    b: Tensor,
    starts: Int[Tensor, "runs_and_end"],
    edges: tuple[Tensor, Tensor, Tensor] | None,
) -> None:
    """One sum for each run between two of `starts`, into its row; without edges, of the rows of `a` themselves."""
    width = found.shape[1]
    block = min(BLOCK, 1 << (width - 1).bit_length())
    lists = edges or (starts, starts, a)  # not read without edges
    at_once = SHARES_AT_ONCE if edges is None else EDGES_AT_ONCE
    options = {"PRODUCT": product, "EDGES": edges is not None, "AT_ONCE": at_once, "BLOCK": block}
    # few warps for few numbers, so that more programs wait for memory at a time
    warps = max(1, at_once * block // 1024)
    _sum_products[(len(into), -(-width // block))](a, b, *lists, starts, into, found, width, **options, num_warps=warps)


@jit
def _sum_products(
    a,
    b,
    first,
    second,
    weight,
    starts,
    into,
    found,
    width,
    PRODUCT: tl.constexpr,
    EDGES: tl.constexpr,
    AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    run = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    end = tl.load(starts + run + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(tl.load(starts + run), end, AT_ONCE):
        edge = start + tl.arange(0, AT_ONCE)
        inside = edge < end
        chosen = inside[:, None] & (columns < width)[None, :]
        if EDGES:
            weights = tl.load(weight + edge, mask=inside, other=0.0)[:, None]
            row = tl.load(first + edge, mask=inside, other=0).to(tl.int64)[:, None] * width
            other = tl.load(second + edge, mask=inside, other=0).to(tl.int64)[:, None] * width
        else:
            weights = 1.0
            row = edge.to(tl.int64)[:, None] * width
            other = row
        x = tl.load(a + row + columns[None, :], mask=chosen, other=0.0)
        if PRODUCT == "first":
            product = x
        elif PRODUCT == "-first":
            product = -x
        else:
            z = tl.load(b + other + columns[None, :], mask=chosen, other=0.0)
            if PRODUCT == "first - second":
                product = x - z
            elif PRODUCT == "first * second":
                product = x * z
            else:
                # the other part of the same complex number: of a real part the imaginary one, and the other way round
                beside = (columns ^ 1)[None, :]
                x_beside = tl.load(a + row + beside, mask=chosen, other=0.0)
                z_beside = tl.load(b + other + beside, mask=chosen, other=0.0)
                imaginary = (columns % 2 == 1)[None, :]
                if PRODUCT == "complex product":
                    product = tl.where(imaginary, x_beside * z + x * z_beside, x * z - x_beside * z_beside)
                else:
                    product = tl.where(imaginary, x_beside * z - x * z_beside, x * z + x_beside * z_beside)
        total += tl.sum(weights * product, 0)
    place = tl.load(into + run).to(tl.int64)
    tl.store(found + place * width + columns, total, mask=columns < width)
