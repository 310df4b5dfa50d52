"""bique plot"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bique.cli.predict import MovedGraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bique.evaluation import Protocol
    from bique.runs import Run


class Kind(NamedTuple):
    """What a kind of picture takes; the rest is refused."""

    takes: tuple[str, ...]
    several: bool = False
    needs: tuple[str, ...] = ()
    moves: bool = False


KINDS = {
    "curves": Kind((), several=True),
    "angles": Kind(("relation", "graph")),
    "relations": Kind(("metric",), several=True),
    "map": Kind(("relation", "graph"), needs=("relation",)),
    "motion": Kind(("relation", "graph"), needs=("relation",), moves=True),
}


def plot(
    kind: Annotated[str, typer.Argument(help="curves, angles, relations, map or motion.")],
    runs: Annotated[list[Path], typer.Argument(help="A run; curves and relations take several, side by side.")],
    out: Annotated[Path, typer.Option(help="Where the picture goes: .svg or .png, and .gif for motion.")],
    relation: Annotated[str | None, typer.Option(help="The relation, for map and motion; one panel of angles.")] = None,
    metric: Annotated[str | None, typer.Option(help="What the bars of relations show; mrr if not given.")] = None,
    graph: MovedGraph = None,
) -> None:
    """Draw training curves, rotations, figures by relation, or a relation's heads and tails, still or moving.

    [dim]Example:[/] bique plot map runs/wordnet-bique-1 --relation _hypernym --out map.svg
    """
    from bique.analysis.plots import relation_motion, save, save_motion, training_curves
    from bique.cli.screen import note
    from bique.runs import Run

    _check(kind, runs, out, {"relation": relation, "metric": metric, "graph": graph})
    opened = [Run.open(path) for path in runs]
    if kind == "curves":
        save(training_curves(opened), out)
    elif kind == "relations":
        save(_bars(opened, metric or "mrr"), out)
    elif kind == "angles":
        save(_angles(opened[0], relation, graph), out)
    else:
        from bique.analysis.plots import entity_map

        assert relation is not None, "checked above"
        facts = opened[0].graph(graph)
        model = opened[0].model(graph=facts)[0]
        if kind == "map":
            save(entity_map(model, facts, relation), out)
        else:
            save_motion(relation_motion(model, facts, relation), out)
    note(f"written: {out}")


def _check(kind: str, runs: list[Path], out: Path, options: dict[str, object]) -> None:
    """Before anything is opened: a picture takes a while, and a wrong word should not."""
    from bique.analysis.plots import ANIMATIONS, FORMATS, wrong_ending
    from bique.errors import UserError, unknown

    if kind not in KINDS:
        raise unknown("kind of picture", kind, KINDS)
    takes = KINDS[kind]
    formats = ANIMATIONS if takes.moves else FORMATS
    if out.suffix not in formats:
        raise wrong_ending(out, formats)
    for name, value in options.items():
        if value is not None and name not in takes.takes:
            fitting = [other for other in KINDS if name in KINDS[other].takes]
            raise UserError(f"--{name} has no effect on {kind}; leave it out, or draw {' or '.join(fitting)}")
        if value is None and name in takes.needs:
            raise UserError(f"{kind} draws one {name}; say which with --{name}")
    if len(runs) > 1 and not takes.several:
        raise UserError(f"{kind} draws one run, and there are {len(runs)}; give the first alone: {runs[0]}")
    if len({path.resolve() for path in runs}) < len(runs):
        raise UserError("a run is given twice; give each run once")


def _angles(run: Run, relation: str | None, graph: Path | None) -> Figure:
    import numpy as np

    from bique.analysis import relation_geometry
    from bique.analysis.plots import PANELS, angles_and_rapidities
    from bique.errors import unknown

    facts = run.graph(graph)
    if relation is not None and relation not in facts.relations:
        raise unknown("relation", relation, list(facts.relations))
    learned = relation_geometry(run.model(graph=facts)[0], facts)[: facts.num_relations]
    if len(learned) > PANELS:  # those with most facts come first, as not all will be drawn
        counts = np.bincount(facts.train[:, 1], minlength=len(learned))
        learned = [learned[place] for place in np.argsort(-counts, kind="stable").tolist()]
    return angles_and_rapidities([one for one in learned if relation in (None, one.relation)])


def _bars(runs: list[Run], metric: str) -> Figure:
    """From the figures that were kept with the runs; unlike protocols are not put side by side."""
    from bique.analysis.plots import relation_bars
    from bique.errors import unknown
    from bique.evaluation import Metrics
    from bique.runs import measured_alike, run_names

    known = [field.name for field in fields(Metrics) if field.name != "queries"]
    if metric not in known:
        raise unknown("metric", metric, known)
    evaluations = measured_alike(runs, "test")
    values = [_by_relation(run, metric, one.protocol) for run, one in zip(runs, evaluations, strict=True)]
    return relation_bars(dict(zip(run_names(runs), values, strict=True)), metric)


def _by_relation(run: Run, metric: str, protocol: Protocol) -> dict[str, float]:
    """The figures beside the ranks, if they belong to each other."""
    import json
    import math

    from bique.errors import UserError

    try:
        kept = run.summary()["evaluations"]["test"]
        figures = {name: float(one[metric]) for name, one in kept["by"]["relation"].items()}
        alike = not protocol.differences(type(protocol).from_json(json.dumps(kept["protocol"])))
        if not (figures and alike and all(math.isfinite(value) for value in figures.values())):
            raise ValueError(metric)
        return figures
    except (KeyError, TypeError, AttributeError, ValueError, UserError) as error:
        raise UserError(
            f"{run.path}: its evaluation has no {metric} by relation; rank it again with: "
            f"bique evaluate {quote(str(run.path))} --split test"
        ) from error
