from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bique.algebra import as_biquaternion, as_reals, decompose, is_null
from bique.analysis.motion import PARTS, Motion
from bique.analysis.plots import entity_map, relation_motion
from bique.analysis.projection import Plane, directions, relation_facts, relation_vectors
from bique.config import BiQUEConfig, parse_config
from bique.errors import UserError
from bique.graph import Graph
from bique.models import BiQUE, Size, build_model


def made(**options: Any) -> BiQUE:
    config = BiQUEConfig(units=4, initial_scale=1.0, **options)
    return BiQUE(config, Size(40, 6), torch.Generator().manual_seed(0)).eval()


def with_null(model: BiQUE, relation: int) -> BiQUE:
    """Two of its biquaternions become null: 0 and 1 + 𝐈i."""
    with torch.no_grad():
        q = model.relation[relation, :32].view(4, 4, 2)
        q[:, :2] = 0
        q[0, 0, 0], q[1, 0, 1] = 1.0, 1.0
    return model


MODELS = [
    pytest.param(made(), id="whole"),
    pytest.param(made(translation=False), id="no translation"),
    pytest.param(made(relation_norm="vector"), id="vector norm"),
    pytest.param(made(relation_norm="unit"), id="unit norm"),
    pytest.param(with_null(made(), 1), id="two null"),
]


