"""The command line: one file per verb; each parses, calls one library function and prints."""

from __future__ import annotations

import typer

from bique.cli import (
    checkup,
    compare,
    datasets,
    demo,
    evaluate,
    export,
    import_,
    info,
    predict,
    relations,
    resume,
    train,
)
from bique.cli.screen import fail
from bique.errors import UserError

app = typer.Typer(
    name="bique",
    help="Biquaternion embeddings of knowledge graphs: train, rank honestly, ask.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
}.items():
    app.command(name)(verb)


def main() -> None:
    """Exit codes: 0 success, 1 an error the user can put right, 2 usage, 128 + n stopped by signal n (typer's own part:
    130 for Ctrl-C, and 1 without a word when the reader of a pipe has gone)."""
    try:
        app(prog_name="bique")
    except UserError as error:
        fail(str(error))
    except MemoryError:
        fail("not enough memory; try a smaller training.batch_size or model.units")
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":  # torch's, told by name so that torch need not be imported
            raise
        fail("the GPU has not enough memory; try a smaller training.batch_size or model.units, or training.device=cpu")
