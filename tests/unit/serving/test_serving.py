from __future__ import annotations

import codecs
import json
from pathlib import Path

import numpy as np
import polars
import pytest
import torch

import bique
from bique.config import parse_config
from bique.errors import UserError
from bique.graph import Graph
from bique.models import Model
from bique.runs import Run
from bique.serving import AnswerTable, Prediction, Query, export_embeddings, read_queries, write_answers
from bique.training import train


@pytest.fixture(scope="module")
def run(small_graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("serving")
    graph = small_graph.save(folder / "graph")
    training = {"epochs": 20, "batch_size": 32, "device": "cpu"}
    config = parse_config({"graph": str(folder / "graph"), "model": {"units": 8}, "training": training})
    run = Run.create(config, graph, folder / "run")
    train(run, graph)
    return run


def test_three_lines_of_python_give_a_table(run: Run) -> None:
    predictor = bique.load(run.path)
    table = predictor.tails("entity 04", "c parent", top=3)
    assert "entity 04  —c parent→  ?" in str(table)
    assert len(table) == 3


def test_tails_are_the_best_scores_of_all_entities_with_softmax_probabilities(run: Run, small_graph: Graph) -> None:
    model, _ = run.model()
    head, relation = 7, 1
    scores = model.score_all(torch.tensor([head]), torch.tensor([relation]))[0]
    order = scores.argsort(descending=True).tolist()
    table = bique.load(run.path).tails(small_graph.entities[head], "b pair", top=40)
    assert [one.name for one in table] == [small_graph.entities[i] for i in order]
    assert [one.probability for one in table] == pytest.approx(scores.softmax(0)[order].tolist(), rel=1e-5)
    assert sum(one.probability for one in table) == pytest.approx(1, rel=1e-5)


def test_heads_are_tails_of_the_inverse_relation(run: Run, small_graph: Graph) -> None:
    model, _ = run.model()
    scores = model.score_all(torch.tensor([3]), torch.tensor([small_graph.inverse(2)]))[0]
    best = small_graph.entities[int(scores.argmax())]
    assert bique.load(run.path).heads("c parent", "entity 03", top=1)[0].name == best


def test_known_facts_are_marked_and_left_out_on_request(run: Run, small_graph: Graph) -> None:
    head, relation, tail = (int(i) for i in small_graph.train[0])
    names = small_graph.entities[head], small_graph.relations[relation]
    predictor = bique.load(run.path)
    every = predictor.tails(*names, top=40)
    known = {one.name for one in every if one.known}
    assert known == {small_graph.entities[int(i)] for i in small_graph.answers.of(head, relation)}
    assert small_graph.entities[tail] in known
    new = predictor.tails(*names, top=40, only_new=True)
    assert [one.name for one in new] == [one.name for one in every if not one.known]
    assert [one.rank for one in new] == [one.rank for one in every if not one.known]


def test_relations_between_two_entities_are_ranked_by_score(run: Run, small_graph: Graph) -> None:
    model, _ = run.model()
    table = bique.load(run.path).relations("entity 04", "entity 01")
    every = torch.arange(3)
    scores = model.score(torch.full((3,), 4), every, torch.full((3,), 1))
    assert [one.name for one in table] == [small_graph.relations[i] for i in scores.argsort(descending=True).tolist()]
    assert sum(one.probability for one in table) == pytest.approx(1, rel=1e-5)
    assert next(one for one in table if one.name == "c parent").known


def test_a_misspelt_name_gets_the_nearest_names(run: Run) -> None:
    with pytest.raises(UserError, match="no entity is called 'entty 04'; the nearest are: entity 04"):
        bique.load(run.path).tails("entty 04", "c parent")
    with pytest.raises(UserError, match="no relation is called 'c_parent'; the nearest are: c parent"):
        bique.load(run.path).tails("entity 04", "c_parent")


def test_a_run_whose_graph_has_gone_still_answers_but_knows_no_facts(run: Run, tmp_path: Path) -> None:
    moved = run.path.parent / "moved"
    graph = run.config.graph
    assert graph is not None
    graph.rename(moved)
    try:
        predictor = bique.load(run.path)
        assert predictor.tails("entity 04", "c parent")[0].known is None
        with pytest.raises(UserError, match="--graph"):
            predictor.tails("entity 04", "c parent", only_new=True)
        assert bique.load(run.path, moved).tails("entity 04", "c parent")[0].known is not None
    finally:
        moved.rename(graph)


def test_questions_in_a_file_get_answers_in_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("entity 04\tc parent\t?\n?\ta next\tentity 01\r\nentity 04\t?\tentity 01\n")
    predictor = bique.load(run.path)
    asked = read_queries(tmp_path / "q.tsv")
    assert asked[2] == Query("entity 04", None, "entity 01")
    for name in ("a.tsv", "a.jsonl"):
        count = write_answers(tmp_path / name, zip(asked, predictor.answer(asked, top=2), strict=True))
        assert count == 3
    rows = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()]
    assert rows[0] == ["head", "relation", "tail", "rank", "answer", "score", "probability", "known", "label"]
    assert len(rows) == 1 + 3 * 2
    first = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[0])
    assert first["answers"][0]["name"] == rows[1][4]


