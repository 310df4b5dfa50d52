"""bique import"""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from bique.cli.screen import AsJson


def import_(
    source: Annotated[Path, typer.Argument(help="A folder with train/valid/test files, or one file with --split.")],
    destination: Annotated[Path, typer.Argument(help="The graph directory to make.")],
    split: Annotated[str | None, typer.Option(help="Shares of train, valid and test, e.g. 0.9,0.05,0.05.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random split.")] = 0,
    columns: Annotated[
        str | None, typer.Option(help="Columns of head, relation and tail: 1,2,3 or, with a header, names.")
    ] = None,
    header: Annotated[bool, typer.Option("--header", help="The first line names the columns.")] = False,
    separator: Annotated[
        str | None,
        typer.Option(help="One character or tab, comma, space, semicolon; by the file's ending if not given."),
    ] = None,
    strip: Annotated[bool, typer.Option("--strip", help="Take blanks off both ends of every name.")] = False,
    labels: Annotated[
        Path | None, typer.Option(help="What people call the entities: tab-separated lines, id and label.")
    ] = None,
    on_bad: Annotated[str, typer.Option(help="A bad line: stop, or quarantine (set it aside and count it).")] = "stop",
    as_json: AsJson = False,
) -> None:
    """Make a graph from files of facts: TSV, CSV, TXT, Parquet, N-Triples, Turtle, also .gz .xz .zst.

    [dim]Example:[/] bique import facts.tsv my-graph --split 0.9,0.05,0.05
    """
    from dataclasses import asdict
    from typing import get_args

    from bique.cli.bars import bars
    from bique.cli.screen import note, print_json, screen
    from bique.cli.tables import counts_table
    from bique.errors import unknown
    from bique.graph.ingest import ReadOptions, import_graph
    from bique.graph.readers.options import OnBad

    if on_bad not in get_args(OnBad):
        raise unknown("way to treat a bad line", on_bad, get_args(OnBad))
    options = ReadOptions(
        columns=_columns(columns),
        header=header,
        separator=separator,
        strip=strip,
        on_bad=on_bad,  # type: ignore[arg-type]
    )
    shares = _shares(split) if split else None
    with bars("reading") as progress:
        graph, report = import_graph(
            source, destination, options, split=shares, seed=seed, labels=labels, progress=progress
        )
    if as_json:
        print_json(
            {"graph": str(destination), "hash": graph.hash, **asdict(report), "quarantine": _shown(report.quarantine)}
        )
        return
    for sentence in report.notes:
        note(sentence)
    screen.print(counts_table(str(destination), graph))
    place = quote(str(destination))
    screen.print(
        f"{report.seconds:.1f} s · next:  bique checkup {place}  ·  bique train --graph {place}",
        soft_wrap=True,
    )


def _shares(text: str) -> tuple[float, float, float]:
    from bique.errors import UserError

    try:
        train, valid, test = (float(share) for share in text.split(","))
    except ValueError:
        raise UserError(f"--split {text}: give three numbers, for example 0.9,0.05,0.05") from None
    return train, valid, test


def _columns(text: str | None) -> tuple[int | str, ...] | None:
    return tuple(int(part) if part.isascii() and part.isdigit() else part for part in text.split(",")) if text else None


def _shown(path: Path | None) -> str | None:
    return str(path) if path else None
