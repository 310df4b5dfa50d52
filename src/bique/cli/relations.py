"""bique relations"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bique.cli.predict import MovedGraph, OnlyNew, Top, load_predictor
from bique.cli.screen import AsJson


def relations(
    run: Annotated[Path, typer.Argument(help="A trained run.")],
    head: Annotated[str, typer.Option(help="The head, by its name or its label.")],
    tail: Annotated[str, typer.Option(help="The tail, by its name or its label.")],
    top: Top = 10,
    only_new: OnlyNew = False,
    graph: MovedGraph = None,
    as_json: AsJson = False,
) -> None:
    """Rank the relations that may hold between two entities.

    [dim]Example:[/] bique relations runs/wordnet-bique-1 --head dog.n.01 --tail canine.n.02
    """
    from bique.cli.screen import print_json, screen

    answers = load_predictor(run, graph).relations(head, tail, top, only_new=only_new)
    print_json(answers.as_dict()) if as_json else screen.print(answers)
