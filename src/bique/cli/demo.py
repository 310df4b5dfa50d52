"""bique demo"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# What the demo asks, and how to say a relation of the bundled graph in plain words.
QUESTIONS = (
    ("dog.n.01", "_hypernym"),
    ("hand.n.01", "_has_part"),
    ("run.v.01", "_derivationally_related_form"),
    ("paris.n.01", "_instance_hypernym"),
    ("good.a.01", "_also_see"),
)
WORDS = {
    "_hypernym": "is a kind of",
    "_instance_hypernym": "is an instance of",
    "_has_part": "has as a part",
    "_member_meronym": "has as a member",
    "_derivationally_related_form": "is a form of the same word as",
    "_similar_to": "is similar to",
    "_also_see": "see also",
    "_verb_group": "is in one group of verbs with",
}


def demo(
    run: Annotated[Path | None, typer.Option(help="Where the run goes; runs/wordnet-bique-N if not given.")] = None,
) -> None:
    """Train BiQUE on the bundled WordNet graph, rank it beside a baseline, ask it a few questions.

    [dim]Example:[/] bique demo
    """
    import time

    from rich.text import Text

    from bique.cli.screen import screen
    from bique.cli.tables import results_table
    from bique.cli.training_run import rank_split, train_to_end
    from bique.config import parse_config
    from bique.evaluation import FrequencyBaseline, evaluate
    from bique.graph.catalog import locate
    from bique.runs import Run
    from bique.serving import load

    graph = locate("wordnet")
    counts = (
        f"{graph.num_entities:,} entities, {graph.num_relations} relations, {len(graph.train):,} facts to learn from"
    )
    screen.print(Text.assemble(("BiQUE on the bundled WordNet graph: ", "bold"), counts))
    began = time.monotonic()
    opened = Run.create(parse_config({"dataset": "wordnet"}), graph, run)
    train_to_end(opened, graph)
    model = rank_split(opened, graph, "test")
    baseline = evaluate(FrequencyBaseline(graph), graph, "test", opened.config.evaluation)
    screen.print()
    rows = {"BiQUE": model, "most frequent tails": baseline}
    screen.print(results_table(rows, opened.config.evaluation.resamples))
    screen.print(Text(f"training and ranking took {time.monotonic() - began:.0f} s", style="dim"))
    screen.print(
        Text("\nWhat it answers  (✓ a fact of the graph; + not in the graph, the model's own guess)", style="bold")
    )
    predictor = load(opened.path)
    for head, relation in QUESTIONS:
        screen.print(Text("  ").append_text(_sentence(predictor.tails(head, relation, top=4), head, relation)))
    screen.print(Text.assemble("\nThe run lies in ", (str(opened.path), "bold"), ". What to type next:"))
    for command in _next_commands(opened.path):
        screen.print(Text(f"  {command}", style="cyan"), soft_wrap=True)


def _sentence(answers, head: str, relation: str):
    """`dog.n.01 is a kind of: ✓ canine.n.02 (41 %), + wolf.n.01 (9 %)`."""
    from rich.text import Text

    line = Text.assemble((head, "bold"), f" {WORDS.get(relation, relation)}: ")
    parts = [
        Text(
            f"{'✓' if one.known else '+'} {one.name} ({one.probability:.0%})", style="green" if one.known else "yellow"
        )
        for one in answers
    ]
    return line.append_text(Text(", ").join(parts))


def _next_commands(run: Path) -> list[str]:
    """With the path to the command where it is not on the shell's PATH, as after `make demo`."""
    import shutil
    import sys

    here = Path(sys.argv[0])
    command = "bique" if shutil.which("bique") or here.name != "bique" else _relative(here)
    return [
        f"{command} predict {run} --head wolf.n.01 --relation _hypernym",
        f"{command} relations {run} --head dog.n.01 --tail canine.n.02",
        f"{command} evaluate {run} --by relation",
        f"{command} import your-facts.tsv your-graph --split 0.9,0.05,0.05",
        f"{command} train --graph your-graph",
    ]


def _relative(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
