"""A label is asked by where it says which entity is meant, and shown wherever the entity is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars
import pytest

import bique
from bique.config import parse_config
from bique.errors import UserError
from bique.graph import Graph, Labels, Vocabulary
from bique.runs import Run
from bique.serving import AnswerTable, Named, Prediction, Query, export_embeddings, read_queries, write_answers
from bique.serving.naming import find_entity
from bique.training import train

# entity 07 is labelled with another's name, 20 to 29 share one label, 5 and 6 are hostile, 30 and more have none
SHARED = range(20, 30)
LABELS = {i: f"Town of {chr(65 + i)}" for i in range(20)} | dict.fromkeys(SHARED, "Springfield")
LABELS |= {5: "<script>alert('\t')</script>", 6: "\u202eevil" + "x" * 10_000, 7: "entity 08"}


@pytest.fixture(scope="module")
def run(small_graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("naming")
    graph = replace(small_graph, labels=Labels.from_places(40, LABELS)).save(folder / "graph")
    training = {"epochs": 1, "batch_size": 32, "device": "cpu"}
    config = parse_config({"graph": str(folder / "graph"), "model": {"units": 2}, "training": training})
    run = Run.create(config, graph, folder / "run")
    train(run, graph)
    return run


def test_a_name_that_only_looks_the_same_is_said_to(small_graph: Graph) -> None:
    composed, apart = "K\u00f6ln", "Ko\u0308ln"
    entities = Vocabulary.from_names([composed, *(f"entity {i:02d}" for i in range(39))])
    names = replace(small_graph, entities=entities)
    with pytest.raises(UserError, match=f"the nearest are: {composed}.*; {composed} looks the same but is other char"):
        find_entity(names, apart, "")
    with pytest.raises(UserError) as found:
        find_entity(names, "Koeln", "")
    assert "looks the same" not in str(found.value)


@pytest.fixture(params=["with its graph", "without it"])
def predictor(request: pytest.FixtureRequest, run: Run) -> bique.Predictor:
    loaded = bique.load(run.path)
    if request.param == "with its graph":
        return loaded
    return bique.Predictor(loaded.model, run.names)


def test_every_answer_has_its_label(predictor: bique.Predictor, small_graph: Graph) -> None:
    table = predictor.tails("entity 01", "a next", top=40)
    assert {one.name: one.label for one in table} == {small_graph.entities[i]: LABELS.get(i) for i in range(40)}
    assert table.given == {"head": Named("entity 01", "Town of B"), "relation": Named("a next")}
    assert predictor.heads("a next", "entity 01").given["tail"] == Named("entity 01", "Town of B")
    between = predictor.relations("entity 01", "entity 31")
    assert between.given == {"head": Named("entity 01", "Town of B"), "tail": Named("entity 31", None)}
    assert {one.label for one in between} == {None}


def test_the_table_shows_the_label_first_and_the_id_beside_it(predictor: bique.Predictor) -> None:
    shown = str(predictor.tails("entity 01", "a next", top=40))
    assert "Town of B (entity 01)  —a next→  ?" in shown
    assert "Town of D (entity 03)" in shown
    assert "│ entity 33 " in shown
    assert "\u202e" not in shown
    assert "\\u202eevil" in shown
    assert "x" * 1000 not in shown.replace(" ", "").replace("│", "").replace("\n", "")


def test_a_label_asks_for_the_entity_that_has_it(predictor: bique.Predictor) -> None:
    by_name, by_label = predictor.tails("entity 01", "a next"), predictor.tails("Town of B", "a next")
    assert by_label.predictions == by_name.predictions
    assert by_label.given == by_name.given
    assert by_label.question == "Town of B  —a next→  ?"
    assert predictor.heads("a next", LABELS[6]).given["tail"].name == "entity 06"
    assert predictor.relations("Town of B", LABELS[5]).given["tail"].name == "entity 05"


def test_a_name_comes_before_a_label(predictor: bique.Predictor) -> None:
    assert LABELS[7] == "entity 08"
    assert predictor.tails("entity 08", "a next").given["head"].name == "entity 08"


def test_a_label_of_several_is_refused_with_their_ids(predictor: bique.Predictor) -> None:
    with pytest.raises(UserError, match=r"10 entities have the label 'Springfield': entity 20, .*, …; give"):
        predictor.tails("Springfield", "a next")


def test_a_misspelling_finds_labels_and_names(predictor: bique.Predictor) -> None:
    with pytest.raises(UserError, match=r"no entity is called 'Twn of B'; the nearest are: Town of B \(entity 01\)"):
        predictor.tails("Twn of B", "a next")
    with pytest.raises(UserError, match="the nearest are: entity 33, "):
        predictor.tails("entity 33!", "a next")
    with pytest.raises(UserError) as error:
        predictor.tails("\u202eevil" + "x" * 9_000, "a next")
    assert "\u202e" not in str(error.value)
    assert len(str(error.value)) < 2000


def test_relations_have_no_labels(predictor: bique.Predictor) -> None:
    with pytest.raises(UserError, match="no relation is called 'Springfield'"):
        predictor.tails("entity 01", "Springfield")


def test_files_of_answers_have_a_further_column_and_key(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("Town of B\ta next\t?\n")
    predictor, asked = bique.load(run.path), read_queries(tmp_path / "q.tsv")
    tables = [AnswerTable(str(asked[0]), [one for one in predictor.answer(asked, 40)[0] if one.name != "entity 05"])]
    for name in ("a.tsv", "a.jsonl"):
        write_answers(tmp_path / name, zip(asked, tables, strict=True))
    heading, *rows = [line.split("\t") for line in (tmp_path / "a.tsv").read_text("utf-8").splitlines()]
    assert (heading[4], heading[-1]) == ("answer", "label")
    told = json.loads((tmp_path / "a.jsonl").read_text("utf-8"))
    expected = {f"entity {i:02d}": LABELS.get(i) for i in range(40) if i != 5}
    assert {row[4]: row[-1] or None for row in rows} == expected
    assert {one["name"]: one["label"] for one in told["answers"]} == expected
    assert predictor.answer(asked)[0].as_dict()["given"]["head"] == {"name": "entity 01", "label": "Town of B"}


def test_a_label_that_a_file_cannot_keep_is_refused(tmp_path: Path) -> None:
    table = AnswerTable("q", [Prediction(1, "a", 0.5, 0.5, None, "A\tB")])
    with pytest.raises(UserError, match=r"holds a tab or line break.*use \.jsonl"):
        write_answers(tmp_path / "a.tsv", [(Query("x", "r", None), table)])
    assert write_answers(tmp_path / "a.jsonl", [(Query("x", "r", None), table)]) == 1


def test_labels_that_the_graph_got_later_are_shown(run: Run, small_graph: Graph, tmp_path: Path) -> None:
    corrected = replace(small_graph, labels=Labels.from_places(40, {1: "New Town"})).save(tmp_path / "corrected")
    plain = small_graph.save(tmp_path / "plain")
    assert corrected.hash == plain.hash == run.graph().hash
    assert bique.load(run.path, tmp_path / "corrected").tails("New Town", "a next").given["head"].name == "entity 01"
    # a graph without labels: those that the run kept
    assert bique.load(run.path, tmp_path / "plain").tails("Town of B", "a next").given["head"].name == "entity 01"


def test_an_exported_table_has_the_labels_beside_the_names(run: Run, tmp_path: Path) -> None:
    export_embeddings(run, tmp_path / "e.parquet")
    frame = polars.read_parquet(tmp_path / "e.parquet")
    assert frame.columns == ["name", "label", "embedding"]
    assert {place: label for place, label in enumerate(frame["label"]) if label is not None} == LABELS
    export_embeddings(run, tmp_path / "r.parquet", "relations")
    assert polars.read_parquet(tmp_path / "r.parquet").columns == ["name", "embedding"]
