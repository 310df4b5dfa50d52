from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bique.config import RunConfig, dump_config, load_config, override, parse_config
from bique.errors import UserError


def written(folder: Path, text: str) -> Path:
    (folder / "recipe.toml").write_text(text, encoding="utf-8")
    return folder / "recipe.toml"


@given(
    epochs=st.integers(1, 10**6),
    weight=st.floats(0, 1e6),
    learning_rate=st.floats(1e-12, 1e6),
    optimizer=st.sampled_from(["adagrad", "adam"]),
    patience=st.none() | st.integers(1, 100),
    dataset=st.text(min_size=1),
)
def test_a_dumped_configuration_reads_back_the_same(
    epochs: int, weight: float, learning_rate: float, optimizer: str, patience: int | None, dataset: str
) -> None:
    config = RunConfig.model_validate(
        {
            "dataset": dataset,
            "penalty": {"weight": weight},
            "optimizer": {"name": optimizer, "learning_rate": learning_rate},
            "training": {"epochs": epochs, "patience": patience},
        }
    )
    import tomllib

    assert parse_config(tomllib.loads(dump_config(config))) == config


def test_overrides_win_and_leave_the_tree_they_were_given_alone() -> None:
    tree = {"dataset": "wordnet", "training": {"epochs": 3}}
    changed = override(tree, ["training.epochs=5", "optimizer.name=adam", "optimizer.betas=[0.8, 0.9]", "graph=a=b"])
    assert changed["training"] == {"epochs": 5}
    assert changed["optimizer"] == {"name": "adam", "betas": [0.8, 0.9]}
    assert changed["graph"] == "a=b"
    assert tree == {"dataset": "wordnet", "training": {"epochs": 3}}


def test_adam_has_a_rate_and_an_eps_of_its_own_unless_they_are_given() -> None:
    tree = {"dataset": "wordnet"}
    plain, adam = parse_config(tree), parse_config(override(tree, ["optimizer.name=adam"]))
    assert (plain.optimizer.learning_rate, plain.optimizer.eps) == (0.1, 1e-10)
    assert (adam.optimizer.learning_rate, adam.optimizer.eps) == (0.01, 1e-8)
    given = parse_config(override(tree, ["optimizer.name=adam", "optimizer.learning_rate=0.1", "optimizer.eps=1e-10"]))
    assert (given.optimizer.learning_rate, given.optimizer.eps) == (0.1, 1e-10)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dataset = 'wordnet'\n[training]\nepoch = 3", "unknown key 'training.epoch'; did you mean 'epochs'?"),
        ("dataset = 'wordnet'\n[trainings]\nepochs = 3", "unknown key 'trainings'; did you mean 'training'?"),
        ("dataset = 'wordnet'\n[training]\nepochs = 0", "training.epochs: input should be greater than or equal to 1"),
        ("dataset = 'wordnet'\n[training]\nepochs = 'many'", "(found 'many')"),
        ("dataset = 'wordnet'\n[penalty]\nweight = nan", "penalty.weight"),
        ("dataset = 'wordnet'\n[optimizer]\nbetas = [0.9, 0.99]", "betas belong to adam"),
        ("dataset = 'wordnet'\n[training]\nengine = 'plain'\nprecision = 'bf16'", "multiplies in fp32"),
        ("dataset = 'wordnet'\ngraph = 'x'", "exactly one of dataset"),
        ("", "exactly one of dataset"),
        ("dataset = 'wordnet'\n[training]\nseed = 4294967296", "training.seed"),
        ("dataset = 'wordnet'\n[model]\ntranslation = false\n[penalty]\nrelation_part = 'both'", "use 'product'"),
        ("dataset = 'wordnet'\n[model]\nname = 'rotate'\ninitial_scale = 1e-40", "greater than or equal to 1e-30"),
        ("dataset = 'wordnet'\n[optimizer]\neps = 1e-60", "greater than or equal to 1e-30"),
        ("dataset = 'wordnet'\n[model]\nname = 'interacte'\npermutations = 1001", "less than or equal to 1000"),
        ("dataset = 'wordnet'\n[evaluation]\nresamples = 1000001", "less than or equal to 1000000"),
        ("dataset = ", "not valid TOML"),
    ],
)
def test_a_wrong_recipe_names_the_file_the_key_and_the_remedy(text: str, expected: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(UserError) as caught:
        load_config(file)
    assert expected in str(caught.value)
    assert str(file) in str(caught.value)


def test_none_takes_an_optional_setting_away_and_no_other() -> None:
    tree = {"dataset": "wordnet", "training": {"patience": 3}}
    assert parse_config(override(tree, ["training.patience=none"])).training.patience is None
    with pytest.raises(UserError, match=r"training\.epochs"):
        parse_config(override(tree, ["training.epochs=none"]))


@pytest.mark.parametrize("assignment", ["training.epochs", "=3", ""])
def test_an_override_without_key_or_value_is_refused(assignment: str) -> None:
    with pytest.raises(UserError, match="expected key=value"):
        override({}, [assignment])


def test_a_missing_recipe_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        load_config(tmp_path / "none.toml")
