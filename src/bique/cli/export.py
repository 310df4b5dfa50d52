"""bique export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bique.cli.predict import MovedGraph
from bique.cli.screen import AsJson


def export(
    run: Annotated[Path, typer.Argument(help="A trained run.")],
    destination: Annotated[Path, typer.Argument(help="A file ending in .npy, .parquet or .tsv.")],
    what: Annotated[str, typer.Option(help="entities or relations.")] = "entities",
    graph: MovedGraph = None,
    as_json: AsJson = False,
) -> None:
    """Write embeddings with their names for other programs.

    [dim]Example:[/] bique export runs/wordnet-bique-1 entities.parquet
    """
    from bique.cli.screen import print_json, screen
    from bique.runs import Run
    from bique.serving import export_embeddings

    files = [str(file) for file in export_embeddings(Run.open(run), destination, what, graph)]
    print_json({"files": files}) if as_json else screen.print(f"written: {', '.join(files)}", soft_wrap=True)
