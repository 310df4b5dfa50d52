"""A file of questions in, a file of answers out."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bique.atomic import atomic_path
from bique.errors import UserError
from bique.serving.predictor import AnswerTable, Query
from bique.serving.tabular import refuse_unless_tabular

HEADINGS = ("head", "relation", "tail", "rank", "answer", "score", "probability", "known", "label")


def read_queries(file: Path) -> list[Query]:
    """Lines `head<TAB>relation<TAB>?` with ? where something is asked; .jsonl: objects that leave it out."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}; give a file of questions, one per line") from error
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError(f"{file}: this is UTF-16, not UTF-8; convert it, as with: iconv -f UTF-16 -t UTF-8")
    try:
        lines = content.removeprefix(codecs.BOM_UTF8).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{file}:{line}: not UTF-8 text; convert the file, as with: iconv -t UTF-8") from error
    parse = _from_json if file.suffix == ".jsonl" else _from_fields
    numbered = [(number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)]
    return [parse(f"{file}:{number}", line) for number, line in numbered if line]


def _from_fields(place: str, line: str) -> Query:
    fields = line.split("\t")
    if len(fields) != 3 or fields.count("?") != 1:
        raise UserError(f"{place}: expected head, relation and tail, tab-separated, with ? for one; found {line!r}")
    head, relation, tail = (None if field == "?" else field for field in fields)
    return Query(head, relation, tail, f"{place}: ")


def _from_json(place: str, line: str) -> Query:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not a JSON object ({error})") from error
    if not isinstance(found, dict):
        raise UserError(f"{place}: not a JSON object with head, relation or tail; found {line}")
    given = [found.get(key) for key in ("head", "relation", "tail")]
    if [type(value) for value in given if value is not None] != [str, str]:
        raise UserError(f"{place}: expected names for exactly two of head, relation and tail; found {line}")
    return Query(*given, place=f"{place}: ")


def write_answers(file: Path, answered: Iterable[tuple[Query, AnswerTable]]) -> int:
    """.jsonl: one object per question; .tsv: one line per answer. Returns the number of questions."""
    if file.suffix not in (".tsv", ".jsonl"):
        raise UserError(f"{file}: answers are written as .tsv or .jsonl; give a name with one of these endings")
    count = 0
    with atomic_path(file) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as out:
        if file.suffix == ".tsv":
            out.write("\t".join(HEADINGS) + "\n")
        for query, table in answered:
            out.writelines(_json_line(query, table) if file.suffix == ".jsonl" else _tsv_lines(file, query, table))
            count += 1
    return count


def _json_line(query: Query, table: AnswerTable) -> list[str]:
    asked: dict[str, Any] = {"head": query.head, "relation": query.relation, "tail": query.tail}
    return [json.dumps({**asked, **table.as_dict()}, ensure_ascii=False) + "\n"]


def _tsv_lines(file: Path, query: Query, table: AnswerTable) -> list[str]:
    asked = [field if field is not None else "?" for field in (query.head, query.relation, query.tail)]
    known = {True: "known", False: "new", None: ""}
    lines: list[str] = []
    for one in table:
        refuse_unless_tabular(file, [*asked, one.name, one.label or ""], "use .jsonl")
        figures = [str(one.rank), one.name, repr(one.score), repr(one.probability), known[one.known], one.label or ""]
        lines.append("\t".join([*asked, *figures]) + "\n")
    return lines
