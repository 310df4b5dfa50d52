"""What the literature proves of single models."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
import torch

from bique.config import BiQUEConfig, parse_config
from bique.errors import UserError
from bique.models import MODELS, BiQUE, Model, Size


def made(name: str, entities: int = 6, relations: int = 4, seed: int = 0, **options: Any) -> Model:
    tree = {"name": name, "initial_scale": 1.0, **options}
    config = parse_config({"dataset": "small", "model": tree}).model
    return MODELS[name](config, Size(entities, relations), torch.Generator().manual_seed(seed)).double().eval()


def every(model: Model, relation: int) -> torch.Tensor:
    """score[h, t] of one relation."""
    heads = torch.arange(model.num_entities)
    return model.score_all(heads, torch.full_like(heads, relation))


def test_real_coefficients_make_bique_quate() -> None:
    """QuatE is BiQUE without translation and with imaginary parts 0: the same scores."""
    quate = made("quate", units=3)
    bique = made("bique", units=3, translation=False)
    with torch.no_grad():
        for mine, theirs in ((bique.entity, quate.entity), (bique.relation, quate.relation)):
            mine.view(len(mine), 4, 3, 2)[..., 0] = theirs.view(len(theirs), 4, 3)
            mine.view(len(mine), 4, 3, 2)[..., 1] = 0
    for relation in range(4):
        torch.testing.assert_close(every(bique, relation), every(quate, relation))


def test_complex_is_quate_with_two_coefficients() -> None:
    quate, complex_ = made("quate", units=3), made("complex", units=3)
    with torch.no_grad():
        for mine, theirs in ((quate.entity, complex_.entity), (quate.relation, complex_.relation)):
            mine.zero_()
            mine.view(len(mine), 4, 3)[:, :2] = theirs.view(len(theirs), 3, 2).mT
    torch.testing.assert_close(every(quate, 1), every(complex_, 1))


def test_distmult_is_complex_with_real_numbers_and_always_symmetric() -> None:
    distmult, complex_ = made("distmult", units=3), made("complex", units=3)
    with torch.no_grad():
        for mine, theirs in ((complex_.entity, distmult.entity), (complex_.relation, distmult.relation)):
            mine.view(len(mine), 3, 2)[..., 0] = theirs
            mine.view(len(mine), 3, 2)[..., 1] = 0
    torch.testing.assert_close(every(complex_, 2), every(distmult, 2))
    torch.testing.assert_close(every(distmult, 2), every(distmult, 2).T)


def test_complex_is_symmetric_exactly_for_real_relations() -> None:
    model = made("complex", units=3)
    assert not torch.allclose(every(model, 0), every(model, 0).T)
    with torch.no_grad():
        model.relation.view(4, 3, 2)[..., 1] = 0
    torch.testing.assert_close(every(model, 0), every(model, 0).T)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_transe_is_symmetric_only_without_translation(norm: str) -> None:
    model = made("transe", units=5, norm=norm)
    assert not torch.allclose(every(model, 0), every(model, 0).T)
    with torch.no_grad():
        model.relation.zero_()
    torch.testing.assert_close(every(model, 0), every(model, 0).T)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_transe_measures_the_distance(norm: str) -> None:
    model = made("transe", units=5, norm=norm)
    h, r, t = torch.tensor([1]), torch.tensor([2]), torch.tensor([3])
    difference = model.entity[h] + model.relation[r] - model.entity[t]
    expected = -torch.linalg.vector_norm(difference, ord=1 if norm == "l1" else 2, dim=1)
    torch.testing.assert_close(model.score(h, r, t), expected)


def test_rotate_composes_and_inverts_by_adding_angles() -> None:
    model = made("rotate", units=5)
    head = model.entity[:6]
    first, second = (model.relations[[i]].expand(6, -1) for i in (0, 1))
    twice = model.transform(model.transform(head, first), second)
    torch.testing.assert_close(twice, model.transform(head, first + second))
    torch.testing.assert_close(model.transform(model.transform(head, first), -first), head)


def test_rotate_sums_the_moduli_of_differences() -> None:
    model = made("rotate", units=5)
    h, t = (torch.view_as_complex(model.entity[[i]].view(1, 5, 2)) for i in (1, 3))
    expected = -(h * torch.exp(1j * model.relations[[2]]) - t).abs().sum(1)
    found = model.score(torch.tensor([1]), torch.tensor([2]), torch.tensor([3]))
    torch.testing.assert_close(found, expected)


def test_rotate_is_symmetric_for_angles_of_half_a_turn() -> None:
    model = made("rotate", units=5)
    with torch.no_grad():
        model.relation[0] = torch.pi / model.turn * torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0])
    torch.testing.assert_close(every(model, 0), every(model, 0).T)


def test_rotates_inverse_relations_turn_back() -> None:
    """So a question for the head is the question for the tail, asked from the other side."""
    model = made("rotate", units=5, relations=6)
    assert model.tables()["relation"].shape == (3, 5)
    for relation in range(3):
        torch.testing.assert_close(every(model, relation), every(model, relation + 3).T)


def test_rotates_angles_start_anywhere_and_its_rows_as_large_as_an_entitys() -> None:
    model = made("rotate", units=1000, initial_scale=0.01)
    angles = model.relations.detach()
    assert angles.abs().max() <= torch.pi * (1 + 1e-6)
    assert angles.histc(8, -torch.pi, torch.pi).min() > 0.8 * angles.numel() / 8, "no direction is left out"
    assert model.relation.std().item() == pytest.approx(model.entity[:6].std().item(), rel=0.1)


def test_a_first_step_with_the_default_settings_is_no_whole_turn_of_rotate() -> None:
    """Both optimizers begin with steps of the learning rate, whatever the slope."""
    config = parse_config({"dataset": "small", "model": {"name": "rotate"}})
    model: Any = MODELS["rotate"](config.model, Size(6, 4), torch.Generator().manual_seed(0))
    assert config.optimizer.learning_rate * model.turn < torch.pi


def test_rotate_refuses_angles_that_another_version_kept_as_they_are() -> None:
    model = made("rotate", units=5)
    tables = model.tables()
    tables.pop("turn")
    with pytest.raises(UserError, match="another version"):
        model.load_tables(tables)


def test_duale_moves_rigidly() -> None:
    """A unit dual quaternion keeps the length of the real part; scaling the relation's real part changes nothing."""
    model = made("duale", units=3)
    head, relation = model.entity[:6], model.relation[[1]].expand(6, -1)
    moved = model.transform(head, relation)
    torch.testing.assert_close(moved.view(6, 8, 3)[:, :4].norm(dim=1), head.view(6, 8, 3)[:, :4].norm(dim=1))
    scaled = relation.clone().view(6, 8, 3)
    scaled[:, :4] *= 5
    torch.testing.assert_close(model.transform(head, scaled.view(6, -1)), moved)


