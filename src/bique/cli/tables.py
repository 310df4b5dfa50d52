"""Tables of figures, the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from bique.errors import shown
from bique.evaluation import Evaluation, Interval, Metrics
from bique.evaluation.significance import PairedDifference, caution
from bique.graph import Graph

COLUMNS = {"mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_3": "Hits@3", "hits_at_10": "Hits@10"}


def plain_table(title: str) -> Table:
    """Without lines: figures fit into 80 columns, and copy well."""
    return Table(
        title=Text(title),
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
    )


def results_table(evaluations: Mapping[str, Evaluation], resamples: int) -> Table:
    """One row per scorer with 95 % intervals, the protocol underneath."""
    protocol = next(iter(evaluations.values())).protocol
    table = plain_table("Results")
    table.padding = (0, 1, 0, 0)  # to fit into 80 columns
    table.add_column("", overflow="fold")
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("MR", justify="right")
    table.add_column("adj.", justify="right")
    for name, evaluation in evaluations.items():
        metrics, intervals = evaluation.metrics, evaluation.intervals(resamples)
        cells = [_cell(getattr(metrics, key), intervals[key]) for key in COLUMNS]
        table.add_row(Text(shown(name)), *cells, f"{metrics.mr:,.0f}", f"{metrics.adjusted_mrr_index:.3f}")
    few = caution(len(next(iter(evaluations.values())).ranks) // 2)
    told = f"[95 % interval]; adj.: MRR adjusted for chance · {protocol.line()}"
    table.caption = Text(f"{told}\n{few}" if few else told, justify="left")
    return table


def _cell(value: float, interval: Interval) -> Text:
    return Text.assemble((f"{value:.3f}", "bold"), (f"\n[{interval.low:.3f} {interval.high:.3f}]", "dim"))


def breakdown_table(kind: str, rows: Mapping[str, Metrics]) -> Table:
    table = plain_table(f"By {kind}")
    table.add_column(kind, overflow="fold")
    for heading in ("queries", "MRR", "H@1", "H@3", "H@10", "MR", "adj. MRR"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, metrics in rows.items():
        figures = [f"{getattr(metrics, key):.3f}" for key in COLUMNS]
        table.add_row(
            Text(shown(name)),
            f"{metrics.queries:,}",
            *figures,
            f"{metrics.mr:,.0f}",
            f"{metrics.adjusted_mrr_index:.3f}",
        )
    return table


def comparison_table(labels: list[str], differences: list[dict[str, PairedDifference]]) -> Table:
    """Each later run minus the first, with interval and p."""
    table = plain_table(f"Difference from {labels[0]}")
    table.add_column("", overflow="fold")
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for label, row in zip(labels[1:], differences, strict=True):
        table.add_row(Text(label), *(_difference(row[key]) for key in COLUMNS))
    return table


def _difference(found: PairedDifference) -> Text:
    low, high = found.interval
    sure = "bold" if low > 0 or high < 0 else ""
    return Text.assemble(
        (f"{found.difference:+.3f}", sure), (f"\n[{low:+.3f} {high:+.3f}]\np = {found.p_value:.2g}", "dim")
    )


def counts_table(title: str, graph: Graph) -> Table:
    table = plain_table(title)
    counts = graph.counts() | ({"labels": graph.labels.count} if graph.labels else {})
    for name in counts:
        table.add_column(name, justify="right")
    table.add_row(*(f"{count:,}" for count in counts.values()))
    return table