@pytest.mark.parametrize("model", MODELS)
def test_a_motion_begins_with_the_heads_and_ends_with_the_models_own_queries(model: BiQUE) -> None:
    heads = torch.arange(40)
    for relation in range(6):
        motion = Motion(model, relation)
        rows = model.entities.detach().double()
        queries = model.query(heads, torch.full_like(heads, relation)).detach().double()
        torch.testing.assert_close(motion.at(0.0, rows), rows, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(motion.at(1.0, rows), queries, rtol=1e-5, atol=1e-5)


def test_the_parts_act_in_turn_translation_scale_circular_hyperbolic() -> None:
    """At each quarter, the product of the parts so far, by the definition of Theorem 4.1."""
    model, rows = made(), torch.randn(3, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    motion = Motion(model, 2)
    q, translation = model.parts(model.relation[[2]].detach().double())
    parts, translated = decompose(q), as_biquaternion(rows) + translation
    zero = torch.zeros_like(parts.angle)
    steps = [
        replace(parts, modulus=zero + 1, phase=zero, angle=zero, rapidity=zero),
        replace(parts, angle=zero, rapidity=zero),
        replace(parts, rapidity=zero),
        parts,
    ]
    from bique.algebra import multiply

    for place, step in enumerate(steps):
        expected = as_reals(multiply(translated, step.compose()))
        torch.testing.assert_close(motion.at((place + 1) / 4, rows), expected)
        assert motion.parts[motion.part_at((place + 0.5) / 4)] == PARTS[place]
    assert motion.part_at(0.0) == 0
    assert motion.part_at(1.0) == 3


def test_null_biquaternions_move_straight_and_are_counted() -> None:
    model = with_null(made(translation=False), 1)
    motion = Motion(model, 1)
    null = is_null(as_biquaternion(model.relation[[1]].detach().double()))[0]
    assert motion.null == int(null.sum()) == 2
    assert motion.parts == PARTS[1:]
    rows = model.entities[:5].detach().double()
    places = torch.stack([as_biquaternion(motion.at(time, rows)) for time in (0.0, 0.25, 0.5, 0.75, 1.0)])
    steps = places.diff(dim=0)
    torch.testing.assert_close(steps[:-1][..., null], steps[1:][..., null])  # the same step in the same time
    assert (steps[:-1] - steps[1:])[..., ~null].abs().max() > 0.01


def test_another_model_has_no_such_parts(small_graph: Graph) -> None:
    with pytest.raises(UserError, match=r"this run is of QuatE; train model\.name = bique"):
        Motion(other("quate", small_graph), 0)


def other(name: str, graph: Graph) -> Any:
    return build_model(parse_config({"dataset": "small", "model": {"name": name, "units": 8}}).model, graph, 0).eval()


@pytest.mark.parametrize("name", ["bique", "complex", "quate"])
def test_a_map_shows_the_projections_of_the_models_own_vectors(name: str, small_graph: Graph) -> None:
    model = other(name, small_graph)
    figure = entity_map(model, small_graph, "c parent")
    (panel,) = figure.axes
    lines, *clouds = panel.collections
    tails, queries, heads = (np.asarray(cloud.get_offsets()) for cloud in clouds)
    h, r, t = torch.as_tensor(relation_facts(small_graph, "c parent")).long().unbind(1)
    with torch.no_grad():
        rows = [model.entities[t], model.query(h, r), model.entities[h]]
    plain = [(one / one.norm(dim=1, keepdim=True)).double().numpy() for one in rows]
    fitted = np.concatenate(plain[:2])
    values, vectors = np.linalg.eigh(np.cov(fitted.T))  # the slow way to the same plane
    for drawn, vector in zip((tails, queries, heads), plain, strict=True):
        slow = (vector - fitted.mean(0)) @ vectors[:, [-1, -2]]
        np.testing.assert_allclose(np.abs(drawn), np.abs(slow), atol=1e-5)
    for share, label in zip(values[[-1, -2]] / values.sum(), (panel.get_xlabel(), panel.get_ylabel()), strict=True):
        assert f"{share:.0%} of the variance" in label
    np.testing.assert_allclose(np.array(lines.get_segments()), np.stack([queries, tails], axis=1))
    assert len({str(cloud.get_paths()[0].vertices) for cloud in clouds}) == 3


def test_a_map_names_tails_at_their_squares_and_heads_at_their_arrows(small_graph: Graph) -> None:
    model = other("bique", small_graph)
    (panel,) = entity_map(model, small_graph, "c parent").axes
    tails, queries, heads = (np.asarray(cloud.get_offsets()) for cloud in panel.collections[1:])
    facts = relation_facts(small_graph, "c parent")
    texts = [one for one in panel.texts if one.get_text()]
    arrows = [one for one in panel.texts if one.arrow_patch is not None]
    names = {"normal": (2, tails), "italic": (0, heads)}
    assert {one.get_fontstyle() for one in texts} == set(names)
    for one in texts:
        column, places = names[one.get_fontstyle()]
        number = small_graph.entities.index(one.get_text())
        chosen = facts[:, column] == number
        assert chosen.any(), one.get_text()
        assert np.isclose(places[chosen], one.xy).all(axis=1).any()
    assert len(arrows) == len([one for one in texts if one.get_fontstyle() == "italic"]) <= 3
    for one in arrows:
        way = np.isclose(queries, one.xy).all(axis=1) & np.isclose(heads, one.xyann).all(axis=1)
        assert way.any()


def test_a_sample_is_as_large_as_asked_and_drawn_by_its_seed(small_graph: Graph) -> None:
    model = other("bique", small_graph)
    one, same, another = (relation_vectors(model, small_graph, "a next", 10, seed) for seed in (0, 0, 1))
    assert len(one.heads) == 10 < one.facts
    assert torch.equal(one.heads, same.heads)
    assert not torch.equal(one.heads, another.heads)
    figure = entity_map(model, small_graph, "a next", most=10)
    assert figure.get_suptitle() == f"a next: 10 of {one.facts} facts, every vector at unit length"


def test_a_plane_has_orthonormal_axes_and_one_sign() -> None:
    rows = torch.randn(30, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    plane, stretched = Plane.fit(rows), Plane.fit(3 * rows)
    torch.testing.assert_close(plane.axes @ plane.axes.T, torch.eye(2, dtype=torch.float64))
    torch.testing.assert_close(plane.axes, stretched.axes)
    assert torch.isfinite(directions(torch.zeros(1, 3))).all()
    assert Plane.fit(torch.ones(1, 3)).shares[0] == 0.0  # one fact, one direction: nothing varies


def test_what_cannot_be_mapped_is_said(small_graph: Graph) -> None:
    with pytest.raises(UserError, match="TransE compares by a distance"):
        entity_map(other("transe", small_graph), small_graph, "a next")
    with pytest.raises(UserError, match="did you mean 'a next'"):
        entity_map(other("bique", small_graph), small_graph, "a nex")
    none = replace(small_graph, train=small_graph.train[small_graph.train[:, 1] != 1])
    with pytest.raises(UserError, match="'b pair' has no training fact"):
        entity_map(other("bique", small_graph), none, "b pair")


def test_a_moving_picture_ends_where_the_map_has_the_queries(small_graph: Graph) -> None:
    model = other("bique", small_graph)
    picture = relation_motion(model, small_graph, "c parent")
    tails, queries, heads = (
        np.asarray(cloud.get_offsets()) for cloud in entity_map(model, small_graph, "c parent").axes[0].collections[1:]
    )
    np.testing.assert_allclose(picture.positions[0], heads, atol=1e-5)
    np.testing.assert_allclose(picture.positions[-1], queries, atol=1e-5)
    still = np.asarray(picture.figure.axes[0].collections[0].get_offsets())
    for frame in (0, len(picture.positions) // 2, len(picture.positions) - 1):
        picture.show(frame)
        np.testing.assert_allclose(picture.moving.get_offsets(), picture.positions[frame])
        np.testing.assert_allclose(np.asarray(picture.figure.axes[0].collections[0].get_offsets()), still)
        assert picture.lines.get_visible() == (frame == len(picture.positions) - 1)
    np.testing.assert_allclose(still, tails)
    assert [word for word in PARTS if any(word in caption for caption in picture.captions)] == list(PARTS)


def test_a_picture_with_null_biquaternions_says_how_many(small_graph: Graph) -> None:
    from bique.analysis.plots import svg

    assert "2 of 4 biquaternions are null and move straight" in svg(
        relation_motion(with_null(made(), 1), small_graph, "b pair").figure
    )