def test_many_questions_at_once_get_the_answers_of_one_at_a_time(run: Run, small_graph: Graph) -> None:
    predictor = bique.load(run.path)
    names = list(small_graph.entities)
    asked = [Query(name, "c parent", None) for name in names] + [Query(None, "a next", name) for name in names]
    asked += [Query(name, "b pair", None) for name in names * 2]  # more than one block of products
    asked.insert(50, Query("entity 04", None, "entity 01"))
    together = predictor.answer(asked, top=4, only_new=True)
    assert len(together) == len(asked)
    for place in (0, 49, 50, 51, 81, 128, 160):
        alone = predictor.answer([asked[place]], top=4, only_new=True)[0]
        assert [one.name for one in together[place]] == [one.name for one in alone]
        assert [one.score for one in together[place]] == pytest.approx([one.score for one in alone], rel=1e-5)


def test_only_new_still_gives_as_many_answers_as_asked_for(run: Run, small_graph: Graph) -> None:
    head = int(small_graph.train[0, 0])
    for relation in small_graph.relations:
        table = bique.load(run.path).tails(small_graph.entities[head], relation, top=5, only_new=True)
        assert len(table) == 5
        assert not any(one.known for one in table)


def test_answers_that_a_file_cannot_keep_are_refused(tmp_path: Path) -> None:
    table = AnswerTable("q", [Prediction(1, "a\tb", 0.5, 0.5, None)])
    with pytest.raises(UserError, match=r"holds a tab or line break.*use \.jsonl"):
        write_answers(tmp_path / "a.tsv", [(Query("x", "r", None), table)])
    assert write_answers(tmp_path / "a.jsonl", [(Query("x", "r", None), table)]) == 1
    with pytest.raises(UserError, match=r"\.tsv or \.jsonl"):
        write_answers(tmp_path / "a.csv", [])
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", "a\tb"),
        ("q.tsv", "a\tb\tc"),
        ("q.tsv", "?\t?\tc"),
        ("q.jsonl", "{"),
        ("q.jsonl", '{"head": "a"}'),
        ("q.jsonl", "[1]"),
        ("q.jsonl", '{"head": 1, "tail": "a"}'),
    ],
)
def test_a_bad_question_names_its_line(name: str, text: str, tmp_path: Path) -> None:
    good = '{"head": "a", "tail": "b"}' if name.endswith("jsonl") else "a\tb\t?"
    (tmp_path / name).write_text(f"{good}\n{text}\n")
    with pytest.raises(UserError, match=f"{name}:2: "):
        read_queries(tmp_path / name)


