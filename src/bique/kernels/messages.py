"""Sums of messages along the edges of a graph, without a row per edge in memory, there and on the way back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

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
AT_ONCE = 8
BLOCK = 256
# numbers of the products that the plain path holds at once
PLAIN_AT_ONCE = 1 << 22


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
        self.to_places = Route(place, source, label, weights, sizes[2])
        self.to_sources = Route(source, place, label, weights, sizes[0])
        self.to_labels = Route(label, place, source, weights, sizes[1])

    def forward(
        self, x: Float[Tensor, "sources width"], z: Float[Tensor, "labels width"]
    ) -> Float[Tensor, "places width"]:
        assert (len(x), len(z)) == self.sizes[:2], "a row for every source and label"
        assert x.shape[1] == z.shape[1], "rows of one width"
        assert self.composition != "correlate" or x.shape[1] % 2 == 0, "rows of complex numbers"
        return _Sum.apply(x, z, self)  # type: ignore[no-any-return]


class Route(nn.Module):
    """Edges sorted by what they are summed for, and the rows that each multiplies."""

    target: Tensor
    first: Tensor
    second: Tensor
    weight: Tensor
    starts: Tensor
    shares: Tensor

    def __init__(self, target: Tensor, first: Tensor, second: Tensor, weights: Tensor, targets: int) -> None:
        super().__init__()
        target, order = target.sort(stable=True)
        counts = torch.bincount(target, minlength=targets)
        shares = torch.ceil(counts / SHARE).long().clamp(min=1)
        ends = shares.cumsum(0)
        which = torch.arange(int(ends[-1])) - (ends - shares).repeat_interleave(shares)  # first share, second, …
        starts = (counts.cumsum(0) - counts).repeat_interleave(shares) + which * SHARE
        parts = {
            "target": target,
            "first": first[order],
            "second": second[order],
            "starts": torch.cat((starts, torch.tensor([len(order)]))),
            "shares": torch.cat((torch.tensor([0]), ends)),
        }
        for name, part in parts.items():
            self.register_buffer(name, part.int(), persistent=False)
        self.register_buffer("weight", weights[order], persistent=False)
        self.whole = int(shares.max()) == 1
        """Whether none has so many edges that it takes more than one share."""

    def sums(self, product: Product, a: Tensor, b: Tensor) -> Float[Tensor, "targets width"]:
        """Σ w·product(a[first], b[second]) over the edges of each target."""
        if not have_kernel(a, b):
            return self.sums_plain(product, a, b)
        found = _summed(product, a.contiguous(), b.contiguous(), self.starts, (self.first, self.second, self.weight))
        return found if self.whole else _summed("first", found, found, self.shares, None)

    def sums_plain(self, product: Product, a: Tensor, b: Tensor) -> Float[Tensor, "targets width"]:
        found = a.new_zeros(len(self.shares) - 1, a.shape[1])
        for some in _slices(len(self.target), max(1, PLAIN_AT_ONCE // max(1, a.shape[1]))):
            rows = _product(product, a[self.first[some]], b[self.second[some]])
            found.index_add_(0, self.target[some], rows * self.weight[some, None].to(a.dtype))
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


def _summed(
    product: Product, a: Tensor, b: Tensor, starts: Tensor, edges: tuple[Tensor, Tensor, Tensor] | None
) -> Float[Tensor, "runs width"]:
    """One sum for each run between two of `starts`; without edges, of the rows of `a` themselves."""
    runs, width = len(starts) - 1, a.shape[1]
    found = a.new_empty(runs, width)
    block = min(BLOCK, 1 << (width - 1).bit_length())
    lists = edges or (starts, starts, a)  # not read without edges
    options = {"PRODUCT": product, "EDGES": edges is not None, "AT_ONCE": AT_ONCE, "BLOCK": block}
    _sum_products[(runs, -(-width // block))](a, b, *lists, starts, found, width, **options)
    return found


@jit
def _sum_products(
    a,
    b,
    first,
    second,
    weight,
    starts,
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
    tl.store(found + run.to(tl.int64) * width + columns, total, mask=columns < width)
