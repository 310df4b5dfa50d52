"""bique demo"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from bique.cli.train import Setting

if TYPE_CHECKING:
    from bique.evaluation import Evaluation
    from bique.graph import Graph
    from bique.runs import Run

# What the demo asks, and how to say a relation of the bundled graph in plain words.
QUESTIONS = (
    ("dog.n.01", "_hypernym"),
    ("paris.n.01", "_instance_hypernym"),
    ("tree.n.01", "_has_part"),
    ("walk.v.01", "_derivationally_related_form"),
    ("happy.a.01", "_also_see"),
)
WORDS = {
    "_hypernym": "is a kind of",
    "_instance_hypernym": "is an instance of",
    "_has_part": "has as a part",
    "_derivationally_related_form": "is derived from, or gives",
    "_also_see": "makes one think also of",
}


# fewer than by default: enough here, and done in about a minute on two cores
EPOCHS = "training.epochs=20"


def demo(
    run: Annotated[Path | None, typer.Option(help="Where the run goes; runs/wordnet-bique-N if not given.")] = None,
    settings: Setting = [],  # noqa: B006  (typer copies it)
) -> None:
    """Train BiQUE on the bundled WordNet graph, rank it beside a baseline, ask it a few questions.

    [dim]Example:[/] bique demo
    """
    import time

    from bique.cli.screen import screen
    from bique.cli.training_run import rank_split, train_to_end
    from bique.config import override, parse_config
    from bique.graph.catalog import locate
    from bique.runs import Run

    graph = locate("wordnet")
    counts = f"{graph.num_entities:,} entities, {graph.num_relations} relations, {len(graph.train):,} training facts"
    screen.print(f"[bold]BiQUE on the bundled WordNet graph[/]\n{counts}")
    began = time.monotonic()
    opened = Run.create(parse_config(override({"dataset": "wordnet"}, [EPOCHS, *settings])), graph, run)
    train_to_end(opened, graph)
    _show_results(opened, graph, rank_split(opened, graph, "test"), began)
    _show_answers(opened)
    _show_next_commands(opened.path)


def _show_results(run: Run, graph: Graph, model: Evaluation, began: float) -> None:
    import time

    from bique.cli.screen import screen
    from bique.cli.tables import results_table
    from bique.evaluation import FrequencyBaseline, evaluate

    baseline = evaluate(FrequencyBaseline(graph), graph, "test", run.config.evaluation)
    screen.print()
    rows = {"BiQUE": model, "baseline": baseline}
    screen.print(results_table(rows, run.config.evaluation.resamples))
    screen.print("The baseline learns nothing: for each relation it names the most frequent tails.")
    mirrored = _mirrored(graph)
    mrr = [evaluation.where(np.tile(~mirrored, 2)).mrr for evaluation in (model, baseline)]
    screen.print(
        f"{mirrored.sum()} of the {len(mirrored)} test facts mirror a training fact (symmetric relations); "
        f"on the other {(~mirrored).sum()}: MRR {mrr[0]:.3f} against {mrr[1]:.3f}."
    )
    screen.print(f"[dim]Training and ranking took {time.monotonic() - began:.0f} s.[/]")


def _mirrored(graph: Graph) -> np.ndarray:
    """Which test facts (h, r, t) have (t, r, h) in train."""
    known = set(map(tuple, graph.train.tolist()))
    return np.array([(t, r, h) in known for h, r, t in graph.test.tolist()])


def _show_answers(run: Run) -> None:
    from rich.text import Text

    from bique.cli.screen import screen
    from bique.serving import load

    screen.print(
        "\n[bold]What it answers[/]  ([green]✓[/] a fact of the graph, [yellow]+[/] not in it: the model's guess)"
    )
    predictor = load(run.path)
    for head, relation in QUESTIONS:
        answers = predictor.tails(head, relation, top=3)
        parts = [
            Text(
                f"{'✓' if one.known else '+'} {one.name} {one.probability:.0%}",
                style="green" if one.known else "yellow",
            )
            for one in answers
        ]
        screen.print(Text.assemble("  ", (head, "bold"), f" {WORDS[relation]}"))
        screen.print(Text("    ").append_text(Text("  ").join(parts)))


def _show_next_commands(run: Path) -> None:
    """With the path to the command where it is not on the shell's PATH, as after `make demo`."""
    import shutil
    import sys

    from bique.cli.screen import screen

    here = Path(sys.argv[0])
    near = here.is_relative_to(Path.cwd())
    command = (
        "bique"
        if shutil.which("bique") or here.name != "bique"
        else str(here.relative_to(Path.cwd()) if near else here)
    )
    screen.print(f"\nThe run lies in [bold]{run}[/]. What to type next:", soft_wrap=True)
    for words in (
        f"predict {run} --head wolf.n.01 --relation _hypernym",
        f"relations {run} --head dog.n.01 --tail canine.n.02",
        f"evaluate {run} --by relation",
        "import your-facts.tsv your-graph --split 0.9,0.05,0.05",
        "train --graph your-graph",
    ):
        screen.print(f"  [cyan]{command} {words}[/]", soft_wrap=True)
