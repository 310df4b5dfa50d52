"""HTML that cannot be broken by a name: text is escaped wherever it enters, and only Markup passes as it is."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from typing import Any

from bique.errors import cut, shown
from bique.graph import Graph

MISSING = "–"
VOID = ("img", "meta")

Attribute = str | int | float | bool | None


class Markup(str):
    """Ready-made HTML."""

    __slots__ = ()


Content = str | Iterable[Any] | None
"""Text, markup, and any nesting of them."""


def element(tag: str, *content: Content, **attributes: Attribute) -> Markup:
    """`element("td", "a < b", class_="left")`; an attribute that is None or False is left out, True has no value."""
    words = [tag]
    for key, value in attributes.items():
        if value is not None and value is not False:
            label = key.rstrip("_").replace("_", "-")
            words.append(label if value is True else f'{label}="{html.escape(shown(str(value)), quote=True)}"')
    begin = f"<{' '.join(words)}>"
    return Markup(begin) if tag in VOID else Markup(f"{begin}{joined(*content)}</{tag}>")


def joined(*content: Content) -> Markup:
    """Whatever may stand inside an element, in order; plain text is escaped."""
    parts: list[str] = []
    for one in content:
        if isinstance(one, Markup):
            parts.append(one)
        elif isinstance(one, str):
            parts.append(html.escape(shown(one), quote=True))
        elif one is not None:
            parts.append(joined(*one))
    return Markup("".join(parts))


def name(text: str) -> Markup:
    """A name from the data: its own direction of writing ends with it (bdi), and it is cut when it is endless."""
    return element("bdi", cut(text), class_="name")


def entity(graph: Graph, place: int) -> Markup:
    """An entity by its label, with its id small beside it: labels need not be unique, and one may be hostile."""
    known, label = graph.entities[place], graph.label(place)
    return name(known) if label in (None, known) else joined(name(label), " ", element("small", "(", name(known), ")"))


def number(value: float | int | None, digits: int = 3) -> str:
    """A dash for what is missing, not a number or without end."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def cell(value: float | int | None, digits: int = 3, *beside: Content) -> Markup:
    """A figure in a table: rounded for people, every digit of it in data-value for sorting and for programs."""
    known = value is not None and math.isfinite(value)
    return element("td", number(value, digits), *beside, class_="figure", data_value=repr(value) if known else "")


def table(caption: str, headings: Iterable[Content], rows: Iterable[Content], class_: str | None = None) -> Markup:
    """Rows of finished cells under headings; what is too wide scrolls in its own frame, not the page."""
    titles = [one if isinstance(one, Markup) else element("th", one, scope="col") for one in headings]
    body = element("tbody", [element("tr", row) for row in rows])
    whole = element("table", element("caption", caption), element("thead", element("tr", titles)), body, class_=class_)
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def sentence(text: str) -> str:
    """As it stands in a list of clauses, but beginning with a capital."""
    return text[:1].upper() + text[1:]


def bullets(lines: Iterable[Content]) -> Markup:
    return element("ul", [element("li", line) for line in lines])
