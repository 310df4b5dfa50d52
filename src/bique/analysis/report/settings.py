"""How it was made: every setting, the protocol in words, versions, hardware and the graph's hash."""

from __future__ import annotations

from typing import Any

from bique.analysis.report.gather import Told, alike
from bique.analysis.report.html import MISSING, Content, Markup, bullets, element, joined, name, sentence, table
from bique.analysis.report.results import row_name
from bique.analysis.words import protocol_in_words
from bique.config import Setting, describe


def settings(told: list[Told]) -> Markup:
    return joined(_settings(told), _protocols(told), _environments(told), _graph(told[0]))


def _settings(told: list[Told]) -> Markup:
    """A row per key that one of the runs has; what differs from its default is emphasised."""
    values = [_flat(one.run.config.model_dump(mode="json")) for one in told]
    models = [one.run.config.model.name for one in told]
    rows = []
    for setting in describe():
        if setting.model is None or setting.model in models:
            cells = [
                _value(setting, found.get(setting.key) if setting.model in (None, model) else None)
                for found, model in zip(values, models, strict=True)
            ]
            default = MISSING if setting.default is None else str(setting.default)
            rows.append([row_name(_key(setting)), *cells, element("td", default), element("td", setting.meaning)])
    headings = ["setting", *(name(one.label) for one in told), "default", "meaning"]
    note = element("p", "Bold: differs from the default.", class_="small")
    titles = [element("th", heading, scope="col") for heading in headings]
    return joined(note, table("Settings", titles, rows, "settings"))


def _value(setting: Setting, value: Any) -> Markup:
    if value is None:
        return element("td", MISSING)
    default = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    # the source of the facts has no default to differ from
    if value == default or setting.key in ("dataset", "graph"):
        return element("td", str(value))
    return element("td", element("strong", str(value)), class_="changed")


def _key(setting: Setting) -> str:
    return setting.key if setting.model is None else f"{setting.key} ({setting.model})"


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def _protocols(told: list[Told]) -> Markup:
    """How the figures were made, once for every way of measuring."""
    parts: list[Content] = [element("h3", "How it was measured")]
    groups = alike(told)
    for group in groups:
        if len(groups) > 1:
            parts.append(
                element("h4", [[" and " if place else "", name(one.label)] for place, one in enumerate(group)])
            )
        if group[0].evaluation is not None:
            parts.append(bullets(map(sentence, protocol_in_words(group[0].evaluation.protocol))))
    if not groups:
        parts.append(element("p", "Nothing has been measured on the test split yet.", class_="lacking"))
    return joined(parts)


def _environments(told: list[Told]) -> Markup:
    made = [one.summary["environment"] for one in told]
    keys = dict.fromkeys(key for found in made for key in found)
    rows = [[row_name(key), *(element("td", _words(found.get(key))) for found in made)] for key in keys]
    titles = [element("th", heading, scope="col") for heading in ("", *(name(one.label) for one in told))]
    return table("Versions and hardware of the training", titles, rows, "settings")


def _words(value: Any) -> str:
    if value is None:
        return MISSING
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _graph(one: Told) -> Markup:
    graph = one.graph
    facts = {"name": graph.name, "hash": graph.hash, **{key: f"{count:,}" for key, count in graph.counts().items()}}
    origin = {f"origin: {key}": _words(value) for key, value in graph.origin.items() if key not in facts}
    rows = [[row_name(key), element("td", value)] for key, value in {**facts, **origin}.items()]
    return table("The graph", ["", ""], rows, "settings")