def by_pairs(vector: torch.Tensor, parts: torch.Tensor, mirrored: bool) -> torch.Tensor:
    """Every pair of numbers turned, or mirrored, by the direction of its pair of parts: matrix by matrix."""
    made = torch.empty_like(vector)
    for row, place in product(range(len(vector)), range(0, vector.shape[1], 2)):
        cos, sin = parts[row, place : place + 2] / parts[row, place : place + 2].norm()
        matrix = torch.stack((cos, sin, sin, -cos) if mirrored else (cos, -sin, sin, cos)).view(2, 2)
        made[row, place : place + 2] = matrix @ vector[row, place : place + 2]
    return made


def turned(name: str, vector: torch.Tensor, parts: torch.Tensor) -> torch.Tensor:
    if name != "atth":
        return by_pairs(vector, parts, mirrored=name == "refh")
    angles, mirrors, context = parts.chunk(3, dim=1)
    rotated, mirrored = by_pairs(vector, angles, False), by_pairs(vector, mirrors, True)
    likes = [(one * context).sum(1, keepdim=True) / math.sqrt(vector.shape[1]) for one in (rotated, mirrored)]
    weight = torch.sigmoid(likes[0] - likes[1])
    return weight * rotated + (1 - weight) * mirrored


@pytest.mark.parametrize("name", ["roth", "refh", "atth"])
def test_hyperbolic_scores_are_distances_in_the_ball_of_heads_turned_then_moved(name: str) -> None:
    from bique.algebra.poincare import distance, exp0, mobius_add

    model = made(name, units=6, initial_scale=0.3)
    with torch.no_grad():
        model.entity[:, 6:].normal_(generator=torch.Generator().manual_seed(2))
        model.relation[:, 6].uniform_(-1, 2, generator=torch.Generator().manual_seed(3))
    h, r, t = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 3]), torch.tensor([4, 5, 1])
    move, raw, parts = model.relation[r].split([6, 1, model.relation.shape[1] - 7], dim=1)
    c = (1 + raw.exp()).log()
    point = mobius_add(exp0(turned(name, model.entity[h, :6], parts), c), exp0(move, c), c)
    away = distance(point, exp0(model.entity[t, :6], c), c)
    expected = model.entity[h, 6] + model.entity[t, 7] - away.square()
    torch.testing.assert_close(model.score(h, r, t), expected)


