"""bique evaluate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from bique.cli.screen import AsJson

Kind = Literal["direction", "relation", "category", "degree"]


def evaluate(
    run: Annotated[Path, typer.Argument(help="A trained run.")],
    split: Annotated[str, typer.Option(help="train, valid or test.")] = "test",
    ties: Annotated[str | None, typer.Option(help="worst, mean or best; the run's own rule if not given.")] = None,
    by: Annotated[list[str], typer.Option(help="Also by direction, relation, category or degree. Repeatable.")] = [],  # noqa: B006
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Beside it: the most frequent tails, no learning.")
    ] = False,
    graph: Annotated[Path | None, typer.Option(help="The run's graph, if it has moved.")] = None,
    as_json: AsJson = False,
) -> None:
    """Rank a split, both directions, against all entities, known facts removed; keep the ranks with the run.

    [dim]Example:[/] bique evaluate runs/wordnet-bique-1 --by relation
    """
    from bique.cli.screen import note, print_json, screen
    from bique.cli.tables import breakdown_table, results_table
    from bique.config import Ties
    from bique.errors import unknown
    from bique.evaluation import FrequencyBaseline
    from bique.evaluation import evaluate as compute
    from bique.runs import Run
    from bique.training import choose_device

    for kind in by:
        if kind not in get_args(Kind):
            raise unknown("breakdown", kind, get_args(Kind))
    if ties is not None and ties not in get_args(Ties):
        raise unknown("tie rule", ties, get_args(Ties))
    opened = Run.open(run)
    facts = opened.graph(graph)
    if sentence := opened.unfinished():
        note(sentence)
    device = str(choose_device(opened.config.training.device))
    evaluation = opened.rank(facts, split, ties, device)  # type: ignore[arg-type]
    resamples = opened.config.evaluation.resamples
    rows = {opened.path.resolve().name: evaluation}
    if baseline:
        config = opened.config.evaluation.model_copy(update={"ties": evaluation.protocol.ties})
        rows["baseline"] = compute(FrequencyBaseline(facts), facts, split, config)
    if as_json:
        beside = {"baseline": rows["baseline"].as_dict(facts, resamples)} if baseline else {}
        print_json(evaluation.as_dict(facts, resamples) | beside)
        return
    screen.print(results_table(rows, resamples))
    breakdown = evaluation.breakdown(facts) if by else {}
    for kind in by:
        screen.print(breakdown_table(kind, breakdown[kind]))
