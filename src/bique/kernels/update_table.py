"""One pass over a table: gradient in, optimizer state and table out, and the bf16 shadow of the table with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bique.kernels.backend import can_use_triton, jit, tl
from bique.kernels.sum_rows import RowSums
from bique.shapes import Float

BLOCK_ROWS, BLOCK_COLUMNS = 4, 1024


@dataclass(frozen=True)
class Rule:
    """Adagrad: sum += g²; x -= rate·g / (√sum + eps). Adam: torch's, without decay."""

    name: Literal["adagrad", "adam"]
    eps: float
    betas: tuple[float, float] = (0.9, 0.999)


@dataclass(frozen=True)
class State:
    """What an optimizer keeps of a table: Adagrad's sum; Adam's two moments and the number of this step."""

    first: Float[Tensor, "rows width"]
    second: Float[Tensor, "rows width"] | None = None
    step: Float[Tensor, ""] | None = None


@torch.no_grad()
def update_table_(
    table: Float[Tensor, "rows width"],
    state: State,
    rule: Rule,
    rate: Float[Tensor, ""],
    looked_up: RowSums | None,
    gradient: Float[Tensor, "rows width"] | None = None,
    shadow: Float[Tensor, "rows width"] | None = None,
) -> None:
    """The gradient is what the looked-up rows got, a dense one, or their sum. The rate lies on the device, so
    that a captured step can have another one in another epoch."""
    if not can_use_triton(table.device):
        update_table_plain_(table, state, rule, rate, looked_up, gradient, shadow)
        return
    rows, width = table.shape
    read = (table, state.first, state.second, gradient, shadow)
    assert all(one is None or one.is_contiguous() for one in read), "the kernel reads tensors as they lie in memory"
    columns = min(BLOCK_COLUMNS, 1 << (width - 1).bit_length())
    none = table
    _update_table[(-(-rows // BLOCK_ROWS), -(-width // columns))](  # the first dimension of a grid is the long one
        table,
        state.first,
        none if state.second is None else state.second,
        none if state.step is None else state.step,
        none if shadow is None else shadow,
        none if gradient is None else gradient,
        none if looked_up is None else looked_up.sums,
        none if looked_up is None else looked_up.rows,
        none if looked_up is None else looked_up.place,
        0 if looked_up is None else len(looked_up.rows),
        rows,
        width,
        rate,
        rule.eps,
        *rule.betas,
        ADAM=rule.name == "adam",
        GRADIENT=gradient is not None,
        LOOKED_UP=looked_up is not None,
        SHADOW=shadow is not None,
        ROWS=BLOCK_ROWS,
        COLUMNS=columns,
        num_warps=8,
    )


@torch.no_grad()
def update_rows_(
    table: Float[Tensor, "rows width"],
    state: State,
    rule: Rule,
    rate: Float[Tensor, ""],
    gradient: Float[Tensor, "rows width"],
) -> None:
    """Of the rows that a sparse gradient holds: Adagrad leaves every other one as it is, Adam would not."""
    assert rule.name == "adagrad"
    gradient = gradient.coalesce()
    rows, values = gradient.indices()[0], gradient.values()
    taken, sums = table[rows], state.first[rows]
    update_table_plain_(taken, State(sums), rule, rate, None, values, None)
    table[rows], state.first[rows] = taken, sums


def update_table_plain_(
    table: Tensor,
    state: State,
    rule: Rule,
    rate: Tensor,
    looked_up: RowSums | None,
    gradient: Tensor | None,
    shadow: Tensor | None,
) -> None:
    total = torch.zeros_like(table) if gradient is None else gradient.to(table.dtype)
    if looked_up is not None:
        total = total + looked_up.dense()
    if rule.name == "adagrad":
        state.first.addcmul_(total, total)
        table.sub_(rate * total / state.first.sqrt().add_(rule.eps))
    else:
        assert state.second is not None
        assert state.step is not None
        state.first.lerp_(total, 1 - rule.betas[0])
        state.second.mul_(rule.betas[1]).addcmul_(total, total, value=1 - rule.betas[1])
        correction, root = 1 - rule.betas[0] ** state.step, (1 - rule.betas[1] ** state.step).sqrt()
        table.sub_(state.first / (state.second.sqrt() / root + rule.eps) * (rate / correction))
    if shadow is not None:
        shadow.copy_(table)


@jit
def _update_table(
    table,
    state,
    second_state,
    step,
    shadow,
    gradient,
    sums,
    looked_up,
    place,
    num_lookups,
    num_rows,
    width,
    rate_pointer,
    eps,
    beta1,
    beta2,
    ADAM: tl.constexpr,
    GRADIENT: tl.constexpr,
    LOOKED_UP: tl.constexpr,
    SHADOW: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (rows < num_rows)[:, None] & (columns < width)[None, :]
    offsets = rows.to(tl.int64)[:, None] * width + columns[None, :]

    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    if GRADIENT:
        total += tl.load(gradient + offsets, mask=inside, other=0.0).to(tl.float32)
    if LOOKED_UP:
        found = tl.load(place + rows, mask=rows < num_rows, other=0)
        # a former, longer batch may have left a place beyond the end of this one's list
        known = (found < num_lookups) & (rows < num_rows)
        meant = known & (tl.load(looked_up + found, mask=known, other=-1) == rows)
        if tl.max(meant.to(tl.int32), 0) > 0:  # few blocks hold a row that was looked up
            source = found.to(tl.int64)[:, None] * width + columns[None, :]
            total += tl.load(sums + source, mask=inside & meant[:, None], other=0.0)

    rate = tl.load(rate_pointer)
    first = tl.load(state + offsets, mask=inside, other=0.0)
    value = tl.load(table + offsets, mask=inside, other=0.0)
    if ADAM:
        second = tl.load(second_state + offsets, mask=inside, other=0.0)
        count = tl.load(step)
        first = first + (total - first) * (1 - beta1)
        second = second * beta2 + total * total * (1 - beta2)
        correction = 1 - tl.exp(count * tl.log(beta1))
        root = tl.sqrt(1 - tl.exp(count * tl.log(beta2)))
        value -= first / (tl.sqrt(second) / root + eps) * (rate / correction)
        tl.store(second_state + offsets, second, mask=inside)
    else:
        first += total * total
        value -= rate * total / (tl.sqrt(first) + eps)
    tl.store(state + offsets, first, mask=inside)
    tl.store(table + offsets, value, mask=inside)
    if SHADOW:
        tl.store(shadow + offsets, value.to(tl.bfloat16), mask=inside)
