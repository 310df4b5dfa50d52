"""bique reproduce"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bique.cli.screen import AsJson

if TYPE_CHECKING:
    from bique.analysis import Results, Table, Wanted


def reproduce(
    table: Annotated[str, typer.Argument(help="table2 to table6, averages, figure2, figure3 or fast.")],
    run: Annotated[bool, typer.Option("--run", help="Train what is missing first, and keep its results.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=100, help="Runs of each system, with the seeds 0, 1, …; 3 if not given.")
    ] = None,
    results: Annotated[Path, typer.Option(help="The folder of results.")] = Path("results"),
    recipes: Annotated[Path, typer.Option(help="The folder of recipes, for --run.")] = Path("recipes"),
    markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where a figure goes: a .svg or .png file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print a table of the paper beside ours.

    [dim]Example:[/] bique reproduce averages
    """
    from bique.analysis import Results, wanted
    from bique.analysis import reproduce as reproduced
    from bique.analysis.reproduce import paper
    from bique.cli.screen import note, print_json
    from bique.errors import UserError

    _check(table, run=run, seeds=seeds, results=results, markdown=markdown, out=out, as_json=as_json)
    if table == "figure3":
        from bique.analysis.plots import hyperbolic_paths, save

        out = out or Path("figure3.svg")
        save(hyperbolic_paths(), out)
        note(f"written: {out}")
        return
    paper(table)  # a word that names no table, before anything else is missed
    if not results.is_dir() and not run:
        raise UserError(f"{results}: no such folder; go to a copy of the repository, give --results, or use --run")
    found = Results(results, recipes)
    if run:
        for one in wanted(table, seeds or 3):
            _train(one, found, recipes)
    made = reproduced(table, found)
    if out is not None:
        _draw_sizes(found, out)
        note(f"written: {out}")
    if as_json:
        print_json({"title": made.title, "headings": made.headings, "rows": made.rows, "notes": made.notes})
    elif markdown:
        print(made.markdown())
    else:
        _show(made)


def _check(
    table: str, *, run: bool, seeds: int | None, results: Path, markdown: bool, out: Path | None, as_json: bool
) -> None:
    """Before anything is trained: a run takes a while, and a wrong word should not."""
    from bique.analysis.plots import FORMATS, wrong_ending
    from bique.errors import UserError

    if out is not None and not table.startswith("figure"):
        raise UserError(f"--out is for a figure, and {table} is none; for a table use --markdown or --json")
    if seeds is not None and not run:
        raise UserError("--seeds says how many runs --run trains; give --run with it")
    if markdown and as_json:
        raise UserError("--markdown or --json, not both")
    if table == "figure3" and (run or markdown or as_json or results != Path("results")):
        raise UserError("figure3 is drawn from the algebra alone: it has no runs and no table")
    if out is not None and out.suffix not in FORMATS:
        raise wrong_ending(out, FORMATS)
    if results.exists() and not results.is_dir():
        raise UserError(f"{results}: is not a folder; give --results a folder")


def _show(made: Table) -> None:
    from rich.text import Text

    from bique.cli.screen import screen
    from bique.cli.tables import plain_table

    shown = plain_table(made.title)
    headings = made.headings[: made.on_screen]
    columns = ([heading, *(row[place] for row in made.rows)] for place, heading in enumerate(headings))
    # a number and its deviation are one word
    longest = [max(len(word) for cell in column for word in re.split("(?<!±) (?!±)", cell)) for column in columns]
    gaps = len(longest) - 1
    gap = next((one for one in (2, 1) if sum(longest) + one * gaps <= screen.width), None)
    fits = gap is not None  # else a word must be broken, or a column would be lost
    shown.padding = (0, gap or 1, 0, 0)
    for place, heading in enumerate(headings):
        justify, width = "left" if place < 2 else "right", longest[place] if fits else None
        shown.add_column(heading, justify=justify, overflow="fold", min_width=width)
    for row in made.rows:
        theirs = len(row) > 2 and row[2] in ("paper", "authors")
        shown.add_row(*(Text(cell, style="dim" if theirs else "") for cell in row[: made.on_screen]))
    screen.print(shown)
    graph = ""
    for row in made.rows if made.on_screen else []:
        graph = row[0] or graph
        if any(row[made.on_screen :]):
            rest = " · ".join(row[made.on_screen :])
            screen.print(Text(f"{graph}, {row[1]}: {rest}", style="dim"), soft_wrap=True)
    for line in made.notes:
        screen.print(Text(line, style="dim"), soft_wrap=True)


def _draw_sizes(results: Results, out: Path) -> None:
    from bique.analysis.plots import metric_by_size, save
    from bique.analysis.reproduce import sizes_measured
    from bique.errors import UserError

    points = {name: line for name, line in sizes_measured(results, "hits_at_1").items() if line}
    if not points:
        raise UserError(f"{results.folder}: nothing of figure 2 was run yet; use --run")
    save(metric_by_size(points, "hits_at_1"), out)


def _train(wanted: Wanted, results: Results, recipes: Path) -> None:
    """One run and its result; a system without a recipe and a graph that cannot be had are left out with a word."""
    from bique.cli.bars import bars
    from bique.cli.screen import note
    from bique.cli.training_run import rank_both, train_to_end
    from bique.config import override, parse_config, read_recipe
    from bique.errors import UserError
    from bique.runs import Run
    from bique.runs.run import open_graph

    known = results.of(wanted.recipe)
    if known is not None and any(one["seed"] == wanted.seed for one in known.results):
        return
    what = f"{wanted.recipe}, seed {wanted.seed}"
    recipe = recipes / f"{wanted.recipe}.toml"
    if not recipe.exists():
        note(f"{what}: no recipe {recipe}")
        return
    config = parse_config(override(read_recipe(recipe), [f"training.seed={wanted.seed}"]), str(recipe))
    if config.dataset is None:
        raise UserError(f"{recipe}: names a graph directory; a result needs a dataset that others can have")
    settings = config.model_dump(mode="json", exclude_none=True)
    results.check_name(wanted.recipe, {"model": config.model.name, "settings": settings, "seed": wanted.seed})
    try:
        with bars("fetching") as progress:
            graph = open_graph(config, progress)
    except UserError as error:
        note(f"{what}: {error}")
        return
    note(what)
    path = Path("runs") / "reproduce" / f"{wanted.recipe.replace('/', '-')}-seed{wanted.seed}"
    opened = Run.open(path) if (path / "config.toml").exists() else Run.create(config, graph, path)
    if opened.config != config or opened.graph_record["hash"] != graph.hash:
        raise UserError(f"{path}: was begun with other settings or another graph; remove it, then it is trained anew")
    train_to_end(opened, graph)
    rank_both(opened, graph)
    note(f"kept as {results.add(opened.summary(), wanted.recipe)}")
