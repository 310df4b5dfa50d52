"""Every kernel against its plain path, and the plain paths against autograd in float64."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from bique.algebra import as_biquaternion, as_reals, multiply
from bique.config import BiQUEConfig
from bique.kernels.all_candidates import Positives, all_candidates
from bique.kernels.backend import can_use_triton
from bique.kernels.complex_distances import (
    complex_distances,
    complex_distances_plain,
    directions,
    trained_distances,
)
from bique.kernels.messages import Composition, Messages, Route, compose
from bique.kernels.row_product import GroupPenalty, RowProduct, RowProductKernel
from bique.kernels.score_slopes import Labels, score_slopes, score_slopes_plain
from bique.kernels.sum_rows import sort_lookups, sum_rows, sum_rows_plain
from bique.kernels.tally import tally_
from bique.kernels.update_table import Rule, State, update_table_, update_table_plain_
from bique.models import BiQUE, Size
from bique.objectives import (
    binary_cross_entropy,
    cubed_group_norm,
    logistic_loss,
    shared_softmax,
    softmax_cross_entropy,
)

LOSSES = [(loss, smoothing) for loss in ("softmax", "logistic") for smoothing in (0.0, 0.2)]


def drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale


def ids(high: int, count: int, seed: int = 0) -> Tensor:
    return torch.randint(high, (count,), generator=torch.Generator().manual_seed(seed))


def by_autograd(
    queries: Tensor, table: Tensor, targets: Tensor, weights: Tensor, loss: str, smoothing: float
) -> tuple[Tensor, ...]:
    """Loss of each query, and the gradients of their sum."""
    queries, table = queries.clone().requires_grad_(), table.clone().requires_grad_()
    function = softmax_cross_entropy if loss == "softmax" else logistic_loss
    losses = weights * function(queries @ table.T, targets, smoothing)
    return (losses.detach(), *torch.autograd.grad(losses.sum(), (queries, table)))


@pytest.mark.parametrize(("loss", "smoothing"), LOSSES)
@pytest.mark.parametrize("memory", [1, 3 * 128 * 8, 1 << 30], ids=["one query", "three", "all at once"])
def test_all_candidates_has_autograds_loss_and_gradients(loss: str, smoothing: float, memory: int) -> None:
    """100 candidates in a table of 128 rows: the padding must take part in nothing, whatever it holds."""
    queries, table, targets = drawn(7, 16), drawn(128, 16, seed=1), ids(100, 7)
    weights = torch.rand(7, dtype=torch.float64)
    found = all_candidates(
        queries,
        table,
        targets,
        weights,
        candidates=100,
        loss=loss,
        labels=Labels.smoothed(smoothing, 100),
        memory=memory,
    )
    losses, to_queries, to_table = by_autograd(queries, table[:100], targets, weights, loss, smoothing)
    torch.testing.assert_close(found.losses, losses)
    torch.testing.assert_close(found.queries, to_queries)
    torch.testing.assert_close(found.table[:100], to_table)
    assert found.table[100:].abs().max() == 0


@pytest.mark.parametrize("memory", [1, 3 * 128 * 8, 1 << 30], ids=["one query", "three", "all at once"])
@pytest.mark.parametrize("published", [True, False])
def test_many_targets_in_a_query_have_the_binary_loss(memory: int, published: bool) -> None:
    """Some queries have no target, and two pairs only fill up: they repeat others."""
    queries, table = drawn(7, 16).requires_grad_(), drawn(128, 16, seed=1).requires_grad_()
    rows, columns = torch.tensor([0, 0, 2, 6, 6, 6, 0, 6]), torch.tensor([5, 99, 5, 0, 1, 2, 99, 1])
    valid = torch.tensor([1.0] * 6 + [0.0] * 2, dtype=torch.float64)
    weights = torch.rand(7, dtype=torch.float64)
    truth = torch.zeros(7, 100, dtype=torch.float64)
    truth[rows[:6], columns[:6]] = 1
    share = "published" if published else "textbook"
    expected = weights * binary_cross_entropy(queries @ table[:100].T, truth, 0.1, share)
    gradients = torch.autograd.grad(expected.sum(), (queries, table))
    found = all_candidates(
        queries.detach(),
        table.detach(),
        Positives(rows, columns, valid),
        weights / 100,
        candidates=100,
        loss="logistic",
        labels=Labels.smoothed(0.1, 100, published),
        memory=memory,
    )
    torch.testing.assert_close(found.losses, expected.detach())
    torch.testing.assert_close(found.queries, gradients[0])
    torch.testing.assert_close(found.table, gradients[1])


@pytest.mark.parametrize("memory", [1, 3 * 128 * 8, 1 << 30], ids=["one query", "three", "all at once"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_many_targets_in_a_query_share_a_softmax(memory: int, smoothing: float) -> None:
    queries, table = drawn(4, 16).requires_grad_(), drawn(128, 16, seed=1).requires_grad_()
    rows, columns = torch.tensor([0, 0, 1, 2, 3, 3, 3, 0, 3]), torch.tensor([5, 99, 5, 7, 0, 1, 2, 99, 1])
    valid = torch.tensor([1.0] * 7 + [0.0] * 2, dtype=torch.float64)  # the last two only fill up
    weights = torch.rand(4, dtype=torch.float64)
    truth = torch.zeros(4, 100, dtype=torch.float64)
    truth[rows, columns] = 1
    expected = weights * shared_softmax(queries @ table[:100].T, truth, smoothing)
    gradients = torch.autograd.grad(expected.sum(), (queries, table))
    given = queries.detach(), table.detach(), Positives(rows, columns, valid), weights
    found = all_candidates(*given, candidates=100, labels=Labels.smoothed(smoothing, 100), memory=memory)
    torch.testing.assert_close(found.losses, expected.detach())
    torch.testing.assert_close(found.queries, gradients[0])
    torch.testing.assert_close(found.table, gradients[1])


@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_rounded_slopes_change_no_loss_and_little_of_the_gradients(memory: int) -> None:
    generator = torch.Generator().manual_seed(0)
    queries, table = torch.randn(9, 8, generator=generator), torch.randn(128, 8, generator=generator)
    given = queries, table, torch.arange(9), torch.full((9,), 1 / 9)
    exact = all_candidates(*given, candidates=100, memory=memory)
    rounded = all_candidates(*given, candidates=100, slopes_in=torch.bfloat16, memory=memory)
    assert torch.equal(rounded.losses, exact.losses)
    for mine, theirs in ((rounded.queries, exact.queries), (rounded.table, exact.table)):
        assert not torch.equal(mine.float(), theirs)
        torch.testing.assert_close(mine.float(), theirs, rtol=0.02, atol=2e-4)
    assert rounded.queries.dtype == torch.float32


def test_the_slope_of_a_sure_target_survives_bf16() -> None:
    """1 − σ(8) is smaller than the rounding of σ(8): it must be computed before it is rounded."""
    queries, table = torch.full((2, 8), 1.0).bfloat16(), torch.zeros(128, 8).bfloat16()
    table[3] = 1.0
    targets = Positives(torch.tensor([0, 1]), torch.tensor([3, 3]), torch.ones(2))
    found = all_candidates(queries, table, targets, torch.ones(2), candidates=100, loss="logistic")
    assert found.slopes is not None
    assert found.slopes[0, 3].item() == pytest.approx(torch.sigmoid(torch.tensor(8.0)).item() - 1, rel=0.01)


@pytest.mark.parametrize(("loss", "smoothing"), LOSSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_score_slopes_are_those_of_the_plain_path(
    kernel_device: torch.device, loss: str, smoothing: float, dtype: torch.dtype
) -> None:
    """More columns than one block, an odd number of candidates, a row of weight 0, and scores that would overflow."""
    if dtype == torch.bfloat16 and kernel_device.type == "cpu":
        pytest.skip("the interpreter has no bfloat16")
    scores = drawn(4, 8192 + 128, scale=5.0).float().to(kernel_device)
    scores[2, :9] = 300.0
    targets = ids(8200, 4).to(kernel_device)
    weights = torch.tensor([0.3, 0.0, 0.7, 1.0], device=kernel_device)
    exact, slopes = torch.full_like(scores, 7.0, dtype=torch.float64), torch.full_like(scores, 7.0, dtype=dtype)
    arguments = 8201, loss, Labels.smoothed(smoothing, 8201)
    theirs = score_slopes_plain(scores.double(), targets, weights.double(), *arguments, exact)
    mine = score_slopes(scores, targets, weights, *arguments, slopes)
    torch.testing.assert_close(mine.double(), theirs, rtol=1e-5, atol=1e-5)
    tolerance = {"rtol": 1e-4, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 1e-2, "atol": 1e-4}
    torch.testing.assert_close(slopes.double(), exact, **tolerance)
    assert slopes[:, 8201:].abs().max() == 0
    assert slopes[1].abs().max() == 0


@pytest.mark.parametrize("width", [24, 600])
def test_rows_are_summed_like_a_plain_loop_and_old_places_do_no_harm(kernel_device: torch.device, width: int) -> None:
    place = torch.zeros(40, dtype=torch.int32, device=kernel_device)
    for seed in range(4):  # the same `place` for several steps, as in training
        count = 50 if seed % 2 == 0 else 7  # a short batch after a long one
        rows = ids(12 if seed % 2 else 40, count, seed).to(kernel_device)
        gradients = drawn(count, width, seed=seed).float().to(kernel_device)
        expected = torch.zeros(40, width, device=kernel_device)
        for row, gradient in zip(rows.tolist(), gradients, strict=True):
            expected[row] += gradient
        for function in (sum_rows, sum_rows_plain):
            found = function(gradients, sort_lookups(rows), place).dense()
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_lookups_of_many_batches_are_sorted_each_for_itself() -> None:
    rows = ids(9, 60).view(3, 20)
    many = sort_lookups(rows)
    for number in range(3):
        one = sort_lookups(rows[number])
        assert all(torch.equal(mine[number], theirs) for mine, theirs in zip(many, one, strict=True))


@pytest.mark.parametrize("name", ["adagrad", "adam"])
@pytest.mark.parametrize("dense", [True, False])
def test_three_updates_are_torchs_own(kernel_device: torch.device, name: str, dense: bool) -> None:
    table = torch.nn.Parameter(drawn(130, 24).float().to(kernel_device))
    kinds = {"adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}
    reference = kinds[name]([table], lr=0.05, eps=1e-8)
    mine, plain = table.detach().clone(), table.detach().clone()
    rule, rate = Rule(name, 1e-8), torch.tensor(0.05, device=kernel_device)
    step = torch.zeros((), device=kernel_device)
    states = [State(torch.zeros_like(mine), torch.zeros_like(mine), step) for _ in range(2)]
    shadows = [torch.zeros_like(mine, dtype=torch.bfloat16) for _ in range(2)]
    place = torch.zeros(130, dtype=torch.int32, device=kernel_device)
    for seed in range(3):
        count = 20 if seed != 1 else 3  # a short batch after a long one
        rows = ids(130, count, seed).to(kernel_device)
        sums = sum_rows(drawn(count, 24, seed=seed).float().to(kernel_device), sort_lookups(rows), place)
        gradient = drawn(130, 24, seed=seed + 10).float().to(kernel_device) if dense else None
        table.grad = sums.dense() if gradient is None else sums.dense() + gradient
        reference.step()
        step += 1
        update_table_(mine, states[0], rule, rate, sums, gradient, shadows[0])
        update_table_plain_(plain, states[1], rule, rate, sums, gradient, shadows[1])
    for found, shadow in ((mine, shadows[0]), (plain, shadows[1])):
        # Adam's corrections go through exp and log of float32 in the kernel; a step is .05
        torch.testing.assert_close(found, table.detach(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(shadow.float(), found, rtol=1e-2, atol=1e-3)


PENALTIES = [
    GroupPenalty(head, 1.5, 0.5, translation, translated)
    for head, translation, translated in ((2.0, 0.0, True), (2.0, 0.3, False), (0.0, 0.3, True))
]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("units", "translation"), [(5, True), (130, True), (8, False)])
def test_queries_and_their_gradients_are_the_models_own(
    kernel_device: torch.device, penalty: GroupPenalty, units: int, translation: bool
) -> None:
    generator = torch.Generator().manual_seed(0)
    model = BiQUE(BiQUEConfig(units=units, translation=translation, initial_scale=1.0), Size(20, 6), generator).to(
        kernel_device
    )
    product, width = model.row_product, 8 * units
    assert product is not None
    heads, relations, tails = (ids(high, 7, seed).to(kernel_device) for seed, high in enumerate((20, 6, 20)))
    slopes, weights = drawn(7, width).float().to(kernel_device), torch.rand(7, device=kernel_device)
    kernel = RowProductKernel(product, penalty, kernel_device)

    rows = model.entity.detach()[torch.cat((heads, tails))].requires_grad_()
    relation = model.relation.detach()[relations].requires_grad_()
    queries = model.transform(rows[:7], relation)
    factors = model.factors(rows[:7], relation, rows[7:])
    penalties = penalty.tail * cubed_group_norm(factors.tail) + penalty.factor * cubed_group_norm(factors.relation[0])
    head = factors.translated_head if penalty.translated_head else factors.head
    penalties = penalties + penalty.head * cubed_group_norm(head)
    for part in factors.relation[1:]:
        penalties = penalties + penalty.translation * cubed_group_norm(part)
    expected = torch.autograd.grad((queries, penalties), (rows, relation), (slopes, weights))

    found = kernel.queries(model.entity, model.relation, heads, relations, torch.float32)
    torch.testing.assert_close(found, queries.detach(), rtol=1e-4, atol=1e-4)
    entities, of_relations, weighed = kernel.gradients(
        model.entity, model.relation, heads, relations, tails, slopes, weights
    )
    torch.testing.assert_close(entities, expected[0], rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(of_relations, expected[1], rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(weighed, weights * penalties.detach(), rtol=1e-4, atol=1e-3)


def test_the_signs_of_a_product_rebuild_it() -> None:
    def product(p: Tensor, q: Tensor) -> Tensor:
        return as_reals(multiply(as_biquaternion(p), as_biquaternion(q)))

    signs = RowProduct(1, tuple(range(8)), 1, False, product).signs
    p, q = drawn(8).float(), drawn(8, seed=1).float()
    rebuilt = [sum(signs[i, j] * p[i] * q[i ^ j] for i in range(8)) for j in range(8)]
    torch.testing.assert_close(torch.stack(rebuilt), product(p[None], q[None])[0])


def test_an_algebra_of_another_kind_is_refused() -> None:
    with pytest.raises(AssertionError, match="not an algebra of this kind"):
        _ = RowProduct(1, (0, 1), 1, False, lambda p, q: p + q).signs


def test_the_tally_is_the_sum_times_the_size(kernel_device: torch.device) -> None:
    losses, penalties = drawn(2, 1500).float().to(kernel_device)
    total, size = torch.full((1,), 3.0, dtype=torch.float64, device=kernel_device), torch.tensor([7.0])
    tally_(total, losses, penalties, size.to(kernel_device))
    assert total.item() == pytest.approx(3 + 7 * (losses.double().sum() + penalties.double().sum()).item(), rel=1e-9)


@pytest.mark.parametrize("programs", [1, 1024])
@torch.no_grad()
def test_complex_distances_are_sums_of_lengths(
    programs: int, kernel_device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes that fill no tile, whole or in shares; one candidate is a query itself, one is not a number."""
    monkeypatch.setattr("bique.kernels.complex_distances.PROGRAMS", programs)
    queries, candidates = drawn(70, 10), drawn(130, 10, seed=1)
    candidates[7], candidates[8, 3] = queries[3], float("nan")
    as_complex = [torch.view_as_complex(rows.unflatten(-1, (-1, 2))) for rows in (queries, candidates)]
    expected = (as_complex[0][:, None] - as_complex[1]).abs().sum(-1)
    assert expected[:, 8].isnan().all()
    same = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5, equal_nan=True)
    same(complex_distances_plain(queries, candidates), expected)
    monkeypatch.setattr("bique.kernels.complex_distances.ROWS_AT_ONCE", 16)
    monkeypatch.setattr("bique.kernels.complex_distances.AT_ONCE", 1_000)
    same(complex_distances(queries, candidates), expected)  # float64 has no kernel
    monkeypatch.delattr("bique.kernels.complex_distances._distances_plain")
    found = complex_distances(queries.float().to(kernel_device), candidates.float().to(kernel_device))
    same(found.cpu().double(), expected)


