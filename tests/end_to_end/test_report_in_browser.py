"""The report as people get it: written by the command, opened in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import NAMES, Page, browser, installed

from bique.graph import Graph, Labels, Vocabulary

Command = Callable[..., Any]
QUICK = ["--set", "training.epochs=2", "--set", "model.units=2", "--set", "training.device=cpu"]
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "\u202eright to left\u202d",
    "x" * 10_000,
    r"$\frac$",
]


@pytest.fixture
def hostile(bique: Command, small_graph: Graph, tmp_path: Path) -> Path:
    """A run of a graph whose names and labels were made to break pages."""
    count = small_graph.num_entities
    entities = Vocabulary.from_names([*HOSTILE, *(f"entity {i:02d}" for i in range(count - len(HOSTILE)))])
    relations = Vocabulary.from_names(["</details><b>next", "pair" * 2_500, "$&parent;_"])
    splits = small_graph.train, small_graph.valid, small_graph.test
    labels = Labels.from_places(count, {i: HOSTILE[i % len(HOSTILE)] + str(i) for i in range(0, count, 2)})
    Graph(entities, relations, *splits, {"name": "<i>small</i>"}, labels=labels).save(tmp_path / "hostile")
    done = bique("train", "--graph", tmp_path / "hostile", "--run", tmp_path / "hostile-run", *QUICK)
    assert done.code == 0, done.err
    return tmp_path / "hostile-run"


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    program = installed()
    if program is None:
        pytest.skip(f"no browser ({', '.join(NAMES)} in PATH); install one, for example: apt-get install chromium")
    with browser(program, tmp_path / "profile") as opened:
        yield opened


def column(page: Page, place: int) -> list[str]:
    """What stands in a column of the table of relations, from top to bottom."""
    return page.ask(
        "Array.from(document.querySelector('.sortable').tBodies[0].rows)"
        f".map((row) => row.cells[{place}].dataset.value)"
    )


@pytest.mark.slow
def test_the_report_works_in_a_browser_and_no_name_breaks_it(
    bique: Command, hostile: Path, page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    done = bique("report", hostile, "--out", file, "--queries", 3)
    assert done.code == 0, done.err
    page.open(file)
    assert page.ask("document.querySelectorAll('section').length") == 7
    assert page.ask("document.querySelector('h1').textContent") == "Report on <i>small</i>"
    assert page.ask("Array.from(document.images).every((one) => one.complete && one.naturalWidth > 0)")

    by_facts = [float(value) for value in column(page, 1)]
    assert by_facts == sorted(by_facts, reverse=True)
    page.click(".sortable th:nth-child(4) button")  # MRR: the best first
    by_mrr = [float(value) for value in column(page, 3)]
    assert by_mrr == sorted(by_mrr, reverse=True)
    page.click(".sortable th:nth-child(4) button")
    assert [float(value) for value in column(page, 3)] == by_mrr[::-1]
    assert page.ask("document.querySelector('.sortable th:nth-child(4)').ariaSort") == "ascending"
    page.ask("document.querySelector('.sortable th button').focus()")
    page.press("Enter")
    names = column(page, 0)
    assert names == page.ask(f"{json.dumps(names)}.sort((a, b) => a.localeCompare(b))")
    page.press("Space")
    assert column(page, 0) == names[::-1]

    assert not page.ask("document.querySelector('details.relation').open")
    page.click("details.relation summary")
    assert page.ask("document.querySelector('details.relation').open")
    assert "turns its blocks by" in page.ask("document.querySelector('details.relation').innerText").lower()
    page.ask("location.hash = '#run-0-relation-2'")  # a link of the table opens its block
    assert page.ask("document.getElementById('run-0-relation-2').closest('details').open")

    assert page.complaints() == []
    assert page.requests() == []


def test_the_browser_would_see_what_the_page_must_not_do(page: Page, tmp_path: Path) -> None:
    """Else the empty lists above would mean nothing."""
    (tmp_path / "bad.html").write_text("<img src='http://127.0.0.1:9/x.png'><script>nothing.here()</script>")
    page.open(tmp_path / "bad.html")
    assert any("nothing is not defined" in complaint for complaint in page.complaints())
    assert page.requests() == ["http://127.0.0.1:9/x.png"]
    forbidden = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><script>alert(1)</script>"
    (tmp_path / "forbidden.html").write_text(forbidden)
    page.open(tmp_path / "forbidden.html")
    assert any("Content Security Policy" in complaint for complaint in page.complaints())


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_wider_than_the_screen(
    bique: Command, hostile: Path, page: Page, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "report.html"
    assert bique("report", hostile, "--out", file).code == 0
    page.open(file, width)
    page.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.ask("document.documentElement.scrollWidth") <= width
    # and nothing sticks out of it unseen: what is wider lies in a frame that scrolls
    outside = page.ask(
        "Array.from(document.querySelectorAll('main *')).filter((one) => !one.closest('.scroll, figure')"
        " && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80))"
    )
    assert outside == []


def test_without_a_script_everything_can_be_read(bique: Command, run: Path, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    assert bique("report", run, "--out", file).code == 0
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.open(file)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    assert page.ask("document.querySelectorAll('details.relation').length") == 3
    assert page.ask("document.documentElement.className") == ""


def test_the_command_says_where_the_report_is_and_never_writes_half_of_one(
    bique: Command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "report.html" in bique("report", run).out
    told = json.loads(bique("report", run, "--json").out)
    assert told == {"file": "report.html", "bytes": (tmp_path / "report.html").stat().st_size, "runs": [str(run)]}
    missing = bique("report", run, tmp_path / "no-run")
    assert missing.code == 1
    assert "does not exist" in missing.err
    assert "there is no folder" in bique("report", run, "--out", tmp_path / "nowhere" / "report.html").err


def test_a_moved_graph_is_asked_for_and_another_one_refused(
    bique: Command, run: Path, small_graph_directory: Path, small_graph: Graph, tmp_path: Path
) -> None:
    moved = small_graph_directory.rename(tmp_path / "moved")
    assert "say where with --graph" in bique("report", run, "--out", tmp_path / "r.html").err
    assert bique("report", run, "--out", tmp_path / "r.html", "--graph", moved).code == 0
    less: dict[str, Any] = {"train": np.ascontiguousarray(small_graph.train[:50])}
    Graph(small_graph.entities, small_graph.relations, valid=small_graph.valid, test=small_graph.test, **less).save(
        tmp_path / "other"
    )
    assert bique("train", "--graph", tmp_path / "other", "--run", tmp_path / "other-run", *QUICK).code == 0
    refused = bique("report", run, tmp_path / "other-run", "--out", tmp_path / "two.html", "--graph", moved)
    assert refused.code == 1
    assert "a report is about one graph" in refused.err
    assert not (tmp_path / "two.html").exists()
