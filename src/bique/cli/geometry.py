"""bique geometry"""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from bique.cli.screen import AsJson

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from bique.analysis.geometry import RelationGeometry
    from bique.analysis.patterns import RelationPattern
    from bique.models import BiQUE

BARS = "▁▂▃▄▅▆▇█"


def geometry(
    run: Annotated[Path, typer.Argument(help="A run of BiQUE.")],
    relation: Annotated[str | None, typer.Option(help="One relation, in words and at length.")] = None,
    graph: Annotated[Path | None, typer.Option(help="The graph of the run, if it has moved.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Also write one row per relation and biquaternion.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what each relation learned: rotations, scaling, translation, beside what the facts say about it.

    [dim]Example:[/] bique geometry runs/wordnet-bique-1 --relation _hypernym
    """
    import numpy as np
    from rich.text import Text

    from bique.analysis.geometry import learned_compositions, rapidity_range, relation_geometry
    from bique.analysis.patterns import rank_correlation, relation_patterns
    from bique.analysis.words import compositions
    from bique.cli.screen import note, print_json, screen
    from bique.errors import shown, unknown
    from bique.runs import Run

    opened = Run.open(run)
    facts = opened.graph(graph)
    if relation is not None and relation not in facts.relations:
        raise unknown("relation", relation, list(facts.relations))
    model = opened.model(graph=facts)[0]
    learned = relation_geometry(model, facts)
    patterns = relation_patterns(facts)
    forward, backward = learned[: len(patterns)], learned[len(patterns) :]
    high = rapidity_range(learned)
    correlation = rank_correlation([one.hierarchy for one in patterns], [one.median("rapidity") for one in forward])
    if parquet is not None:
        chosen = learned
        if relation is not None:  # by number: another relation may be called as an inverse one is
            place = facts.relations.index(relation)
            chosen = [learned[place], learned[facts.inverse(place)]]
        _write(parquet, chosen)
        note(f"written: {parquet}")
    if as_json:
        rows = [
            {"geometry": one.as_dict(), "inverse": other.as_dict(), "facts": pattern.as_dict()}
            for one, other, pattern in zip(forward, backward, patterns, strict=True)
            if relation in (None, pattern.relation)
        ]
        found = [one.as_dict() for one in learned_compositions(model, facts) if relation in (None, one.relation)]
        # one relation, or hierarchies that are all alike, have no correlation
        known = [value if np.isfinite(value) else None for value in correlation]
        correlated = dict(zip(("rho", "low", "high"), known, strict=True))
        print_json({"relations": rows, "compositions": found, "hierarchy_and_rapidity": correlated})
        return
    if relation is not None:
        place = facts.relations.index(relation)
        for line in _in_words(forward[place], backward[place], patterns[place], high):
            screen.print(Text(shown(line)), soft_wrap=True)
        for line in compositions(cast("BiQUE", model), facts).get(place, []):
            screen.print(Text(f"  {shown(line)}"), soft_wrap=True)
        return
    screen.print(_table(forward, patterns, high))
    for line in _answer(correlation, high):
        screen.print(Text(line, style="dim"), soft_wrap=True)
    if patterns:
        example = quote(shown(patterns[0].relation))
        note(f"one relation in words: bique geometry {quote(str(run))} --relation {example}")


def _answer(correlation: tuple[float, float, float], high: int) -> list[str]:
    """What the histograms are of, and whether the hierarchical relations are the hyperbolic ones."""
    import math

    legend = f"turn θ and stretch e^φ: histograms over the biquaternions (θ 0 … 180°, φ 0 … {high}), and the median"
    if not all(map(math.isfinite, correlation)):
        return [legend, "do hierarchies stretch? relations that are all alike in it cannot tell"]
    rho, low, end = correlation
    found = f"do hierarchies stretch? rank correlation of hier. and φ {rho:.2f} [{low:.2f} {end:.2f}]"
    return [legend, f"{found}; an interval that holds 0 may be chance"]


def histogram(values: np.ndarray, low: float, high: float, bins: int = 8) -> str:
    """As small as a word; the last bar holds what lies beyond."""
    import numpy as np

    counts, _ = np.histogram(np.clip(values, low, high), bins=bins, range=(low, high))
    top = max(int(counts.max()), 1)
    return "".join(BARS[(count * (len(BARS) - 1) + top - 1) // top] for count in counts.tolist())


def _table(learned: list[RelationGeometry], patterns: list[RelationPattern], high: int) -> Table:
    import numpy as np
    from rich.text import Text

    from bique.cli.tables import plain_table
    from bique.errors import cut, shown

    table = plain_table("What each relation learned")
    table.padding = (0, 1, 0, 0)
    headings = ("relation", "facts", "", "hier.", "shift", "turn", "stretch", "scale", "nearly null")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place in (0, 2) else "right", overflow="fold")
    for one, pattern in zip(learned, patterns, strict=True):
        cells = [
            cut(shown(one.relation)),
            f"{pattern.facts:,}",
            pattern.category,
            f"{pattern.hierarchy:.2f}",
            f"{one.translation:.0%}",
            f"{histogram(one.angle, 0, np.pi)} {np.degrees(one.median('angle')):.0f}°",
            f"{histogram(one.rapidity, 0, high)} {np.exp(one.median('rapidity')):.0f}×",
            f"{one.median('modulus'):.2f}",
            f"{one.near_null}{f' ({one.null} null)' if one.null else ''}",
        ]
        table.add_row(*map(Text, cells))
    units = learned[0].units if learned else 0
    table.caption = Text(
        "N-1: a head has about one tail, a tail often several heads · hier.: share of connected pairs that are not on "
        "a circle · shift: of the length of an entity · stretch: so many times as long one way, and as much shorter "
        "another · nearly null: of "
        f"{units} biquaternions those that all but erase half of their directions; null ones have no decomposition",
        justify="left",
    )
    return table


def _in_words(one: RelationGeometry, inverse: RelationGeometry, pattern: RelationPattern, high: int) -> list[str]:
    """For whoever has never heard of biquaternions; the sentences are those of the report."""
    import numpy as np

    from bique.analysis.words import facts_in_words, movement

    lines = [one.relation, *(f"  {line}" for line in facts_in_words(pattern))]
    other = "what it does to a tail, asked the other way round (a movement of its own)"
    for name, found in (("what it does to a head", one), (other, inverse)):
        told = movement(found)
        lines += [
            f"  {name} (median of {found.units - found.null} of {found.units} biquaternions):",
            f"    {told.shift}",
            f"    {told.turn}   θ {histogram(found.angle, 0, np.pi, 24)} 0 … 180°",
            f"    {told.stretch}   φ {histogram(found.rapidity, 0, high, 24)} 0 … {high}",
            f"    {told.scale}",
            f"    {told.phase}",
            f"    {told.together}",
        ]
        if told.null:
            lines.append(f"    {told.null}")
    return lines


def _write(file: Path, learned: list[RelationGeometry]) -> None:
    """relation, angle, rapidity, modulus, phase: one row per biquaternion that has a decomposition."""
    from bique.analysis.geometry import QUANTITIES
    from bique.atomic import atomic_path
    from bique.errors import UserError

    columns: dict[str, Any] = {"relation": [one.relation for one in learned for _ in one.angle]}
    columns |= {name: [value for one in learned for value in getattr(one, name).tolist()] for name in QUANTITIES}
    import polars

    try:
        with atomic_path(file) as temporary:
            polars.DataFrame(columns).write_parquet(temporary)
    except polars.exceptions.PolarsError as error:
        raise UserError(f"{file}: could not be written ({error}); is the disk full?") from error