@pytest.mark.parametrize("programs", [1, 1024])
def test_complex_distances_of_tables_have_autograds_gradients(
    programs: int, kernel_device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the kernel and by the plain path, which goes tile by tile; where rows meet there is no slope."""
    monkeypatch.setattr("bique.kernels.complex_distances.PROGRAMS", programs)
    queries, candidates, slopes = drawn(37, 70), drawn(45, 70, seed=1), drawn(37, 45, seed=2)
    candidates[7] = queries[3]
    inputs = [rows.requires_grad_() for rows in (queries, candidates)]
    expected = torch.autograd.grad((slopes * complex_distances_plain(*inputs)).sum(), inputs)
    monkeypatch.setattr("bique.kernels.complex_distances.ROWS_AT_ONCE", 16)
    monkeypatch.setattr("bique.kernels.complex_distances.AT_ONCE", 10_000)
    found = torch.autograd.grad((slopes * complex_distances(*inputs)).sum(), inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    monkeypatch.delattr("bique.kernels.complex_distances._directions_plain")
    singles = [rows.detach().float().to(kernel_device).requires_grad_() for rows in inputs]
    loss = (slopes.float().to(kernel_device) * complex_distances(*singles)).sum()
    for one, other in zip(torch.autograd.grad(loss, singles), expected, strict=True):
        torch.testing.assert_close(one.cpu().double(), other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("shape", [(5, 3), (1, 1), (0, 3), (5, 0)])
def test_complex_distances_are_an_operation_as_torch_wants_it(shape: tuple[int, int]) -> None:
    queries, candidates = drawn(shape[0], 8).requires_grad_(), drawn(8, shape[1]).mT.requires_grad_()
    for operation, inputs in (
        (trained_distances, (queries, candidates)),
        (directions, (queries.detach(), candidates.detach(), drawn(*shape))),
    ):
        torch.library.opcheck(operation, inputs)


GRAPH = torch.tensor([(0, 0, 3), (1, 0, 3), (0, 1, 4), (2, 0, 4), (2, 0, 4), (1, 1, 0)] + [(4, 0, 1)] * 150)
"""Of 5 sources, 3 labels and 6 places: one edge twice, places that nothing reaches, and more edges than a share."""


WEIGHTS = torch.rand(len(GRAPH), generator=torch.Generator().manual_seed(1))


def messages_of(composition: Composition, device: str = "cpu") -> Messages:
    return Messages(GRAPH, WEIGHTS, sizes=(5, 3, 6), composition=composition).to(device)


@pytest.mark.parametrize("composition", ["subtract", "multiply", "correlate"])
def test_messages_have_the_sums_and_gradients_of_a_row_per_edge(composition: Composition) -> None:
    messages = messages_of(composition).double()
    x, z, slopes = drawn(5, 6).requires_grad_(), drawn(3, 6, seed=1).requires_grad_(), drawn(6, 6, seed=2)
    rows = compose(composition, x[GRAPH[:, 0]], z[GRAPH[:, 1]]) * WEIGHTS.double()[:, None]
    expected = torch.zeros(6, 6, dtype=torch.float64).index_add(0, GRAPH[:, 2], rows)
    found = messages(x, z)
    torch.testing.assert_close(found, expected)
    assert (found[[2, 5]] == 0).all(), "nothing arrives there"
    gradients = torch.autograd.grad(found, (x, z), slopes)
    for mine, its in zip(gradients, torch.autograd.grad(expected, (x, z), slopes), strict=True):
        torch.testing.assert_close(mine, its)


def test_a_correlation_multiplies_by_the_conjugate() -> None:
    x, z = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 5.0]])
    assert compose("correlate", x, z).tolist() == [[13.0, -1.0]], "(1 − 2i)(3 + 5i) = 13 − i"


@pytest.mark.parametrize("composition", ["subtract", "multiply", "correlate"])
@pytest.mark.parametrize("width", [2, 10, 300], ids=["two", "no power of two", "several blocks"])
def test_message_kernel_has_the_plain_sums(composition: Composition, width: int, kernel_device: torch.device) -> None:
    messages = messages_of(composition, str(kernel_device))
    one, other = (drawn(6, width, seed=seed).float().to(kernel_device) for seed in (3, 4))
    assert messages.to_places.divided.tolist() == [1], "a place with more edges than a share"
    for route in (messages.to_places, messages.to_sources, messages.to_labels):
        for product in messages.products:
            found, plain = route.sums(product, one, other), route.sums_plain(product, one, other)
            torch.testing.assert_close(found, plain, rtol=1e-5, atol=1e-4)  # of 150 times the same edge


@pytest.mark.parametrize(
    ("composition", "shapes"),
    [("correlate", ((5, 3), (3, 3))), ("multiply", ((4, 6), (3, 6))), ("multiply", ((5, 6), (3, 2)))],
    ids=["half a complex number", "too few rows", "two widths"],
)
def test_rows_that_do_not_fit_the_edges_are_refused(
    composition: Composition, shapes: tuple[tuple[int, int], tuple[int, int]], kernel_device: torch.device
) -> None:
    """The kernel would read beyond their ends."""
    with pytest.raises(AssertionError):
        messages_of(composition, str(kernel_device))(*(torch.zeros(shape, device=kernel_device) for shape in shapes))


def test_without_a_compiler_every_op_takes_its_plain_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU whose Triton cannot compile still trains, ranks and answers."""
    monkeypatch.setattr("bique.kernels.backend.interpreting", True)
    monkeypatch.setattr("bique.kernels.backend.why_no_triton", lambda device: "no compiler")
    for kernel in ("messages._sum_products", "sum_rows._sum_rows", "complex_distances._distances"):
        monkeypatch.delattr(f"bique.kernels.{kernel}")
    assert messages_of("multiply")(torch.ones(5, 4), torch.ones(3, 4)).shape == (6, 4)
    assert complex_distances(torch.ones(2, 4), torch.ones(3, 4)).shape == (2, 3)
    places = torch.zeros(5, dtype=torch.int32)
    assert sum_rows(torch.ones(2, 4), sort_lookups(torch.tensor([3, 3])), places).dense()[3].tolist() == [2.0] * 4
    assert not any(can_use_triton(torch.device(device)) for device in ("cpu", "cuda"))


@pytest.mark.parametrize("composition", ["subtract", "multiply", "correlate"])
def test_messages_are_summed_piece_by_piece_on_a_cpu(composition: Composition, monkeypatch: pytest.MonkeyPatch) -> None:
    x, z = drawn(5, 4), drawn(3, 4, seed=1)
    messages = messages_of(composition).double()
    whole = messages(x, z)
    monkeypatch.setattr("bique.kernels.messages.PLAIN_AT_ONCE", 4)
    torch.testing.assert_close(messages(x, z), whole)


@pytest.mark.parametrize("edges", [(0,), (0, 64, 65, 0, 128, 1, 129, 0), (2112, 0), (0, 0, 2049)], ids=str)
def test_sums_are_right_into_however_many_shares_they_are_divided(
    edges: tuple[int, ...], kernel_device: torch.device
) -> None:
    generator = torch.Generator().manual_seed(1)
    target = torch.arange(len(edges)).repeat_interleave(torch.tensor(edges))
    target = target[torch.randperm(len(target), generator=generator)]
    first, second = torch.randint(5, (2, len(target)), generator=generator)
    weights = torch.rand(len(target), generator=generator)
    a, b = torch.randn(2, 5, 3, generator=generator)
    route = Route(target, first, second, weights, targets=len(edges), seconds=5).to(kernel_device)
    rows = a.double()[first] * b.double()[second] * weights.double()[:, None]
    expected = torch.zeros(len(edges), 3, dtype=torch.float64).index_add(0, target, rows)
    for sums in (route.sums, route.sums_plain):
        found = sums("first * second", a.to(kernel_device), b.to(kernel_device)).cpu().double()
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-3)


def test_without_edges_nothing_arrives(kernel_device: torch.device) -> None:
    messages = Messages(GRAPH[:0], WEIGHTS[:0], sizes=(5, 3, 6), composition="multiply").to(kernel_device)
    x, z = (torch.ones(rows, 4, device=kernel_device, requires_grad=True) for rows in (5, 3))
    found = messages(x, z)
    assert found.shape == (6, 4)
    assert not found.any()
    for gradient in torch.autograd.grad(found.sum(), (x, z)):
        assert not gradient.any()
