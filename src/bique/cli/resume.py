"""bique resume"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bique.cli.screen import AsJson


def resume(
    run: Annotated[Path, typer.Argument(help="A run that was stopped, or killed.")],
    graph: Annotated[Path | None, typer.Option(help="The run's graph, if it has moved.")] = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run from its last checkpoint, to the same result as if it had never stopped.

    [dim]Example:[/] bique resume runs/wordnet-bique-1
    """
    from bique.cli.training_run import train_and_rank
    from bique.runs import Run

    opened = Run.open(run)
    train_and_rank(opened, opened.graph(graph), as_json=as_json)
