"""What people see (rich, on a terminal) and what programs read (JSON, on standard output)."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

screen = Console(highlight=False)
aside = Console(stderr=True, highlight=False, soft_wrap=True)
"""For progress and notes: they never mix with what a program reads."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def whisper(text: str | Text) -> None:
    """Progress is not worth dying for: when nobody reads it any more, the work goes on."""
    with contextlib.suppress(OSError):
        aside.print(Text(text) if isinstance(text, str) else text)


def note(sentence: str) -> None:
    whisper(Text.assemble(("note: ", "yellow"), sentence))


def fail(sentence: str) -> NoReturn:
    aside.print(Text.assemble(("error: ", "bold red"), sentence))
    sys.exit(1)
