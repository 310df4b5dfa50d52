"""bique demo"""

from __future__ import annotations

import time
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from bique.cli.screen import AsJson
from bique.cli.train import Setting

if TYPE_CHECKING:
    from bique.evaluation import Evaluation
    from bique.graph import Graph
    from bique.serving import AnswerTable

# What the demo asks of the bundled graph, and how to say a relation in plain words.
QUESTIONS = (
    ("dog.n.01", "_hypernym", "is a kind of"),
    ("paris.n.01", "_instance_hypernym", "is an instance of"),
    ("tree.n.01", "_has_part", "has as a part"),
    ("walk.v.01", "_derivationally_related_form", "is derived from, or gives"),
    ("happy.a.01", "_also_see", "makes one think also of"),
)
LEAST = 0.02
"""An answer that the model itself finds less likely is not worth a line."""
# fewer than by default: enough here, and done in about a minute on two cores
EPOCHS = "training.epochs=20"


def demo(
    run: Annotated[Path | None, typer.Option(help="Where the run goes; runs/wordnet-bique-N if not given.")] = None,
    settings: Setting = [],  # noqa: B006  (typer copies it)
    as_json: AsJson = False,
) -> None:
    """Train BiQUE on the bundled WordNet graph, rank it beside a baseline, ask it a few questions.

    [dim]Example:[/] bique demo
    """
    from bique.cli.screen import print_json, screen
    from bique.cli.training_run import train_to_end
    from bique.config import override, parse_config
    from bique.evaluation import FrequencyBaseline, evaluate
    from bique.graph.catalog import locate
    from bique.runs import Run
    from bique.serving import Query, load

    graph = locate("wordnet")
    if not as_json:
        counts = (
            f"{graph.num_entities:,} entities, {graph.num_relations} relations, {len(graph.train):,} training facts"
        )
        screen.print(Text.assemble(("BiQUE on the bundled WordNet graph\n", "bold"), counts))
    began = time.monotonic()
    # the graph last: it is what the demo is about
    config = parse_config(override({}, [EPOCHS, *settings, "dataset=wordnet", "graph=none"]))
    opened = Run.create(config, graph, run)
    train_to_end(opened, graph)
    model = opened.rank(graph)
    baseline = evaluate(FrequencyBaseline(graph), graph, "test", config.evaluation)
    seconds = time.monotonic() - began
    questions = [Query(head, relation, None) for head, relation, _ in QUESTIONS]
    answers = load(opened.path, graph.path).answer(questions, top=3)
    if as_json:
        figures = {"bique": model.metrics.as_dict(), "baseline": baseline.metrics.as_dict()}
        print_json(
            {"run": str(opened.path), "seconds": seconds, **figures, "answers": [one.as_dict() for one in answers]}
        )
        return
    _show_results(graph, model, baseline, config.evaluation.resamples)
    screen.print(f"Training and ranking took {seconds:.0f} s.", style="dim")
    _show_answers(answers)
    _show_next_commands(opened.path)


def _show_results(graph: Graph, model: Evaluation, baseline: Evaluation, resamples: int) -> None:
    import numpy as np

    from bique.cli.screen import screen
    from bique.cli.tables import results_table

    screen.print()
    screen.print(results_table({"BiQUE": model, "baseline": baseline}, resamples))
    screen.print("MRR: 1 means that the right answer is always first. Hits@10: how often it is among the first ten.")
    screen.print("The baseline learns nothing: for each relation it names the most frequent tails.")
    mirrored = graph.mirrored("test")
    mrr = [evaluation.where(np.tile(~mirrored, 2)).mrr for evaluation in (model, baseline)]
    screen.print(
        f"{mirrored.sum()} of the {len(mirrored)} test facts mirror a training fact (symmetric relations); "
        f"on the other {(~mirrored).sum()}: MRR {mrr[0]:.3f} against {mrr[1]:.3f}."
    )


def _show_answers(answers: list[AnswerTable]) -> None:
    from bique.cli.screen import screen

    key = ("✓", "green"), " a fact of the graph, ", ("+", "yellow"), " not in it: the model's guess)"
    screen.print(Text.assemble(("\nWhat it answers", "bold"), "  (", *key))
    for (head, _, words), table in zip(QUESTIONS, answers, strict=True):
        parts = [
            Text(
                f"{'✓' if one.known else '+'} {one.name} {one.probability:.0%}",
                style="green" if one.known else "yellow",
            )
            for one in table
            if one.probability >= LEAST
        ]
        screen.print(Text.assemble("  ", (head, "bold"), f" {words}"))
        screen.print(Text("    ").append_text(Text("  ").join(parts)))


def _show_next_commands(run: Path) -> None:
    from bique.cli.screen import screen

    command, quoted = _command(), quote(str(run))
    screen.print(Text.assemble("\nThe run lies in ", (str(run), "bold"), ". What to type next:"), soft_wrap=True)
    for words in (
        f"predict {quoted} --head wolf.n.01 --relation _hypernym",
        f"relations {quoted} --head dog.n.01 --tail canine.n.02",
        f"geometry {quoted} --relation _hypernym",
        f"report {quoted} --out report.html",
        "import your-facts.tsv your-graph --split 0.9,0.05,0.05",
        "train --graph your-graph",
    ):
        screen.print(Text(f"  {command} {words}", style="cyan"), soft_wrap=True)


def _command() -> str:
    """With its path where the shell would not find it, as after `make demo`."""
    import shutil
    import sys

    here = Path(sys.argv[0])
    if shutil.which("bique") or here.name != "bique":
        return "bique"
    return str(here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here)
