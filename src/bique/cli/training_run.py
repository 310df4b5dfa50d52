"""What train, resume and demo share: train to the end, rank the test split, say where everything lies."""

from __future__ import annotations

import signal
import sys
from shlex import quote

from rich.text import Text

from bique.cli.live import Live
from bique.cli.screen import aside, note, print_json, screen
from bique.cli.tables import results_table
from bique.evaluation import Evaluation, FrequencyBaseline, evaluate
from bique.graph import Graph
from bique.runs import Run, read_record
from bique.training import Outcome, StopRequest, choose_device, train


def train_and_rank(run: Run, graph: Graph, *, as_json: bool) -> None:
    """The whole of `bique train` after the run has been made."""
    if run.last.exists() and read_record(run.last, "place")["place"]["epoch"] >= run.config.training.epochs:
        note("this run is finished already; it is ranked again")
    outcome = train_to_end(run, graph)
    ranked = rank_both(run, graph)
    if as_json:
        print_json({"run": str(run.path), **run.summary()})
        return
    if "test" in ranked:
        rows = {run.config.model.name: ranked["test"]}
        if FrequencyBaseline.fits(graph):
            rows["baseline"] = evaluate(FrequencyBaseline(graph), graph, "test", run.config.evaluation)
        screen.print(results_table(rows, run.config.evaluation.resamples))
    else:
        note("the test split is empty, so nothing was ranked on it")
    screen.print(
        Text.assemble("run: ", (str(run.path), "bold"), f"  ({outcome.seconds:.0f} s of training)"), soft_wrap=True
    )
    screen.print(f"ask it:  bique predict {quote(str(run.path))} --head NAME --relation NAME", soft_wrap=True)


def rank_both(run: Run, graph: Graph) -> dict[str, Evaluation]:
    """test for the table, valid so that runs can be chosen by `compare --split valid`."""
    device = str(choose_device(run.config.training.device))
    return {split: run.rank(graph, split, device=device) for split in ("valid", "test") if len(graph.split(split))}


def train_to_end(run: Run, graph: Graph) -> Outcome:
    """Train with a live display; Ctrl-C and SIGTERM save, say how to go on, and exit."""
    stop = StopRequest()
    try:
        with stop.listening(), Live() as live:
            outcome = train(run, graph, live, stop)
    except KeyboardInterrupt:
        if run.last.exists():
            aside.print(
                f"\nstopped at once; go on from the last checkpoint with:\n  bique resume {quote(str(run.path))}"
            )
        sys.exit(128 + signal.SIGINT)
    if stop.signal is not None and outcome.ended == "stopped":
        aside.print(f"\nstopped in epoch {outcome.epoch + 1}; everything is saved. Go on with:")
        aside.print(f"  bique resume {quote(str(run.path))}")
        sys.exit(128 + stop.signal)
    if outcome.ended == "early":
        aside.print(f"stopped early after epoch {outcome.epoch}: no better validation since epoch {outcome.best_epoch}")
    return outcome
