"""bique train"""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from typing import Annotated

import typer

from bique.cli.datasets import complete_dataset
from bique.cli.screen import AsJson

Setting = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, e.g. training.epochs=20. Repeatable."),
]


def train(
    recipe: Annotated[
        Path | None, typer.Argument(help="A recipe: a TOML file with settings.", show_default=False)
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="A dataset; 'bique datasets' lists them.", autocompletion=complete_dataset)
    ] = None,
    graph: Annotated[Path | None, typer.Option(help="A graph directory made by 'bique import'.")] = None,
    run: Annotated[Path | None, typer.Option(help="Where the run goes; runs/NAME-N if not given.")] = None,
    settings: Setting = [],  # noqa: B006  (typer copies it)
    as_json: AsJson = False,
) -> None:
    """Train a model and rank the test split.

    [dim]Example:[/] bique train --dataset wordnet --set training.epochs=20
    """
    from bique.cli.bars import bars
    from bique.cli.training_run import train_and_rank
    from bique.config import override, parse_config, read_recipe
    from bique.errors import UserError
    from bique.runs import Run
    from bique.runs.run import open_graph
    from bique.training import choose_device

    if recipe is None and dataset is None and graph is None and not settings:
        raise UserError("what shall be trained? Give a recipe, --dataset NAME or --graph DIRECTORY")
    if dataset is not None and graph is not None:
        raise UserError("give either --dataset or --graph, not both")
    tree = read_recipe(recipe) if recipe else {}
    if dataset is not None or graph is not None:
        # said on the command line, the source replaces the one of the recipe
        tree |= {"dataset": dataset, "graph": None if graph is None else str(graph)}
    config = parse_config(override(tree, settings), str(recipe or "settings"))
    with bars("fetching") as progress:
        opened = open_graph(config, progress)
    choose_device(config.training.device)  # before anything is made
    made = Run.create(config, opened, run)
    try:
        train_and_rank(made, opened, as_json=as_json)
    finally:
        if not made.last.exists():  # training did not begin: nothing to go on with, and the name stays free
            rmtree(made.path, ignore_errors=True)
