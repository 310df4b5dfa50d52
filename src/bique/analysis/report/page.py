"""The page: one file that needs nothing but a browser, and may ask for nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path

from bique.analysis.report.curves import curves
from bique.analysis.report.data import data
from bique.analysis.report.gather import Told, gather
from bique.analysis.report.html import Content, Markup, element, joined, name
from bique.analysis.report.pictures import can_draw
from bique.analysis.report.questions import questions
from bique.analysis.report.relations import relations
from bique.analysis.report.results import results, summary
from bique.analysis.report.settings import settings
from bique.errors import UserError
from bique.graph.download import Progress
from bique.runs import Run
from bique.version import VERSION

NO_PICTURES = "Pictures are left out: they need matplotlib, which comes with pip install 'bique[plots]'."


def report(runs: list[Run], graph: Path | None = None, count: int = 10, progress: Progress | None = None) -> str:
    """The HTML of a report on runs of one graph, with `count` questions of each end. No run is changed by it."""
    if not runs:
        raise UserError("give at least one run to report on")
    return _page(gather(runs, graph), count, progress or _unseen)


def _page(told: list[Told], count: int, progress: Progress) -> str:
    makers: dict[str, Callable[[], Markup]] = {
        "Summary": lambda: summary(told),
        "Results": lambda: results(told),
        "Training": lambda: curves(told),
        "Relations": lambda: relations(told, partial(progress, "relations")),
        "Questions": lambda: questions(told, count),
        "Data": lambda: data(told[0].graph),
        "Settings": lambda: settings(told),
    }
    sections: dict[str, Markup] = {}
    for done, (title, make) in enumerate(makers.items()):
        progress("sections", done, len(makers))
        sections[title] = make()
    progress("sections", len(makers), len(makers))
    bar = [element("a", title, href=f"#{title.lower()}") for title in sections]
    pictures = None if can_draw() else element("p", NO_PICTURES, class_="lacking")
    made = f"Made by bique {VERSION} on {datetime.now(UTC):%d %B %Y}"
    header = element("header", element("h1", "Report on ", name(told[0].graph.name)), element("p", made), pictures)
    body = [
        header,
        element("nav", bar, aria_label="Contents"),
        element("main", [_section(title, content) for title, content in sections.items()]),
    ]
    return _document(f"bique report: {told[0].graph.name}", joined(body))


def _unseen(name: str, done: int, total: int | None) -> None:
    """Nobody watches."""


def _section(title: str, content: Content) -> Markup:
    return element("section", element("h2", title), content, id=title.lower())


def _document(title: str, body: Markup) -> str:
    """Style and script are allowed by their hashes, pictures from the file itself, everything else is forbidden."""
    here = files("bique.analysis.report")
    style, script = (here.joinpath(file).read_text(encoding="utf-8") for file in ("report.css", "report.js"))
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title[:100]),
        element("style", Markup(style)),
    )
    end = element("script", Markup(script))
    return f"<!doctype html>\n{element('html', head, element('body', body, end), lang='en')}\n"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
