"""bique info"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bique.cli.screen import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from bique.config import Setting


def info(
    path: Annotated[Path | None, typer.Argument(help="A run or a graph; without it, this installation.")] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Every setting, its default and its meaning.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a run, a graph or this installation is.

    [dim]Example:[/] bique info runs/wordnet-bique-1
    """
    from rich.table import Table
    from rich.text import Text

    from bique.cli.screen import print_json, screen
    from bique.config import describe

    if settings:
        rows = [row._asdict() | {"key": _key(row)} for row in describe()]
        print_json(rows) if as_json else screen.print(_settings_table(rows))
        return
    facts = _about(path)
    if as_json:
        print_json(facts)
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")  # a hash is there to be copied
    facts.pop("curve", None)  # --json has it
    for split, found in facts.pop("evaluations", {}).items():  # in short; --json has them whole
        facts = {split: f"{_figures(found['metrics'])} (ties {found['protocol']['ties']})", **facts}
    for name, value in _flat(facts):
        table.add_row(Text(name, style="dim"), Text(str(value)))
    screen.print(table)


def _key(setting: Setting) -> str:
    return setting.key if setting.model is None else f"{setting.key} ({setting.model})"


def _figures(metrics: dict[str, float]) -> str:
    names = {"mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_3": "Hits@3", "hits_at_10": "Hits@10"}
    return ", ".join(f"{label} {metrics[name]:.3f}" for name, label in names.items())


def _settings_table(rows: list[dict[str, Any]]) -> Table:
    from rich.text import Text

    from bique.cli.tables import plain_table

    table = plain_table("Settings, for recipes and --set")
    for heading in ("key", "default", "meaning"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        default = "–" if row["default"] is None else str(row["default"])
        table.add_row(Text(row["key"], style="bold"), Text(default), Text(row["meaning"]))
    return table


def _about(path: Path | None) -> dict[str, Any]:
    from bique.errors import UserError
    from bique.graph import Graph
    from bique.graph.catalog import cache_directory
    from bique.runs import Run
    from bique.runs.environment import environment

    if path is None:
        return {**environment(), "cache": str(cache_directory())}
    if (path / "graph.json").is_file():
        graph = Graph.open(path)
        labels = graph.labels.count if graph.labels else 0
        return {"graph": str(path), **graph.counts(), "labels": labels, "hash": graph.hash, "origin": graph.origin}
    if (path / "config.toml").is_file():
        return {"run": str(path), **Run.open(path).summary()}
    raise UserError(f"{path}: neither a run (config.toml) nor a graph (graph.json)")


def _flat(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in tree.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        elif value is not None:
            rows.append((f"{prefix}{name}", value))
    return rows
