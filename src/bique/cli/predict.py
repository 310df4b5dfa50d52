"""bique predict"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from bique.cli.screen import AsJson

if TYPE_CHECKING:
    from bique.serving import Predictor

Top = Annotated[int, typer.Option(min=1, help="How many answers.")]
OnlyNew = Annotated[bool, typer.Option("--only-new", help="Leave out what the graph knows already.")]
MovedGraph = Annotated[Path | None, typer.Option("--graph", help="The run's graph, if it has moved.")]


def predict(
    run: Annotated[Path, typer.Argument(help="A trained run.")],
    head: Annotated[str | None, typer.Option(help="A head, by its name or its label: asks for tails.")] = None,
    relation: Annotated[str | None, typer.Option(help="The relation.")] = None,
    tail: Annotated[str | None, typer.Option(help="A tail, by its name or its label: asks for heads.")] = None,
    queries: Annotated[
        Path | None, typer.Option(help="A file of questions: head, relation, tail per line, ? where asked.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where the answers to --queries go: .tsv or .jsonl.")] = None,
    top: Top = 10,
    only_new: OnlyNew = False,
    graph: MovedGraph = None,
    as_json: AsJson = False,
) -> None:
    """Answer (head, relation, ?) or (?, relation, tail); known facts are marked.

    [dim]Example:[/] bique predict runs/wordnet-bique-1 --head dog.n.01 --relation _hypernym
    """
    from bique.cli.screen import print_json, screen
    from bique.errors import UserError
    from bique.serving import Query, read_queries, write_answers

    if (queries is None) != (out is None):
        raise UserError("--queries FILE and --out FILE go together")
    if queries is not None and not head is relation is tail is None:
        raise UserError("give either --queries or --head/--relation/--tail, not both")
    if queries is None and (relation is None or (head is None) == (tail is None)):
        raise UserError("give --relation and exactly one of --head and --tail (for the relation: bique relations)")
    if queries is not None and out is not None and out.exists() and out.samefile(queries):
        raise UserError(f"{out}: the answers would replace the questions; give another --out")
    if queries is None or out is None:
        answers = load_predictor(run, graph).answer([Query(head, relation, tail)], top, only_new=only_new)[0]
        print_json(answers.as_dict()) if as_json else screen.print(answers)
        return
    asked = read_queries(queries)
    tables = load_predictor(run, graph).answer(asked, top, only_new=only_new)
    count = write_answers(out, zip(asked, tables, strict=True))
    if as_json:
        print_json({"questions": count, "file": str(out)})
    else:
        screen.print(Text(f"{count:,} questions answered in {out}"), soft_wrap=True)


def load_predictor(run: Path, graph: Path | None) -> Predictor:
    """With a note when known facts cannot be told from new ones."""
    from bique.cli.screen import note
    from bique.runs import Run
    from bique.serving import load

    predictor = load(run, graph)
    if sentence := Run.open(run).unfinished():
        note(sentence)
    if predictor.facts is None:
        note("the graph of this run is not at its place, so known facts cannot be marked; give it with --graph")
    return predictor
