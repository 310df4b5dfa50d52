"""How to read a file of facts: what the user chose, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bique.errors import UserError

OnBad = Literal["stop", "quarantine"]
# Unicode's White_Space, which polars strips; Python's own strip takes off the control characters 1C to 1F as well
BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
SEPARATOR_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "space": " ", "semicolon": ";"}


@dataclass(frozen=True)
class ReadOptions:
    """Nothing is guessed: three columns, no header, the separator of the file's name, names as they stand.

    columns    head, relation and tail as numbers from 1 on, or as names where the file names its columns
    header     the first line names the columns (text files; Parquet always names them)
    separator  one character, or one of the words tab, comma, space, semicolon
    strip      take blanks off both ends of each name
    on_bad     stop at the first bad line, or set bad lines aside in `quarantine.jsonl`
    """

    columns: tuple[int | str, ...] | None = None
    header: bool = False
    separator: str | None = None
    strip: bool = False
    on_bad: OnBad = "stop"

    def __post_init__(self) -> None:
        if self.separator is not None:
            object.__setattr__(self, "separator", _checked_separator(self.separator))
        if self.columns is not None:
            _check_columns(self.columns)

    def text_only(self) -> list[str]:
        """The options in use that only a delimited text file can honour."""
        return [name for name, used in (("--header", self.header), ("--separator", self.separator is not None)) if used]


def _checked_separator(separator: str) -> str:
    character = SEPARATOR_WORDS.get(separator, separator)
    if len(character) != 1 or character in '\n\r"' or 0xD800 <= ord(character) <= 0xDFFF:
        words = ", ".join(word for word in SEPARATOR_WORDS if word.isalpha())
        raise UserError(f"--separator {separator!r}: give one character (not a quote or a line end) or a word: {words}")
    return character


def _check_columns(columns: tuple[int | str, ...]) -> None:
    shown = ",".join(str(column) for column in columns)
    if len(columns) != 3 or len(set(columns)) != 3:
        raise UserError(f"--columns {shown}: give three different columns, for head, relation and tail, such as 1,2,3")
    if any(isinstance(column, int) and column < 1 for column in columns):
        raise UserError(f"--columns {shown}: columns are counted from 1 on")