@pytest.mark.parametrize(("name", "line"), [("q.tsv", "a\tb\t?"), ("q.jsonl", '{"head": "a", "relation": "b"}')])
def test_questions_in_other_encodings(name: str, line: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(codecs.BOM_UTF8 + line.encode())
    assert [(one.head, one.relation, one.tail) for one in read_queries(file)] == [("a", "b", None)]
    file.write_text(line, encoding="utf-16")
    with pytest.raises(UserError, match="UTF-16, not UTF-8; convert it"):
        read_queries(file)
    file.write_bytes(f"{line}\n{line.replace('a', 'é')}".encode("latin-1"))
    with pytest.raises(UserError, match=f"{name}:2: not UTF-8 text; convert"):
        read_queries(file)


@pytest.mark.parametrize("top", [0, -1])
def test_no_answers_are_not_a_question(top: int, run: Run) -> None:
    with pytest.raises(UserError, match="at least one answer"):
        bique.load(run.path).tails("entity 04", "c parent", top=top)


def test_exported_tables_hold_the_embeddings_with_their_names(run: Run, tmp_path: Path) -> None:
    model, _ = run.model()
    entity = model.entities.numpy()
    export_embeddings(run, tmp_path / "e.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "e.npy"), entity)
    names = [json.loads(line) for line in (tmp_path / "e.names.txt").read_text().splitlines()]
    assert names == list(run.names.entities)
    export_embeddings(run, tmp_path / "e.parquet")
    frame = polars.read_parquet(tmp_path / "e.parquet")
    np.testing.assert_array_equal(frame["embedding"].to_numpy(), entity)
    assert frame["name"].to_list() == names
    export_embeddings(run, tmp_path / "r.tsv", "relations")
    rows = [line.split("\t") for line in (tmp_path / "r.tsv").read_text().splitlines()]
    assert [row[0] for row in rows] == ["a next", "b pair", "c parent", "a next⁻¹", "b pair⁻¹", "c parent⁻¹"]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=np.float32), model.relation.numpy())
    with pytest.raises(UserError, match=r"choose one of \.npy"):
        export_embeddings(run, tmp_path / "e.xlsx")


CONVOLVED = {"units": 16, "height": 4, "kernel": 3, "filters": 2}


def exported_relations(model: dict[str, object], small_graph: Graph, tmp_path: Path) -> tuple[np.ndarray, Model]:
    graph = small_graph.save(tmp_path / "graph")
    tree = {"graph": str(tmp_path / "graph"), "model": model, "penalty": {"weight": 0.0}}
    config = parse_config({**tree, "training": {"epochs": 1, "device": "cpu"}})
    run = Run.create(config, graph, tmp_path / "run")
    train(run, graph)
    export_embeddings(run, tmp_path / "r.npy", "relations")
    names = (tmp_path / "r.names.txt").read_text(encoding="utf-8").splitlines()
    found, (trained, _) = np.load(tmp_path / "r.npy"), run.model()
    assert len(found) == len(names) == 6
    return found, trained


@pytest.mark.parametrize("model", [{"name": "rotate", "units": 4}, {"name": "compgcn", "start": 8, **CONVOLVED}])
def test_relations_are_exported_as_the_model_uses_them(
    model: dict[str, object], small_graph: Graph, tmp_path: Path
) -> None:
    """RotatE keeps no inverse relations, and CompGCN's get their width by a product: tables alone would not do."""
    found, trained = exported_relations(model, small_graph, tmp_path)
    heads, relations = torch.arange(6), torch.arange(6)
    queries = trained.transform(trained.entities[heads], torch.from_numpy(found)[relations])
    torch.testing.assert_close(queries, trained.query(heads, relations))


def test_relations_are_exported_normalised_where_the_model_normalises_them(small_graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    found, _ = exported_relations({"name": "duale", "units": 4}, small_graph, tmp_path / "one")
    np.testing.assert_allclose(np.linalg.norm(found.reshape(6, 8, 4)[:, :4], axis=1), 1, rtol=1e-5)
    model = {"name": "bique", "units": 4, "relation_norm": "vector"}
    found, trained = exported_relations(model, small_graph, tmp_path / "other")
    product, translation = found[:, :32], found[:, 32:]
    np.testing.assert_allclose(np.linalg.norm(product.reshape(6, 4, 4, 2), axis=(1, 3)), 1, rtol=1e-5)
    np.testing.assert_array_equal(translation, trained.relation.numpy()[:, 32:])
