"""bique compare"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bique.cli.screen import AsJson


def compare(
    runs: Annotated[
        list[Path], typer.Argument(help="Two or more runs; the first is what the others are compared with.")
    ],
    split: Annotated[str, typer.Option(help="valid or test.")] = "test",
    resamples: Annotated[
        int, typer.Option(min=100, max=1_000_000, help="Bootstrap resamples of differences.")
    ] = 10_000,
    as_json: AsJson = False,
) -> None:
    """Compare runs on the same questions by a paired bootstrap; unlike protocols are refused.

    [dim]Example:[/] bique compare runs/wordnet-bique-1 runs/wordnet-bique-2
    """
    from rich.text import Text

    from bique.cli.screen import print_json, screen
    from bique.cli.tables import comparison_table, results_table
    from bique.errors import UserError
    from bique.runs import Run, run_names
    from bique.runs import compare as compare_runs

    if len(runs) < 2:
        raise UserError("give at least two runs to compare")
    if len({path.resolve() for path in runs}) < len(runs):
        raise UserError("a run is given twice; give each once")
    found = compare_runs([Run.open(path) for path in runs], split, resamples)
    if as_json:
        print_json(found.as_dict())
        return
    labels = run_names(found.runs)
    # a run's own interval is the one that train and evaluate print
    own = found.runs[0].config.evaluation.resamples
    screen.print(results_table(dict(zip(labels, found.evaluations, strict=True)), own))
    screen.print(comparison_table(labels, found.differences))
    screen.print(Text("a difference whose interval holds 0, or whose p is above 0.05, may be chance", style="dim"))
