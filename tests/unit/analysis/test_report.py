from __future__ import annotations

import json
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from bique.analysis import plots
from bique.analysis.report import report
from bique.analysis.report.html import element, joined, name, number
from bique.analysis.report.questions import choose
from bique.analysis.words import facts_in_words, gained, movement
from bique.config import parse_config
from bique.errors import UserError
from bique.graph import Graph, Vocabulary
from bique.runs import Run
from bique.training import train

Make = Callable[..., Run]


@pytest.fixture
def make(small_graph_directory: Path, tmp_path: Path) -> Make:
    """A run of the small graph, trained and ranked unless told otherwise."""
    graph = Graph.open(small_graph_directory)

    def made(folder: str, *, epochs: int = 2, ranked: bool = True, ties: str = "worst", **model: object) -> Run:
        tree = {"graph": str(small_graph_directory), "model": {"units": 2, **model}, "training": {"epochs": 2}}
        run = Run.create(parse_config({**tree, "evaluation": {"ties": ties}}), graph, tmp_path / folder)
        if epochs:
            train(run, graph)
        if ranked:
            run.rank(graph, "test")
        return run

    return made


class Reader(HTMLParser):
    """Every tag with its attributes, every table as rows of cells, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.values: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.values.append(dict(attrs).get("data-value") or "")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag  # every element is closed, in order

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.text += data
        if {"td", "th"} & set(self._open):
            self.tables[-1][-1][-1] += data


def test_text_is_escaped_wherever_it_enters() -> None:
    bad = "<script>alert('&\"')</script>"
    assert "<script" not in joined(bad, [bad], name(bad), element("p", bad, title=bad))
    read = Reader(element("p", bad, title=bad))
    assert read.tags == [("p", {"title": bad})]
    assert read.text == bad


def test_marks_that_turn_writing_round_are_shown_and_endless_names_cut() -> None:
    assert "\u202e" not in name("a\u202eb")
    assert "\\u202e" in name("a\u202eb")
    assert len(name("x" * 10_000)) < 300
    assert "10,000 characters" in name("x" * 10_000)


def test_what_is_no_number_is_a_dash() -> None:
    assert [number(value) for value in (None, float("nan"), float("inf"), 0.5, 1234)] == [
        "–",
        "–",
        "–",
        "0.500",
        "1,234",
    ]


def test_the_page_needs_nothing_but_itself(make: Make) -> None:
    read = Reader(report([make("run")]))
    for tag, attributes in read.tags:
        for key in ("src", "href", "xlink:href", "action", "poster", "srcset", "data"):
            assert (attributes.get(key) or "#").startswith(("#", "data:")), (tag, attributes)
        assert not any(key.startswith("on") for key in attributes), (tag, attributes)
        assert "style" not in attributes, (tag, attributes)
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
    anchors = {attributes["href"] for tag, attributes in read.tags if tag == "a"}
    assert anchors <= {f"#{attributes['id']}" for _, attributes in read.tags if "id" in attributes}
    (policy,) = (found["content"] for tag, found in read.tags if found.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_the_figures_are_those_that_the_run_has_saved_digit_for_digit(make: Make) -> None:
    run = make("run")
    saved = json.loads((run.path / "evaluations" / "test.json").read_text(encoding="utf-8"))
    read = Reader(report([run]))
    row = next(row for table in read.tables for row in table if row[0] == "run")
    for cell, key in zip(row[1:], ("mrr", "hits_at_1", "hits_at_3", "hits_at_10"), strict=False):
        low, high = saved["interval_95"][key]
        assert cell == f"{saved['metrics'][key]:.3f}[{low:.3f} {high:.3f}]"
    for metrics in [saved["metrics"], *saved["by"]["direction"].values(), *saved["by"]["relation"].values()]:
        assert all(repr(metrics[key]) in read.values for key in ("mrr", "hits_at_1", "hits_at_10"))


def test_runs_that_were_not_measured_alike_do_not_share_a_table(make: Make) -> None:
    runs = [make("one"), make("two"), make("other", ties="mean")]
    read = Reader(report(runs))
    results = [table for table in read.tables if "MRR adjusted for chance" in table[0]]
    first = [[row[0] for row in table[1:-1]] for table in results]
    assert first == [["one", "two"], ["other"]]
    assert "ties: worst / mean" in read.text
    assert "Difference from one" in read.text


def test_a_run_that_lacks_something_is_told_with_the_command_that_mends_it(make: Make) -> None:
    unranked = Reader(report([make("unranked", ranked=False)])).text
    assert "not ranked on test yet; do it with: bique evaluate" in unranked
    assert "Turns its blocks by" in unranked
    new = Reader(report([make("new", epochs=0, ranked=False)])).text
    assert "this run was stopped after epoch 0 of 2; go on with: bique resume".lower() in new.lower()
    assert "has no epoch behind it" in new


def test_other_models_say_that_they_have_no_geometry(make: Make) -> None:
    read = Reader(report([make("run", name="distmult")]))
    assert "read off the biquaternions of BiQUE; this run is of DistMult" in read.text
    assert "turn θ" not in read.text
    assert "How well this run answers it" in read.text


def test_without_matplotlib_the_page_says_once_what_draws_the_pictures(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make("run")
    with_pictures = Reader(report([run]))
    assert sum(tag == "img" for tag, _ in with_pictures.tags) == 5
    assert all(found["alt"] for tag, found in with_pictures.tags if tag == "img")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    without = Reader(report([run]))
    assert without.text.count("pip install 'bique[plots]'") == 1
    assert not any(tag == "img" for tag, _ in without.tags)


def test_every_relation_has_a_block_with_the_words_of_the_command_line(make: Make, small_graph: Graph) -> None:
    from bique.analysis import relation_geometry, relation_patterns

    run = make("run")
    text = Reader(report([run])).text.lower()
    learned = relation_geometry(run.model()[0], small_graph)
    for pattern, found in zip(relation_patterns(small_graph), learned, strict=False):
        told = movement(found)
        for line in (*facts_in_words(pattern), told.shift, told.turn, told.stretch, told.scale, told.together):
            assert line.lower() in text


def test_the_best_relation_is_not_one_that_training_gives_away(
    make: Make, small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bique.analysis.report.results.ENOUGH", 2)
    run = make("run")
    text, found, mirrored = Reader(report([run])).text, run.evaluation("test"), small_graph.mirrored("test")
    values = {}
    for relation in range(small_graph.num_relations):
        chosen = np.tile((small_graph.test[:, 1] == relation) & ~mirrored, 2)
        values[small_graph.relations[relation]] = float((1 / found.ranks[chosen]).mean())
    best, worst = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    assert mirrored.any()
    assert f"answers {best} ({values[best]:.3f}) best and {worst} ({values[worst]:.3f}) worst (MRR, without" in text


def worked(run: Run, graph: Graph, fact: list[int], rank: int) -> str:
    """What a block says of a question, from the scores themselves."""
    head, relation, tail = fact
    known = set(graph.answers.of(head, relation).tolist()) - {tail}
    scores = run.model()[0].score_all(torch.tensor([head]), torch.tensor([relation]))[0]
    best = [i for i in scores.argsort(descending=True).tolist() if i not in known][:3]
    marked = [f"{graph.entities[i]} ✓" if i == tail else graph.entities[i] for i in best]
    verb = "is" if len(known) == 1 else "are"
    left = f" (Left out: {len(known)} that {verb} known to be right, too.)" if known else ""
    rows = run.model()[0].entities.detach()
    rows = rows / rows.norm(dim=1, keepdim=True)
    near = [i for i in (rows @ rows[head]).argsort(descending=True).tolist() if i not in known | {head}][:3]
    neighbours = [f"{graph.entities[i]} ✓" if i == tail else graph.entities[i] for i in near]
    before = f"{graph.entities[head]} lies nearest to {', '.join(neighbours)}."
    moved = f"Moved by this relation it points at {', '.join(marked)}."
    return f"{before}{moved} Right: {graph.entities[tail]}, at place {rank}.{left}"


def test_a_typical_question_and_another_one_are_worked_before_and_after_the_movement(
    make: Make, small_graph: Graph
) -> None:
    run = make("run")
    text = Reader(report([run])).text
    for relation in range(small_graph.num_relations):
        places = np.flatnonzero(small_graph.test[:, 1] == relation)
        ranks = run.evaluation("test").ranks[places].astype(int)
        order = np.argsort(ranks, kind="stable")
        middle = order[len(order) // 2]
        other = order[-1] if ranks[middle] == 1 else order[0]
        for place in (middle, other):
            assert worked(run, small_graph, small_graph.test[places[place]].tolist(), ranks[place]) in text
    assert "A typical one" in text
    assert "lies nearest to" not in Reader(report([make("other", name="distmult")])).text
    assert "A fact of training, as none of test was ranked" in Reader(report([make("new", ranked=False)])).text


def test_the_figures_of_a_relation_are_split_by_direction_and_by_what_training_gives_away(
    make: Make, small_graph: Graph
) -> None:
    run = make("run")
    text, found, test = Reader(report([run])).text, run.evaluation("test"), len(small_graph.test)
    mirrored = small_graph.mirrored("test")
    for relation in range(small_graph.num_relations):
        mine = small_graph.test[:, 1] == relation
        tails = found.ranks[:test][mine]
        first, ten = (float((tails <= k).mean()) for k in (1, 10))
        assert f"Asked for the tail: first in {first:.0%}, among the first ten in {ten:.0%} (naming" in text
        if (mine & mirrored).any():
            given = f"{(mine & mirrored).sum()} of its {mine.sum()} test facts stand in training the other way round"
            assert given in text
            assert f"training has {(mine & mirrored).sum()} of {mine.sum()} test facts turned round" in text
    rest = 1 / found.ranks[~np.tile(mirrored, 2)]
    assert 0 < len(rest) < 2 * test
    assert f"(MRR {rest.mean():.3f})" in text


@pytest.mark.parametrize(("most", "few"), [(100, 1), (2, 1), (100, 20)])
def test_a_block_says_where_tails_stand_before_and_after_the_movement(
    make: Make, small_graph: Graph, monkeypatch: pytest.MonkeyPatch, most: int, few: int
) -> None:
    """Both without the head and other known tails, on the same facts; a sample of them where there are many."""
    monkeypatch.setattr("bique.analysis.report.blocks.MOST_NEAR", most)
    monkeypatch.setattr("bique.analysis.report.blocks.FEW", few)
    run = make("run")
    model = run.model()[0]
    text, rows = Reader(report([run])).text, model.entities.detach()
    rows = rows / rows.norm(dim=1, keepdim=True)
    for relation in range(small_graph.num_relations):
        facts = small_graph.test[small_graph.test[:, 1] == relation].tolist()
        facts = facts if most > len(facts) else [facts[0], facts[-1]]
        places: list[list[int]] = [[], []]
        for head, _, tail in facts:
            taken = (set(small_graph.answers.of(head, relation).tolist()) | {head}) - {tail}
            moved = model.score_all(torch.tensor([head]), torch.tensor([relation]))[0]
            for found, values in zip(places, (rows @ rows[head], moved), strict=True):
                order = [i for i in values.argsort(descending=True).tolist() if i not in taken]
                found.append(order.index(tail) + 1)
        shares = [tuple(float(np.mean(np.array(ranks) <= k)) for k in (1, 10)) for ranks in places]
        (a, b), (c, d) = shares
        assert f"Asked for the tail of {len(facts)} test facts (and the head itself left out)" in text
        assert f"has the right one first in {a:.0%} and among the first ten in {b:.0%}; the movement" in text
        verdict = gained(*shares) if few == 1 else "too few questions to tell"
        assert f"has it first in {c:.0%} and among the first ten in {d:.0%}: {verdict}." in text


def test_the_best_and_the_worst_questions_are_those_of_the_ranks() -> None:
    ranks = np.array([1.0, 1.0, 1.0, 7.0, 2.0])
    relations = np.array([0, 0, 1, 0, 1])
    assert choose(ranks, relations, 3, worst=False).tolist() == [0, 2, 1]  # of equal ranks each relation's first
    assert choose(ranks, relations, 2, worst=True).tolist() == [3, 4]
    assert choose(ranks, relations, 99, worst=True).tolist() == [3, 4, 0, 2, 1]


def test_questions_show_the_rank_that_the_evaluation_gave_and_mark_the_answers(make: Make) -> None:
    run = make("run")
    ranks = run.evaluation("test").ranks
    read = Reader(report([run], count=1))
    text = read.text
    assert f"at place {int(ranks.min())} of" in text
    assert f"at place {int(ranks.max())} of" in text
    assert "✓ right" in text.split("Answered worst")[0]  # rank 1 is the first of its list: known ones are left out
    cards = sum(found.get("class") == "card" for _, found in read.tags)
    assert cards == 2
    assert not any(found.get("class") == "card" for _, found in Reader(report([run], count=0)).tags)


def test_runs_of_two_graphs_are_no_report(make: Make, small_graph: Graph, tmp_path: Path) -> None:
    run = make("run")
    (tmp_path / "elsewhere").mkdir()
    other = Graph(*_with_less(small_graph), {"name": "other"}).save(tmp_path / "elsewhere" / "graph")
    config = parse_config({"graph": str(other.path), "model": {"units": 2}})
    with pytest.raises(UserError, match="a report is about one graph"):
        report([run, Run.create(config, other, tmp_path / "second")])


def _with_less(graph: Graph) -> tuple:
    return graph.entities, graph.relations, np.ascontiguousarray(graph.train[:50]), graph.valid, graph.test


def test_pictures_are_those_of_plots(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    svg = plots.svg
    monkeypatch.setattr(plots, "svg", lambda figure: drawn.append("one") or svg(figure))
    report([make("one"), make("two")])
    assert len(drawn) == 1 + 1 + 2 * (1 + 3)  # curves, bars side by side; θ against φ and three maps of each


@pytest.mark.slow
def test_a_graph_with_many_relations_makes_no_heavy_page(tmp_path: Path) -> None:
    """As many relations, biquaternions and letters in a name as FB15k-237 has at the paper's settings."""
    generator = np.random.default_rng(0)
    relations = Vocabulary.from_names(f"/{'a long name of a relation/' * 2}{i:03d}" for i in range(237))
    entities = Vocabulary.from_names(f"/m/{i:07d}" for i in range(300))
    facts = np.stack([generator.integers(0, size, 3000) for size in (300, 237, 300)], axis=1).astype(np.int32)
    graph = Graph(entities, relations, facts[:2800], facts[2800:2900], facts[2900:]).save(tmp_path / "graph")
    tree = {"graph": str(graph.path), "model": {"units": 128}, "training": {"epochs": 1}}
    run = Run.create(parse_config(tree), graph, tmp_path / "run")
    train(run, graph)
    run.rank(graph, "test")
    page = report([run])
    assert page.count('<details class="relation">') == 237
    assert len(page.encode("utf-8")) < 3_000_000


def test_whoever_waits_is_told_of_every_section_and_every_relation(make: Make, small_graph: Graph) -> None:
    seen: list[tuple[str, int, int | None]] = []
    runs = [make("one"), make("other", name="distmult")]
    page = report(runs, progress=lambda *told: seen.append(told))
    titles, relations = page.count("<section"), 2 * small_graph.num_relations
    assert [one for one in seen if one[0] == "sections"] == [("sections", done, titles) for done in range(titles + 1)]
    assert [one for one in seen if one[0] == "relations"] == [
        ("relations", done, relations) for done in range(1, relations + 1)
    ]
