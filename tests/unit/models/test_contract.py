"""What every model of MODELS promises."""

from __future__ import annotations

import pytest
import torch

from bique.config import ModelConfig, ObjectiveConfig, PenaltyConfig
from bique.models import MODELS, BiQUE, Model, build_model
from bique.training.step import Objective

VARIANTS = {
    "bique": ModelConfig(units=3),
    "without translation": ModelConfig(units=3, translation=False),
    "vector norm": ModelConfig(units=3, relation_norm="vector"),
    "unit norm": ModelConfig(units=3, relation_norm="unit"),
}
OBJECTIVES = {
    "softmax": (ObjectiveConfig(), PenaltyConfig(weight=0.1)),
    "logistic": (ObjectiveConfig(loss="logistic"), PenaltyConfig(weight=0.1, head="plain", relation_part="both")),
}


@pytest.fixture(params=VARIANTS)
def model(request: pytest.FixtureRequest, small_graph) -> Model:
    config = VARIANTS[request.param].model_copy(update={"initial_scale": 0.5})
    return build_model(config, small_graph, seed=7).double()


def some_triples(model: Model, count: int = 20) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    ids = [torch.randint(n, (count,), generator=generator) for n in (model.num_entities, model.num_relations)]
    return torch.stack([*ids, torch.randint(model.num_entities, (count,), generator=generator)], dim=1)


def test_every_model_of_the_table_is_tried_here() -> None:
    assert {config.name for config in VARIANTS.values()} == set(MODELS)


def test_score_of_one_triple_is_its_entry_among_all_candidates(model: Model) -> None:
    h, r, t = some_triples(model).unbind(1)
    torch.testing.assert_close(model.score(h, r, t), model.score_all(h, r).gather(1, t[:, None])[:, 0])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients_are_those_of_finite_differences(model: Model, name: str) -> None:
    objective = Objective(*OBJECTIVES[name])
    batch = some_triples(model, 5)

    def loss(entity: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(
            _Call(model, objective), {"model.entity": entity, "model.relation": relation}, (batch,)
        )

    tables = [table.detach().clone().requires_grad_() for table in (model.entity, model.relation)]
    assert torch.autograd.gradcheck(loss, tables, fast_mode=True)


class _Call(torch.nn.Module):
    def __init__(self, model: Model, objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.objective(self.model, batch)


def test_padding_rows_take_part_in_nothing(model: Model) -> None:
    h, r, _ = some_triples(model).unbind(1)
    before = model.score_all(h, r)
    assert before.shape[1] == model.num_entities
    with torch.no_grad():
        model.entity[model.num_entities :] = 1e6
    torch.testing.assert_close(model.score_all(h, r), before, rtol=0, atol=0)
    assert model.tables()["entity"].shape[0] == model.num_entities
    Objective(*OBJECTIVES["softmax"])(model, some_triples(model)).backward()
    assert model.entity.grad[model.num_entities :].abs().max() == 0
    assert len(model.entity) % 128 == 0


def test_the_seed_alone_decides_the_start(small_graph) -> None:
    one, same, other = (build_model(VARIANTS["bique"], small_graph, seed).tables()["entity"] for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_real_coefficients_make_bique_quate() -> None:
    """With imaginary parts 0 the score is the quaternion product's: nothing of the hyperbolic part is left."""
    model = BiQUE(6, 4, units=2, generator=torch.Generator().manual_seed(0), scale=1.0).double()
    with torch.no_grad():
        for table in (model.entity, model.relation):
            table.view(len(table), -1, 2)[..., 1] = 0
    h, r, t = some_triples(model).unbind(1)
    p = (model.entity[h] + model.relation[r, 16:]).view(-1, 4, 2, 2)[..., 0]
    q = model.relation[r, :16].view(-1, 4, 2, 2)[..., 0]
    w = p[:, 0] * q[:, 0] - (p[:, 1:] * q[:, 1:]).sum(1)
    v = p[:, :1] * q[:, 1:] + p[:, 1:] * q[:, :1] + torch.linalg.cross(p[:, 1:], q[:, 1:], dim=1)
    rotated = torch.cat([w[:, None], v], dim=1)
    expected = (rotated * model.entity[t].view(-1, 4, 2, 2)[..., 0]).sum((1, 2))
    torch.testing.assert_close(model.score(h, r, t), expected)


def test_translation_is_a_preference_of_the_relation_for_tails() -> None:
    """⟨(Q_h + Q⁺)Q^×, Q_t⟩ − ⟨Q_h Q^×, Q_t⟩ does not depend on the head."""
    model = BiQUE(6, 4, units=2, generator=torch.Generator().manual_seed(0), scale=1.0).double()
    heads, relation = torch.arange(6), torch.full((6,), 2)
    translated = model.score_all(heads, relation)
    with torch.no_grad():
        model.relation[:, 16:] = 0
    preference = translated - model.score_all(heads, relation)
    torch.testing.assert_close(preference, preference[:1].expand(6, -1))
