"""What people see (rich, on a terminal) and what programs read (JSON, on standard output)."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

# no markup: a name or a path with brackets is shown as it is; styles go through Text
screen = Console(highlight=False, markup=False)


class Aside(Console):
    """For progress and notes: they never mix with what a program reads, and nobody need read them."""

    def on_broken_pipe(self) -> None:
        self.quiet = True  # progress is not worth dying for: the work goes on


aside = Aside(stderr=True, highlight=False, markup=False, soft_wrap=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]


def print_json(value: Any) -> None:
    encoding = getattr(sys.stdout, "encoding", None)  # a closed stdout is None
    plain = not (encoding or "").lower().startswith("utf")
    print(json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False))


def note(sentence: str) -> None:
    aside.print(Text.assemble(("note: ", "yellow"), sentence))


def fail(sentence: str) -> NoReturn:
    aside.print(Text.assemble(("error: ", "bold red"), sentence))
    sys.exit(1)
