"""bique train"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bique.cli.screen import AsJson

Setting = Annotated[
    list[str],
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, e.g. training.epochs=20. Repeatable."),
]


def train(
    recipe: Annotated[
        Path | None, typer.Argument(help="A recipe: a TOML file with settings.", show_default=False)
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="A dataset by name; 'bique datasets' lists them.")] = None,
    graph: Annotated[Path | None, typer.Option(help="A graph directory made by 'bique import'.")] = None,
    run: Annotated[Path | None, typer.Option(help="Where the run goes; runs/NAME-N if not given.")] = None,
    settings: Setting = [],  # noqa: B006  (typer copies it)
    as_json: AsJson = False,
) -> None:
    """Train a model and rank the test split.

    [dim]Example:[/] bique train --dataset wordnet --set training.epochs=20
    """
    from bique.cli.training_run import train_and_rank
    from bique.config import load_config, parse_config
    from bique.config.files import override
    from bique.errors import UserError
    from bique.runs import Run
    from bique.runs.run import open_graph

    if recipe is None and dataset is None and graph is None and not settings:
        raise UserError("what shall be trained? Give a recipe, --dataset NAME or --graph DIRECTORY")
    source = [f"dataset={dataset!r}"] if dataset else [f"graph={str(graph)!r}"] if graph else []
    if recipe is not None:
        config = load_config(recipe, [*source, *settings])
    else:
        config = parse_config(override({}, [*source, *settings]), "settings")
    opened = open_graph(config)
    train_and_rank(Run.create(config, opened, run), opened, as_json=as_json)
