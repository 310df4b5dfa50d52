"""Which library multiplies is the machine's affair; that float32 stays float32 is ours."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch

from bique.kernels import precision
from bique.kernels.precision import layers_in, prefers_onednn, products_in

CPU = torch.device("cpu")
SWITCH = getattr(torch.backends.mkldnn, "matmul", None)
needs_switch = pytest.mark.skipif(SWITCH is None, reason="torch before 2.9 has no switch for oneDNN's products")


@pytest.fixture
def allowed():
    """A caller who lets oneDNN round to bf16."""
    assert SWITCH is not None
    former = SWITCH.fp32_precision
    SWITCH.fp32_precision = "bf16"
    yield SWITCH
    SWITCH.fp32_precision = former


@needs_switch
@pytest.mark.parametrize("shape", [(1, 64, 1), (7, 33, 5), (128, 1024, 1024), (300, 208, 4096), (4096, 300, 208)])
@pytest.mark.parametrize("wanted", ["fp32", "bf16"])
def test_a_cpu_multiplies_float32_as_float32_whatever_the_caller_allowed(shape, wanted, allowed) -> None:
    rows, inner, columns = shape
    generator = torch.Generator().manual_seed(1)
    a, b = torch.rand(rows, inner, generator=generator), torch.rand(inner, columns, generator=generator)
    with products_in(wanted, CPU):
        found = a @ b
    exact = a.double() @ b.double()
    assert float((found - exact).abs().max() / exact.abs().max()) < 1e-5


def test_layers_multiply_bf16_where_a_cpu_is_asked_for_it_and_nowhere_else() -> None:
    rows, weights = torch.rand(3, 4), torch.rand(4, 5)
    for wanted, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        with torch.autocast("cpu", torch.bfloat16), layers_in(wanted, CPU):  # whatever the caller is about
            assert (rows @ weights).dtype == dtype
    with layers_in("bf16", torch.device("cuda")):
        assert (rows @ weights).dtype == torch.float32
    assert (rows @ weights).dtype == torch.float32


@needs_switch
@pytest.mark.parametrize("preferred", [True, False])
def test_the_switch_is_as_the_caller_had_it_afterwards(preferred, allowed, monkeypatch) -> None:
    monkeypatch.setattr(precision, "prefers_onednn", lambda: preferred)
    with suppress(ZeroDivisionError), products_in("fp32", CPU):
        assert allowed.fp32_precision == ("bf16" if preferred else "ieee")
        _ = 1 / 0
    assert allowed.fp32_precision == "bf16"


@needs_switch
def test_a_switch_that_was_never_set_goes_on_following_the_one_above() -> None:
    assert SWITCH is not None
    above = torch.backends.mkldnn
    assert SWITCH.fp32_precision == above.fp32_precision == "none"
    try:
        above.fp32_precision = "ieee"
        with products_in("fp32", CPU), products_in("fp32", CPU):
            pass
        above.fp32_precision = "bf16"
        assert SWITCH.fp32_precision == "bf16"
    finally:
        above.fp32_precision = "none"


def test_what_the_caller_is_about_does_not_change_the_choice() -> None:
    chosen = prefers_onednn.__wrapped__()
    with torch.device("meta"), torch.autocast("cpu", dtype=torch.bfloat16):
        assert prefers_onednn.__wrapped__() == chosen


@needs_switch
def test_a_product_that_was_rounded_shows_it(monkeypatch) -> None:
    monkeypatch.setattr(precision, "made_by_intel", lambda: False)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    rounded = torch.Tensor.__matmul__

    def as_with_tiles(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return rounded(a, b) if a.dtype == torch.float64 else rounded(a.bfloat16().float(), b.bfloat16().float())

    monkeypatch.setattr(torch.Tensor, "__matmul__", as_with_tiles)
    assert not prefers_onednn.__wrapped__()
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda a, b: rounded(a.double(), b.double()))
    assert prefers_onednn.__wrapped__(), "where it is exact"
    monkeypatch.setattr(precision, "made_by_intel", lambda: True)
    assert not prefers_onednn.__wrapped__()  # MKL has its fast kernels there
