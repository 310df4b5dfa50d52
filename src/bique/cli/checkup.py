"""bique checkup"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bique.cli.screen import AsJson
from bique.errors import shown

if TYPE_CHECKING:
    from rich.table import Table

    from bique.graph.checkup import Checkup

# more than these are counted, not listed: a terminal is not a spreadsheet (--json has them all)
MOST_RELATIONS = 40
MOST_OVERLAPS = 20


def checkup(
    graph: Annotated[Path, typer.Argument(help="A graph directory, or the name of a dataset.")],
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of common pairs from which two relations are reported.")
    ] = 0.8,
    as_json: AsJson = False,
) -> None:
    """Look for what would make a graph's numbers better or worse than they are.

    [dim]Example:[/] bique checkup wordnet
    """
    from bique.cli.bars import bars
    from bique.cli.screen import print_json, screen
    from bique.graph import Graph
    from bique.graph.catalog import known, locate
    from bique.graph.checkup import check_graph

    by_name = not graph.exists() and str(graph) in {dataset.name for dataset in known()}
    with bars("fetching") as progress:
        opened = locate(str(graph), progress) if by_name else Graph.open(graph)
    found = check_graph(opened, threshold)
    if as_json:
        print_json(found.as_dict())
        return
    for table in (_splits(found), _relations(found), _overlaps(found), _degrees(found)):
        screen.print(table)


def _table(title: str, *headings: str) -> Table:
    from bique.cli.tables import plain_table

    table = plain_table(f"\n{title}")
    for place, heading in enumerate(headings):
        # names are folded, never cut: a cut one cannot be copied
        table.add_column(heading, justify="right" if place else "left", overflow="fold")
    return table


def _splits(found: Checkup) -> Table:
    sound = {
        True: "its files are as imported",
        False: "ITS HASH IS WRONG: the files have changed; import again",
        None: "",
    }
    counts = f"{found.counts['entities']:,} entities, {found.counts['relations']:,} relations"
    table = _table(f"{found.name}: {counts}; {sound[found.hash_matches]}", "", "train", "valid", "test")
    for label, counts_of_it in found.by_split().items():
        table.add_row(label, *("" if count is None else f"{count:,}" for count in counts_of_it))
    return table


def _relations(found: Checkup) -> Table:
    from rich.text import Text

    kinds = ", ".join(f"{category}: {count}" for category, count in found.categories.items() if count)
    table = _table(f"Relations ({kinds})", "relation", "category", "facts", "tails per head", "heads per tail")
    for row in found.relations[:MOST_RELATIONS]:
        averages = f"{row.tails_per_head:.2f}", f"{row.heads_per_tail:.2f}"
        table.add_row(Text(shown(row.name)), row.category, f"{row.facts:,}", *averages)
    if len(found.relations) > MOST_RELATIONS:
        table.add_row(f"… and {len(found.relations) - MOST_RELATIONS} more (--json lists all)")
    return table


def _overlaps(found: Checkup) -> Table:
    from rich.text import Text

    title = f"Relations that share at least {found.threshold:.0%} of their pairs"
    table = _table(title, "relation", "what it is", "other", "share", "pairs")
    for one in found.overlaps[:MOST_OVERLAPS]:
        table.add_row(Text(shown(one.relation)), one.kind, Text(shown(one.other)), f"{one.share:.0%}", f"{one.pairs:,}")
    if not found.overlaps:
        table.add_row("none")
    if len(found.overlaps) > MOST_OVERLAPS:
        table.add_row(f"… and {len(found.overlaps) - MOST_OVERLAPS} more (--json lists all)")
    return table


def _degrees(found: Checkup) -> Table:
    most = max((one.entities for one in found.degrees.histogram), default=1)
    median, largest = found.degrees.quantiles["0.5"], found.degrees.quantiles["1"]
    title = f"Training facts per entity: mean {found.degrees.mean:.1f}, median {median}, most {largest:,}"
    table = _table(title, "facts", "entities", "")
    table.min_width = len(title)  # or its last word goes to a line of its own
    table.columns[2].justify = "left"
    for one in found.degrees.histogram:
        span = f"{one.low:,}" if one.low == one.high else f"{one.low:,}–{one.high:,}"
        table.add_row(span if one.high else "0", f"{one.entities:,}", "█" * max(1, round(30 * one.entities / most)))
    return table
