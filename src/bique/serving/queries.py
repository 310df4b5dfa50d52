"""A file of questions in, a file of answers out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bique.atomic import atomic_path
from bique.errors import UserError
from bique.serving.predictor import AnswerTable, Predictor

HEADINGS = ("head", "relation", "tail", "rank", "answer", "score", "probability", "known")


@dataclass(frozen=True)
class Query:
    """One of the three is None: that is what is asked."""

    head: str | None
    relation: str | None
    tail: str | None

    def ask(self, predictor: Predictor, top: int, *, only_new: bool) -> AnswerTable:
        if self.tail is None and self.head is not None and self.relation is not None:
            return predictor.tails(self.head, self.relation, top, only_new=only_new)
        if self.head is None and self.tail is not None and self.relation is not None:
            return predictor.heads(self.relation, self.tail, top, only_new=only_new)
        if self.relation is None and self.head is not None and self.tail is not None:
            return predictor.relations(self.head, self.tail, top, only_new=only_new)
        raise UserError("a question leaves out exactly one of head, relation and tail")


def read_queries(file: Path) -> list[Query]:
    """Lines `head<TAB>relation<TAB>?` with ? where something is asked; .jsonl: objects that leave it out."""
    try:
        lines = file.read_bytes().decode("utf-8").split("\n")
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}; give a file of questions, one per line") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: not UTF-8 text (byte {error.start})") from error
    parse = _from_json if file.suffix == ".jsonl" else _from_fields
    numbered = [(number, line.removesuffix("\r")) for number, line in enumerate(lines, start=1)]
    return [parse(f"{file}:{number}", line) for number, line in numbered if line]


def _from_fields(place: str, line: str) -> Query:
    fields = line.split("\t")
    if len(fields) != 3 or fields.count("?") != 1:
        raise UserError(
            f"{place}: expected head, relation and tail with ? for one of them, tab-separated; found {line!r}"
        )
    return Query(*(None if field == "?" else field for field in fields))


def _from_json(place: str, line: str) -> Query:
    try:
        found = json.loads(line)
        given = [found.get(key) for key in ("head", "relation", "tail")]
    except (ValueError, AttributeError) as error:
        raise UserError(f"{place}: not a JSON object ({error})") from error
    if [type(value) for value in given if value is not None] != [str, str]:
        raise UserError(f"{place}: expected names for exactly two of head, relation and tail; found {line}")
    return Query(*given)


def write_answers(file: Path, answered: Iterable[tuple[Query, AnswerTable]]) -> int:
    """.jsonl: one object per question; otherwise tab-separated, one line per answer. Returns the questions."""
    count = 0
    with atomic_path(file) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as out:
        if file.suffix != ".jsonl":
            out.write("\t".join(HEADINGS) + "\n")
        for query, table in answered:
            out.writelines(_lines(file.suffix, query, table))
            count += 1
    return count


def _lines(suffix: str, query: Query, table: AnswerTable) -> list[str]:
    if suffix == ".jsonl":
        asked: dict[str, Any] = {"head": query.head, "relation": query.relation, "tail": query.tail}
        return [json.dumps({**asked, **table.as_dict()}, ensure_ascii=False) + "\n"]
    asked_fields = [field if field is not None else "?" for field in (query.head, query.relation, query.tail)]
    return [
        "\t".join([*asked_fields, str(one.rank), one.name, repr(one.score), repr(one.probability), _known(one.known)])
        + "\n"
        for one in table
    ]


def _known(known: bool | None) -> str:
    return {True: "known", False: "new", None: ""}[known]
