"""CSV by RFC 4180, one record a line: a comma inside quotes is data, `""` inside quotes is one quote."""

from __future__ import annotations

import re

QUOTED = re.compile(r'"((?:[^"]++|"")*+)"')


class BadRecordError(ValueError):
    """Why a line is not a record."""


def split_record(line: str, separator: str) -> list[str]:
    """The fields of one line.

    A quote opens a quoted field only as its first character, elsewhere it is data, as in Python's csv module; unlike
    there a carriage return is data too, and a field may be of any length.
    """
    fields: list[str] = []
    place = 0
    while True:
        field, place = _field(line, place, separator)
        fields.append(field)
        if place == len(line):
            return fields
        place += 1  # the separator


def _field(line: str, start: int, separator: str) -> tuple[str, int]:
    """The field that starts here, and the place behind it: a separator or the end of the line."""
    if not line.startswith('"', start):
        end = line.find(separator, start)
        end = len(line) if end < 0 else end
        return line[start:end], end
    quoted = QUOTED.match(line, start)
    if quoted is None:
        raise BadRecordError(f"the quote at character {start + 1} is not closed on its line")
    end = quoted.end()
    if end < len(line) and line[end] != separator:
        raise BadRecordError(f"character {end + 1} follows a closing quote and is no separator")
    return quoted[1].replace('""', '"'), end
