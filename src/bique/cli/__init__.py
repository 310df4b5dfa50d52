"""The command line: one file per verb; each parses, calls one library function and prints."""

from __future__ import annotations

import io
import sys
import warnings
from typing import Annotated

import typer

from bique.cli import (
    checkup,
    compare,
    datasets,
    demo,
    evaluate,
    export,
    geometry,
    import_,
    info,
    models,
    plot,
    predict,
    relations,
    report,
    reproduce,
    resume,
    train,
)
from bique.cli.screen import fail, note
from bique.errors import UserError
from bique.version import VERSION

TOO_LITTLE_MEMORY = (
    "not enough memory for these settings; try a smaller training.batch_size, model.units or objective.negatives"
)

app = typer.Typer(
    name="bique",
    help="Biquaternion embeddings of knowledge graphs: train, rank honestly, ask.\n\n[dim]Example:[/] bique demo",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def bique(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        print(VERSION)
        raise typer.Exit


for name, verb in {
    "demo": demo.demo,
    "import": import_.import_,
    "checkup": checkup.checkup,
    "datasets": datasets.datasets,
    "train": train.train,
    "resume": resume.resume,
    "evaluate": evaluate.evaluate,
    "compare": compare.compare,
    "predict": predict.predict,
    "relations": relations.relations,
    "export": export.export,
    "info": info.info,
    "geometry": geometry.geometry,
    "plot": plot.plot,
    "report": report.report,
    "models": models.models,
    "reproduce": reproduce.reproduce,
}.items():
    app.command(name)(verb)


def _as_note(message: Warning | str, *_: object) -> None:
    """A warning is for the user, not for whoever reads source lines."""
    note(str(message).splitlines()[0])


def main() -> None:
    """Exit codes: 0 success, 1 an error the user can put right, 2 usage, 128 + n stopped by signal n (typer's own part:
    130 for Ctrl-C, and 1 without a word when the reader of a pipe has gone)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no ✓ gets \\u2713, not a traceback
    warnings.showwarning = _as_note
    # torch.compile's advice to multiply more coarsely: scores by a distance would not bear it
    warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")
    try:
        app(prog_name="bique")
    except UserError as error:
        fail(str(error))
    except MemoryError:
        fail(TOO_LITTLE_MEMORY)
    except OSError as error:  # what the library could not put better: standard output, mostly
        fail(f"{error.filename or 'the output'}: {error.strerror or error}")
    except RuntimeError as error:  # torch's, told by name and words so that torch need not be imported
        words = ("allocate memory", "bad_alloc", "size calculation overflowed")
        told = any(one in str(error) for one in words) or str(error) == "could not create a primitive"
        if type(error).__name__ != "OutOfMemoryError" and not told:
            raise
        fail(TOO_LITTLE_MEMORY)