@pytest.mark.parametrize("name", ["roth", "refh", "atth"])
def test_a_ball_that_became_flat_has_finite_gradients(name: str) -> None:
    model = made(name, units=6, initial_scale=0.3).float()
    for raw in (-50.0, -90.0, -200.0):
        with torch.no_grad():
            model.relation[:, 6] = raw
        model.zero_grad()
        every(model, 1).sum().backward()
        assert all(torch.isfinite(table.grad).all() for table in model.parameters() if table.grad is not None)


def test_murp_compares_with_the_translated_tail() -> None:
    from bique.algebra.poincare import distance, exp0, mobius_add

    model = made("murp", units=6, initial_scale=0.3)
    h, r, t = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 3]), torch.tensor([4, 5, 1])
    one = torch.ones(3, 1, dtype=torch.float64)
    stretch, translation = model.relation[r, :6], model.relation[r, 6:]
    x = exp0(stretch * model.entity[h, :6], one)
    moved = mobius_add(exp0(model.entity[t, :6], one), exp0(translation, one), one)
    expected = model.entity[h, 6] + model.entity[t, 7] - distance(x, moved, one).square()
    torch.testing.assert_close(model.score(h, r, t), expected)


@pytest.mark.parametrize(
    ("name", "options", "of_relation"),
    [
        ("murp", {"units": 6}, range(12)),  # R and r
        ("roth", {"units": 6}, range(6)),  # r, no angle, no curvature
        ("refh", {"units": 6}, range(6)),
        ("atth", {"units": 6}, range(6)),
        ("conve", {"units": 6, "height": 2, "kernel": 2}, range(6)),
        ("interacte", {"units": 6, "height": 2, "kernel": 3}, range(6)),
        ("convtranse", {"units": 6, "kernel": 3}, range(6)),
    ],
)
def test_what_has_no_size_to_keep_down_is_not_penalised(name: str, options: dict[str, Any], of_relation: range) -> None:
    """Neither biases, angles nor curvature: the penalised numbers are the first ones of the rows."""
    model = made(name, **options)
    h, r, t = model.entity[:2], model.relation[:2], model.entity[2:4]
    found = model.factors(h, r, t)
    for one, rows in ((found.head, h), (found.translated_head, h), (found.tail, t)):
        torch.testing.assert_close(one.flatten(1), rows[:, :6])
    torch.testing.assert_close(found.relation[0].flatten(1), r[:, list(of_relation)])


@pytest.mark.parametrize("name", ["conve", "interacte", "convtranse"])
def test_a_bias_shifts_a_candidate_for_every_query(name: str) -> None:
    options = {"interacte": {"kernel": 3, "height": 4}, "conve": {"height": 4}, "convtranse": {}}[name]
    model = made(name, units=16, **options)
    before = every(model, 1)
    with torch.no_grad():
        model.entity[3, 16] += 2.5
    # a head's bias is no part of its picture
    expected = before + 2.5 * torch.nn.functional.one_hot(torch.tensor(3), 6)
    torch.testing.assert_close(every(model, 1), expected)


@pytest.mark.parametrize("name", ["conve", "interacte", "convtranse"])
def test_entities_are_dropped_in_training_alone_and_never_their_biases(name: str) -> None:
    options = {"interacte": {"kernel": 3, "height": 4}, "conve": {"height": 4}, "convtranse": {}}[name]
    model: Any = made(name, units=16, entity_dropout=0.5, initial_bias="prior", **options)
    assert model.encode()[0] is model.entity
    model.train()
    torch.manual_seed(0)
    rows = model.encode()[0][:6]
    kept = rows[:, :16] != 0
    torch.testing.assert_close(rows[:, :16][kept], 2 * model.entity[:6, :16][kept])
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(rows[:, 16:], model.entity[:6, 16:])
    assert model.encodes_entities
    assert not made(name, units=16, **options).encodes_entities


@pytest.mark.parametrize("name", ["conve", "interacte", "convtranse"])
def test_biases_that_start_from_the_prior_make_every_candidate_a_guess(name: str) -> None:
    options = {"interacte": {"kernel": 3, "height": 4}, "conve": {"height": 4}, "convtranse": {}}[name]
    zero, prior = (made(name, units=16, initial_bias=start, **options) for start in ("zero", "prior"))
    torch.testing.assert_close(every(prior, 1), every(zero, 1) - math.log(6))
    assert not prior.entity[6:].any(), "padding stays empty"


