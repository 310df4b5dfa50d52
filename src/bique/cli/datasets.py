"""bique datasets"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bique.cli.screen import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from bique.graph.known_datasets import Dataset

COUNTS = ("entities", "relations", "train", "valid", "test")


def complete_dataset(incomplete: str) -> list[str]:
    """For the shell's Tab."""
    from bique.graph.catalog import known

    return [dataset.name for dataset in known() if dataset.name.startswith(incomplete)]


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="One dataset, with all that is known of it.", autocompletion=complete_dataset)
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Prepare it now, downloading if need be.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the known datasets, describe one, or fetch it.

    [dim]Example:[/] bique datasets wn18rr --fetch
    """
    from rich.text import Text

    from bique.cli.bars import bars
    from bique.cli.screen import print_json, screen
    from bique.cli.tables import counts_table
    from bique.errors import UserError
    from bique.graph.catalog import find, known, locate

    if fetch:
        if name is None:
            raise UserError("--fetch needs the name of a dataset, for example: bique datasets wn18rr --fetch")
        with bars("fetching") as progress:
            graph = locate(name, progress)
        print_json({**_facts(find(name)), "path": str(graph.path)}) if as_json else screen.print(
            counts_table(name, graph)
        )
        return
    chosen = [find(name)] if name else list(known())
    if as_json:
        print_json([_facts(dataset) for dataset in chosen])
        return
    if name:
        for key, value in _facts(chosen[0]).items():
            if value:
                screen.print(Text.assemble((f"{key}: ", "dim"), _in_words(value)), soft_wrap=True)
        return
    screen.print(_overview(chosen))


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{key} {count:,}" if isinstance(count, int) else f"{key} ({count})" for key, count in value.items()
        )
    return ", ".join(value) if isinstance(value, list) else str(value)


def _overview(chosen: list[Dataset]) -> Table:
    from rich.text import Text

    from bique.cli.tables import plain_table

    table = plain_table("Datasets")
    table.add_column("name", no_wrap=True, style="bold")
    for heading in COUNTS:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    for dataset in chosen:
        counts = dataset.published or {}
        mark = "*" if dataset.substitute else ""
        cells = [f"{counts[key]:,}" if key in counts else "–" for key in COUNTS]
        table.add_row(f"{dataset.name}{mark}", *cells, _facts(dataset)["here"])
    words = "* a substitute: compare its figures only with others on it. More: bique datasets NAME"
    table.caption = Text(words, justify="left")
    return table


def _facts(dataset: Dataset) -> dict[str, Any]:
    from bique.graph.catalog import state

    return {
        "name": dataset.name,
        "title": dataset.title,
        "summary": dataset.summary,
        "here": state(dataset.name),
        "origin": dataset.origin,
        "licence": dataset.licence,
        "published counts": dict(dataset.published or {}),
        "checksums": {file: str(pin) for file, pin in dataset.checksums().items()},
        "addresses": [download.address for download in dataset.downloads],
        "substitute": dataset.substitute,
    }
