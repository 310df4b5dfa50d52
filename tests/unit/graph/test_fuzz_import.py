"""Any bytes through import: each line is imported exactly or reported, and no line changes another."""

from __future__ import annotations

import base64
import csv
import json
import random
from pathlib import Path

import pytest

from bique.graph.graph import Graph
from bique.graph.ingest import ReadOptions, import_graph
from bique.graph.readers import streams

LINES = 100_000
PLAIN = ["a", "b", "/m/0x", "é", "日本", "😀", "'", '"', '""', "\\", "\\t", "#", "%", "NULL", "NaN", "\ufffd"]
BLANK = [" ", "  ", "\r", "\0", "\x0b", "\x0c", "\x1c", "\x1a", "\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff"]
NOT_UTF8 = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\x80"]
PIECES = [*(piece.encode() for piece in PLAIN + BLANK), *NOT_UTF8]
BYTES = [byte for byte in range(256) if byte != ord("\n")]


def _name(chance: random.Random) -> bytes:
    if chance.random() < 0.75:
        return b"e%d" % chance.randrange(5000)
    if chance.random() < 0.001:
        return b"%d" % chance.randrange(10) * 200_000
    return b"".join(chance.choices(PIECES, k=chance.randrange(6)))


def _line(chance: random.Random, separator: bytes) -> bytes:
    kind = chance.random()
    if kind < 0.05:
        return bytes(chance.choices(BYTES, k=chance.randrange(40)))
    if kind < 0.1:
        return chance.choice([b"", separator, separator * 2, separator * 3, b" ", b"\r", b"\r\r", b"\xef\xbb\xbf"])
    names = [_name(chance) for _ in range(chance.choice([1, 2, 4, 7]) if kind < 0.2 else 3)]
    if separator == b"," and kind > 0.6:
        names = [b'"' + name.replace(b'"', b'""') + b'"' if chance.random() < 0.5 else name for name in names]
    return separator.join(names)


def _file(path: Path, separator: bytes, seed: int) -> list[bytes]:
    """Writes a file and gives back its lines, without their ends."""
    chance = random.Random(seed)
    lines = [separator.join([b"first", b"of", b"all"]), *(_line(chance, separator) for _ in range(LINES - 1))]
    ends = [*chance.choices([b"\n", b"\r\n"], k=LINES - 1), b""]
    path.write_bytes(b"".join(line + end for line, end in zip(lines, ends, strict=True)))
    # a "\r" that happens to stand before "\n" is part of the line's end
    return [line.removesuffix(b"\r") if end == b"\n" else line for line, end in zip(lines, ends, strict=True)]


def _plainly_tsv(line: bytes) -> tuple[str, ...] | None:
    try:
        names = tuple(line.decode("utf-8").split("\t"))
    except UnicodeDecodeError:
        return None
    return names if len(names) == 3 and all(names) else None


def _plainly_csv(line: bytes) -> tuple[str, ...] | None:
    """Python's csv, with its objection to a bare carriage return taken away."""
    try:
        text = line.decode("utf-8").replace("\r", "\ue123")
        records = list(csv.reader([text], strict=True)) if text else []
    except (UnicodeDecodeError, csv.Error):
        return None
    names = tuple(name.replace("\ue123", "\r") for name in records[0]) if records else ()
    return names if len(names) == 3 and all(names) else None


def _facts(graph: Graph) -> list[tuple[str, ...]]:
    entities, relations = list(graph.entities), list(graph.relations)
    return [(entities[h], relations[r], entities[t]) for h, r, t in graph.train.tolist()]


def _quarantined(directory: Path) -> dict[int, bytes]:
    """By line, what was set aside."""
    records = [json.loads(line) for line in (directory / "quarantine.jsonl").read_bytes().split(b"\n") if line]
    assert all(record["reason"] and record["file"].startswith("train.") for record in records)
    return {
        record["line"]: record["raw"].encode("utf-8") if "raw" in record else base64.b64decode(record["raw_base64"])
        for record in records
    }


@pytest.mark.parametrize(
    ("ending", "separator", "plainly"), [("tsv", b"\t", _plainly_tsv), ("csv", b",", _plainly_csv)]
)
def test_every_line_is_imported_exactly_or_reported(tmp_path, monkeypatch, ending, separator, plainly):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 1 << 18)  # many blocks, so that many lines lie at their borders
    csv.field_size_limit(1 << 30)
    lines = _file(tmp_path / f"train.{ending}", separator, seed=7)
    expected = [plainly(line) for line in lines]
    graph, report = import_graph(tmp_path, tmp_path / "graph", ReadOptions(on_bad="quarantine"))
    assert _facts(graph) == [names for names in expected if names is not None]
    bad = {number: line for number, (line, names) in enumerate(zip(lines, expected, strict=True), 1) if names is None}
    assert _quarantined(tmp_path / "graph") == bad
    assert report.bad == len(bad)
    assert len(bad) + len(graph.train) == LINES
    assert min(len(bad), len(graph.train)) > LINES // 10, "the fuzz has to hold both kinds"


def test_good_lines_come_back_whatever_block_they_are_in(tmp_path, monkeypatch):
    """Without bad lines around, blocks go the fast way; small ones begin with every odd name there is."""
    monkeypatch.setattr(streams, "BLOCK_BYTES", 1 << 13)
    chance = random.Random(3)
    candidates = (_line(chance, b"\t").removesuffix(b"\r") for _ in range(LINES // 2))
    lines = [line for line in candidates if len(line) < 1000 and _plainly_tsv(line) and not line.endswith(b"\r")]
    (tmp_path / "train.tsv").write_bytes(b"first\tof\tall\n" + b"\n".join(lines))
    graph, report = import_graph(tmp_path, tmp_path / "graph")
    assert _facts(graph) == [("first", "of", "all"), *map(_plainly_tsv, lines)]
    assert report.bad == 0


def test_a_line_does_not_depend_on_its_neighbours(tmp_path):
    """Each of some lines alone in a file gives what it gives among all others."""
    chance = random.Random(11)
    for number in range(60):
        line = _line(chance, b"\t")
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "train.tsv").write_bytes(b"first\tof\tall\n" + line + b"\nlast\tof\tall\n")
        graph, _ = import_graph(folder, folder / "graph", ReadOptions(on_bad="quarantine"))
        names = _plainly_tsv(line.removesuffix(b"\r"))
        middle = [] if names is None else [names]
        assert _facts(graph) == [("first", "of", "all"), *middle, ("last", "of", "all")]