@pytest.mark.parametrize("name", ["conve", "interacte", "convtranse"])
def test_evaluation_mode_is_really_evaluation_mode(name: str) -> None:
    """No dropout, and a query does not depend on the others of its batch."""
    options = {"interacte": {"kernel": 3, "height": 4}, "conve": {"height": 4}, "convtranse": {}}[name]
    model = made(name, units=16, **options)
    h, r = torch.arange(6), torch.zeros(6, dtype=torch.int64)
    together = model.query(h, r)
    torch.testing.assert_close(torch.cat([model.query(h[[i]], r[[i]]) for i in range(6)]), together)
    torch.testing.assert_close(model.query(h, r), together, rtol=0, atol=0)
    model.train()
    assert not torch.equal(model.query(h, r), together)


def test_interacte_puts_every_feature_on_the_board_heads_on_white() -> None:
    from bique.models.interacte import chequered

    config = parse_config(
        {"dataset": "small", "model": {"name": "interacte", "units": 24, "height": 4, "permutations": 3, "kernel": 3}}
    ).model
    boards = chequered(config, torch.Generator().manual_seed(0)).view(3, 8, 6)
    white = (torch.arange(8)[:, None] + torch.arange(6)) % 2 == 0
    for board in boards:
        assert sorted(board.flatten().tolist()) == list(range(48))
        assert torch.equal(board < 24, white)


@pytest.mark.parametrize(("permutations", "kernel"), [(1, 3), (3, 5)])
def test_interacte_convolves_each_picture_with_every_filter_around_its_edges(permutations: int, kernel: int) -> None:
    """Square by square; the product of patches and filters in the model is the quick way."""
    model: Any = made("interacte", units=24, height=4, permutations=permutations, kernel=kernel, filters=2)
    seen: list[torch.Tensor] = []
    model.feature_norm.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    heads, relations = torch.tensor([1, 3]), torch.tensor([0, 1])
    model.query(heads, relations)
    both = torch.cat((model.entity[heads][:, :24], model.relation[relations]), dim=1)
    pictures = model.picture_norm(both[:, model.places].view(2, permutations, 8, 6))
    (found,) = seen
    half = kernel // 2
    for picture in range(permutations):
        for number, weights in enumerate(model.filters):
            expected = torch.zeros(2, 8, 6, dtype=found.dtype)
            for i in range(kernel):
                for j in range(kernel):
                    moved = pictures[:, picture].roll((half - i, half - j), dims=(1, 2))
                    expected += weights[i, j] * moved
            torch.testing.assert_close(found[:, 2 * picture + number], expected)


def compgcn(composition: str, facts: Any) -> Model:
    tree = {"units": 16, "start": 8, "height": 4, "filters": 3, "kernel": 3, "composition": composition}
    config = parse_config({"dataset": "small", "model": {"name": "compgcn", "initial_scale": 1.0, **tree}}).model
    return MODELS["compgcn"](config, Size(5, 4, facts), torch.Generator().manual_seed(0)).double().eval()


