"""What train, resume and demo share: train to the end, rank the test split, say where everything lies."""

from __future__ import annotations

import json
import sys

from rich.text import Text

from bique.cli.live import Live
from bique.cli.screen import aside, print_json, screen
from bique.cli.tables import results_table
from bique.evaluation import Evaluation, evaluate
from bique.graph import Graph
from bique.runs import Run
from bique.training import Outcome, StopRequest, choose_device, train


def train_and_rank(run: Run, graph: Graph, *, as_json: bool) -> None:
    """The whole of `bique train` after the run has been made."""
    outcome = train_to_end(run, graph)
    split = "test" if len(graph.test) else "valid" if len(graph.valid) else None
    evaluation = rank_split(run, graph, split) if split else None
    if as_json:
        summary = json.loads((run.path / "evaluations" / f"{split}.json").read_text(encoding="utf-8")) if split else {}
        print_json({"run": str(run.path), "best_epoch": outcome.best_epoch, "seconds": outcome.seconds, **summary})
        return
    if evaluation is not None:
        screen.print(results_table({"BiQUE": evaluation}, run.config.evaluation.resamples))
    screen.print(
        Text.assemble("run: ", (str(run.path), "bold"), f"  ({outcome.seconds:.0f} s of training)"), soft_wrap=True
    )
    screen.print(Text(f"ask it:  bique predict {run.path} --head NAME --relation NAME"), soft_wrap=True)


def train_to_end(run: Run, graph: Graph) -> Outcome:
    """Train with a live display; Ctrl-C and SIGTERM save, say how to go on, and exit."""
    stop = StopRequest()
    with stop.listening(), Live() as live:
        outcome = train(run, graph, live, stop)
    if stop.signal is not None and outcome.ended == "stopped":
        aside.print(
            f"\nstopped in epoch {outcome.epoch + 1}; everything is saved. Go on with:  bique resume {run.path}"
        )
        sys.exit(128 + stop.signal)
    if outcome.ended == "early":
        aside.print(f"stopped early after epoch {outcome.epoch}: no better validation since epoch {outcome.best_epoch}")
    return outcome


def rank_split(run: Run, graph: Graph, split: str, ties: str | None = None) -> Evaluation:
    """Rank a split with the best checkpoint and keep the ranks with the run."""
    device = choose_device(run.config.training.device)
    model, _ = run.model(str(device))
    config = run.config.evaluation.model_copy(update={"ties": ties} if ties else {})
    evaluation = evaluate(model, graph, split, config, run.config.training.seed)
    run.save_evaluation(evaluation, evaluation.as_dict(graph, config.resamples))
    return evaluation
