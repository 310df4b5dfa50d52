"""bique report"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bique.cli.screen import AsJson


def report(
    runs: Annotated[list[Path], typer.Argument(help="One run, or several of the same graph.")],
    out: Annotated[Path, typer.Option(help="The file to write; one that is there is replaced.")] = Path("report.html"),
    graph: Annotated[Path | None, typer.Option(help="The graph of the runs, if it has moved.")] = None,
    queries: Annotated[int, typer.Option(min=0, help="How many best and worst questions to show of each run.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Write one HTML file about runs: results, curves, every relation in words, questions, data, settings.

    [dim]Example:[/] bique report runs/wordnet-bique-1 --out report.html
    """
    from rich.text import Text

    from bique.analysis.report import report as make
    from bique.atomic import write_text
    from bique.cli.bars import bars
    from bique.cli.screen import note, print_json, screen
    from bique.errors import UserError
    from bique.runs import Run

    if len({path.resolve() for path in runs}) < len(runs):
        raise UserError("a run is given twice; give each once")
    if out.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"{out}: the report is a web page; give a name that ends in .html")
    opened = [Run.open(path) for path in runs]
    for run in opened:
        if sentence := run.unfinished():
            note(sentence)
    with bars("making", "things") as progress:
        page = make(opened, graph, queries, progress)
    write_text(out, page)
    if as_json:
        print_json({"file": str(out), "bytes": len(page.encode("utf-8")), "runs": [str(path) for path in runs]})
    else:
        screen.print(Text(f"written: {out}  (open it in a browser; it needs no network)"), soft_wrap=True)