@pytest.mark.parametrize("long", [1, 10**6], ids=["in shares", "whole"])
@pytest.mark.parametrize("composition", ["subtract", "multiply", "correlate"])
def test_compgcn_passes_messages_as_its_formula_says(
    composition: str, long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node by node, edge by edge; a table that counts as long gives the matrices their gradients in shares."""
    import numpy as np

    monkeypatch.setattr("bique.models.propagation.LONG", long)
    forward = np.array([(0, 0, 1), (2, 1, 1), (1, 0, 3), (0, 1, 3)], dtype=np.int32)
    backward = np.stack([forward[:, 2], forward[:, 1] + 2, forward[:, 0]], axis=1)
    model = compgcn(composition, np.concatenate([forward, backward]))

    def compose(x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        if composition != "correlate":
            return x - z if composition == "subtract" else x * z
        return torch.stack([sum(x[i] * z[(i + k) % 8] for i in range(8)) for k in range(8)])

    x, into, out, itself = model.entity[:, :8], *model.propagation.weights[:3]
    rows = []
    for node in range(5):
        total = compose(x[node], model.propagation.itself[0]) @ itself
        for edges, weight in ((forward, into), (backward, out)):
            for v, r, u in edges.tolist():
                if v == node:
                    degrees = (edges[:, 0] == v).sum() * (edges[:, 2] == u).sum()
                    total = total + compose(x[u], model.relation[r]) @ weight / degrees**0.5
        rows.append(total / 3)
    expected = torch.tanh(model.propagation.norm(torch.stack(rows)))
    found = model.entities[:, :16]
    torch.testing.assert_close(found, expected)
    for mine, its in zip(
        *(torch.autograd.grad(one.square().sum(), [into, out, itself]) for one in (found, expected)), strict=True
    ):
        torch.testing.assert_close(mine, its)
    torch.testing.assert_close(model.encode()[1], model.relation @ model.propagation.weights[3])


def test_compgcn_propagates_once_in_evaluation_and_anew_after_training() -> None:
    import numpy as np

    model = compgcn("multiply", np.array([(0, 0, 1), (1, 2, 0)], dtype=np.int32))
    with torch.no_grad():
        first = model.encode()[0]
        assert model.encode()[0] is first
        model.train()
        model.entity += 1
        model.eval()
        second = model.encode()[0]
        assert not torch.equal(second, first)
        model.load_tables({name: table * 2 for name, table in model.tables().items()})
        assert not torch.equal(model.encode()[0], second)


def test_tables_of_another_size_are_refused_and_named() -> None:
    model = MODELS["distmult"](
        parse_config({"dataset": "small", "model": {"name": "distmult", "units": 4}}).model,
        Size(5, 4),
        torch.Generator(),
    )
    tables = {"entity": torch.zeros(5, 3), "relation": torch.zeros(4, 4), "older": torch.zeros(2)}
    with pytest.raises(
        UserError, match=r"entity: \(5, 3\), asked for \(5, 4\); older: \(2,\), asked for none"
    ) as error:
        model.load_tables(tables)
    assert "relation" not in str(error.value)


def test_compgcn_drops_numbers_of_the_entities_it_makes_as_heads_and_as_candidates() -> None:
    import numpy as np

    model: Any = compgcn("multiply", np.array([(0, 0, 1), (1, 2, 0)], dtype=np.int32)).train()
    model.propagation.dropout = model.entity_dropout = 0.0
    with torch.no_grad():
        whole = model._propagate()[0][:5]
        model.entity_dropout = 0.5
        torch.manual_seed(0)
        dropped = model._propagate()[0][:5]
    kept = dropped != 0
    torch.testing.assert_close(dropped[:, :16][kept[:, :16]], 2 * whole[:, :16][kept[:, :16]])
    assert 0 < kept[:, :16].sum() < kept[:, :16].numel()
    torch.testing.assert_close(dropped[:, 16:], whole[:, 16:])  # biases stay


def test_compgcn_has_head_and_relation_in_turn_and_drops_single_numbers_of_maps() -> None:
    import numpy as np

    model: Any = compgcn("multiply", np.array([(0, 0, 1), (1, 2, 0)], dtype=np.int32)).train()
    head, relation = torch.arange(16.0)[None], -torch.arange(16.0)[None]
    found = model.arrange(head, relation)
    torch.testing.assert_close(found[:, ::2], head)
    torch.testing.assert_close(found[:, 1::2], relation)
    model.dropout = 0.0, 0.5, 0.0
    torch.manual_seed(0)
    kept = model.drop_features(torch.ones(4, 3, 40)) != 0
    assert (kept.any(2) & ~kept.all(2)).all()


def test_compgcn_drops_sums_of_messages_not_messages() -> None:
    """Node 1 has two facts of its own: each number of their sum is there, scaled, or not at all."""
    import numpy as np

    model: Any = compgcn("multiply", np.array([(1, 0, 0), (1, 1, 2), (0, 2, 1), (2, 3, 1)], dtype=np.int32))
    seen: list[torch.Tensor] = []
    model.propagation.norm.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.no_grad():
        model.propagation.dropout = 0.0
        model._propagate()
        model.propagation.weights[1].zero_()  # what goes out
        model.propagation.weights[2].zero_()  # the node itself
        model._propagate()
        model.propagation.dropout = 0.5
        model.train()
        torch.manual_seed(0)
        model._propagate()
    _, whole, dropped = seen
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * whole[kept])
    assert 0 < kept[1].sum() < kept[1].numel()


def test_translation_is_a_preference_of_the_relation_for_tails() -> None:
    """⟨(Q_h + Q⁺)Q^×, Q_t⟩ − ⟨Q_h Q^×, Q_t⟩ does not depend on the head."""
    model = BiQUE(BiQUEConfig(units=2, initial_scale=1.0), Size(6, 4), torch.Generator().manual_seed(0)).double()
    heads, relation = torch.arange(6), torch.full((6,), 2)
    translated = model.score_all(heads, relation)
    with torch.no_grad():
        model.relation[:, 16:] = 0
    preference = translated - model.score_all(heads, relation)
    torch.testing.assert_close(preference, preference[:1].expand(6, -1))
