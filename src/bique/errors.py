"""What a user can put right: one sentence with the value, the place and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# names that a sentence lists
LISTED = 40
# longer names and labels are cut where they are shown: ten thousand characters of one hide everything else
LONGEST = 200


class UserError(Exception):
    """Shown by the command line as one clear sentence, exit code 1."""


class DivergedError(UserError):
    """A loss, a table or a score is no longer a finite number."""

    def __init__(self, what: str) -> None:
        settings = "optimizer.learning_rate or model.initial_scale, or another penalty.weight"
        super().__init__(f"{what}. Train anew with a smaller {settings}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` when something known is near, else nothing."""
    known = list(known)
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return f"; did you mean {cut(shown(lowered[near[0]]))!r}?" if near else ""


def unknown(kind: str, word: str, known: Iterable[str]) -> UserError:
    """`unknown model 'Bique'; did you mean 'bique'? choose one of: …`."""
    known = list(known)
    listed = ", ".join(cut(shown(name)) for name in known[:LISTED])
    more = f", … ({len(known):,} in all)" if len(known) > LISTED else ""
    near = did_you_mean(word, known) or ";"
    return UserError(f"unknown {kind} {cut(shown(word))!r}{near} choose one of: {listed}{more}")


def missing_extra(package: str, extra: str, purpose: str) -> UserError:
    """An optional package is not installed: name it and say how to get it."""
    return UserError(f"{purpose} needs the package {package!r}; install it with: pip install 'bique[{extra}]'")


def shown(name: str) -> str:
    """A name as it may go to a terminal: what cannot be printed is escaped, so that data never drives the screen."""
    if name.isprintable():
        return name
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii") for mark in name)


def cut(name: str) -> str:
    """The beginning of an endless name, and how long it is."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}… ({len(name):,} characters)"
