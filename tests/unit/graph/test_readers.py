"""Readers: names come back exactly, whatever the file is called, cut into or packed with."""

from __future__ import annotations

import csv
import io
import random

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bique.errors import UserError
from bique.graph.readers import streams
from bique.graph.readers.delimited import open_delimited, parse_block
from bique.graph.readers.files import fact_file
from bique.graph.readers.layout import Layout
from bique.graph.readers.options import BLANKS, ReadOptions
from bique.graph.readers.quoting import BadRecordError, split_record
from bique.graph.readers.reading import open_reader
from bique.graph.readers.streams import blocks_of_lines

TSV, CSV = Layout("\t", quotes=False), Layout(",", quotes=True)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def _read(path, options=ReadOptions()):
    """All facts of a file as names, and its bad lines as (number, raw)."""
    reader = open_reader(fact_file(path), options)
    batches = [reader.parse(block) for block in reader.blocks]
    facts = [fact for batch in batches for fact in batch.facts.rows()]
    return facts, [(bad.number, bad.raw) for batch in batches for bad in batch.bad]


def _reasons(path, options=ReadOptions()):
    reader = open_reader(fact_file(path), options)
    return [(bad.number, bad.reason, reader.remedy(bad)) for block in reader.blocks for bad in reader.parse(block).bad]


# lines and fields ----------------------------------------------------------------------------------------------------


def _plainly(layout, lines):
    facts, bad = [], []
    for number, line in enumerate(lines, 1):
        try:
            facts.append(layout.names(line.decode("utf-8")))
        except (UnicodeDecodeError, BadRecordError):
            bad.append((number, line))
    return facts, bad


@pytest.mark.parametrize("layout", [TSV, CSV, Layout("\t", False, strip=True), Layout(",", True, 5, (4, 0, 2), True)])
def test_a_block_by_columns_is_a_block_line_by_line(layout):
    """Small blocks, most of them clean: the fast ways have to be right about every one of them."""
    chance = random.Random(5)
    separator = layout.separator.encode()
    odd = ["\ufeff", "x\x01", "\u2028", "\x85", "\x0b", "\x0c", "\r", "\0", " ", "é", "#", '"', '""', "NULL", "\x1c"]
    for _ in range(400):
        end, lines = chance.choice([b"\n", b"\r\n"]), []
        for _ in range(chance.randrange(1, 5)):
            count = layout.fields if chance.random() < 0.9 else chance.randrange(7)
            names = ["".join(chance.choices(["a", "b", *odd], k=chance.randrange(1, 4))) for _ in range(count)]
            if layout.quotes and chance.random() < 0.2:
                names = ['"' + name.replace('"', '""') + '"' for name in names]
            line = separator.join(name.encode() for name in names)
            lines.append(line.rstrip(b"\r") if end == b"\n" else line)
        batch = parse_block(layout, (1, end.join([*lines, b""])))
        facts, bad = _plainly(layout, lines)
        assert batch.facts.rows() == facts
        assert [(line.number, line.raw) for line in batch.bad] == bad


@given(st.lists(text, min_size=1, max_size=5))
@example(["\ufeffa", "b", "c"])
@example(['"', '""', ",\t"])
def test_what_python_writes_as_csv_is_read_back(names):
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    assert split_record(line.getvalue(), ",") == names


@given(st.text(st.sampled_from('ab",; '), max_size=15))
def test_a_record_is_what_strict_csv_says(line):
    try:
        expected = next(csv.reader([line], strict=True), []) or [""]
    except csv.Error:
        with pytest.raises(BadRecordError):
            split_record(line, ",")
    else:
        assert split_record(line, ",") == expected


def test_blanks_are_those_that_polars_strips():
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    stripped = pl.Series(every).str.strip_chars().to_list()
    assert {character for character, rest in zip(every, stripped, strict=True) if not rest} == set(BLANKS)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_only_lf_and_crlf_end_a_line(tmp_path, end):
    names = ["a\x0bb\x0cc", "d\u2028e\u2029f\x85g", "h\ri\x1cj\x1d\x1e"]
    (tmp_path / "train.tsv").write_bytes("\t".join(names).encode() + end + "\t".join(names[::-1]).encode())
    assert _read(tmp_path / "train.tsv") == ([tuple(names), tuple(names[::-1])], [])


def test_of_several_carriage_returns_one_ends_the_line(tmp_path):
    (tmp_path / "train.tsv").write_bytes(b"a\tb\tc\r\r\nd\te\tf\r")
    assert _read(tmp_path / "train.tsv")[0] == [("a", "b", "c\r"), ("d", "e", "f\r")]


def test_quotes_are_data_in_tsv_and_quotes_in_csv(tmp_path):
    line = b'"a, b"@en,p,"say ""x"""\n'
    (tmp_path / "train.csv").write_bytes(line.replace(b"@en", b""))
    (tmp_path / "train.tsv").write_bytes(line.replace(b",p,", b"\tp\t"))
    assert _read(tmp_path / "train.csv")[0] == [("a, b", "p", 'say "x"')]
    assert _read(tmp_path / "train.tsv")[0] == [('"a, b"@en', "p", '"say ""x"""')]


def test_an_open_quote_costs_its_own_line_only(tmp_path):
    (tmp_path / "train.csv").write_bytes(b'a,b,c\n"d,e,f\ng,h,i\n"j"k,l,m\n')
    facts, bad = _read(tmp_path / "train.csv")
    assert facts == [("a", "b", "c"), ("g", "h", "i")]
    assert bad == [(2, b'"d,e,f'), (4, b'"j"k,l,m')]


@given(st.binary(max_size=200), st.integers(1, 40))
def test_blocks_are_whole_lines_and_lose_nothing(tmp_path_factory, content, size):
    path = tmp_path_factory.mktemp("blocks") / "train.tsv"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK_BYTES", size)
        blocks = list(blocks_of_lines(fact_file(path)))
    assert b"".join(blocks) == content
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert all(blocks)


def test_a_name_longer_than_a_block_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 64)
    name = "ä" * 5000
    (tmp_path / "train.tsv").write_text(f"a\tb\tc\n{name}\tb\t{name}\nd\te\tf\n", encoding="utf-8")
    assert _read(tmp_path / "train.tsv")[0] == [("a", "b", "c"), (name, "b", name), ("d", "e", "f")]


def test_a_file_without_line_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 64)
    monkeypatch.setattr(streams, "LINE_LIMIT", 200)
    (tmp_path / "train.tsv").write_bytes(b"a\tb\tc\n" + b"x" * 300)
    with pytest.raises(UserError, match="a line is longer than 200 bytes"):
        _read(tmp_path / "train.tsv")


# what is said about bad lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "number", "reason", "remedy"),
    [
        ("train.tsv", b"a\tb\tc\nd\te\n", 2, "expected 3 tab-separated fields, found 2", "correct the line"),
        ("train.tsv", b"a\tb\tc\td\n", 1, "expected 3 tab-separated fields, found 4", "--columns"),
        ("train.tsv", b"a\tb\tc\n\n", 2, "expected 3 tab-separated fields, found an empty line", "correct the line"),
        ("train.txt", b"a b c\n", 1, "expected 3 tab-separated fields, found 1", "--separator space"),
        ("train.txt", b"abc\n", 1, "expected 3 tab-separated fields, found 1", "--separator"),
        ("train.csv", b"a;b;c\n", 1, "expected 3 comma-separated fields, found 1", "--separator semicolon"),
        ("train.tsv", b"a\t\tc\n", 1, "the relation is empty", "correct the line"),
        ("train.tsv", b"\tb\t\n", 1, "the head and the tail are empty", "correct the line"),
        ("train.tsv", b"a\tb\tc\xe9\n", 1, "not valid UTF-8 (byte 0xe9 at place 6 of the line)", "convert the file"),
        ("train.csv", b'a,"b,c\n', 1, "the quote at character 3 is not closed on its line", "close the quote"),
    ],
)
def test_a_bad_line_is_told_with_reason_and_remedy(tmp_path, name, content, number, reason, remedy):
    (tmp_path / name).write_bytes(content)
    [(found_number, found_reason, found_remedy)] = _reasons(tmp_path / name)
    assert (found_number, found_reason) == (number, reason)
    assert remedy in found_remedy


def test_numbers_of_bad_lines_run_on_over_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 50)
    lines = [b"a\tb\tc" if number % 7 else b"bad" for number in range(1, 100)]
    (tmp_path / "train.tsv").write_bytes(b"\r\n".join(lines))
    assert [number for number, _ in _read(tmp_path / "train.tsv")[1]] == list(range(7, 100, 7))


# options -------------------------------------------------------------------------------------------------------------


def test_columns_by_number_and_by_name_are_the_same(tmp_path):
    content = "id,to,from,kind\n1,b,a,r\n2,d,c,s\n"
    (tmp_path / "train.csv").write_text(content)
    by_name = _read(tmp_path / "train.csv", ReadOptions(columns=("from", "kind", "to"), header=True))
    by_number = _read(tmp_path / "train.csv", ReadOptions(columns=(3, 4, 2), header=True))
    assert by_name == by_number == ([("a", "r", "b"), ("c", "s", "d")], [])
    (tmp_path / "train.csv").write_text(content + "3,f,e\n")
    assert _read(tmp_path / "train.csv", ReadOptions(columns=(3, 4, 2), header=True))[1] == [(4, b"3,f,e")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ReadOptions(columns=("head", "kind", "to"), header=True), "'head' is not in the header"),
        (ReadOptions(columns=("frm", "kind", "to"), header=True), "did you mean 'from'"),
        (ReadOptions(columns=("from", "kind", "to")), "--header"),
        (ReadOptions(columns=(1, 2, 5)), "column 5 was asked for, there are 4"),
        (ReadOptions(header=True), "the header has 4 fields"),
    ],
)
def test_columns_that_are_not_there_are_refused(tmp_path, options, message):
    (tmp_path / "train.csv").write_text("id,to,from,kind\n1,b,a,r\n")
    with pytest.raises(UserError, match=message):
        _read(tmp_path / "train.csv", options)


@pytest.mark.parametrize(
    "bad",
    [
        {"separator": "ab"},
        {"separator": ""},
        {"separator": "\n"},
        {"separator": '"'},
        {"columns": (1, 2)},
        {"columns": (1, 1, 2)},
        {"columns": (0, 1, 2)},
    ],
)
def test_options_that_mean_nothing_are_refused(bad):
    with pytest.raises(UserError):
        ReadOptions(**bad)


@pytest.mark.parametrize(("word", "character"), [("tab", "\t"), ("\\t", "\t"), ("space", " "), ("|", "|"), ("→", "→")])
def test_a_separator_is_a_character_or_its_name(tmp_path, word, character):
    (tmp_path / "train.txt").write_text(f"a{character}b{character}c\n", encoding="utf-8")
    assert _read(tmp_path / "train.txt", ReadOptions(separator=word)) == ([("a", "b", "c")], [])


def test_names_are_stripped_only_when_asked(tmp_path):
    (tmp_path / "train.tsv").write_text(" a\tb\u2003\t c \n \tb\tc\n", encoding="utf-8")
    assert _read(tmp_path / "train.tsv")[0] == [(" a", "b\u2003", " c "), (" ", "b", "c")]
    assert _read(tmp_path / "train.tsv", ReadOptions(strip=True)) == ([("a", "b", "c")], [(2, b" \tb\tc")])


def test_what_looks_like_a_header_is_kept_and_told(tmp_path):
    (tmp_path / "train.tsv").write_text("Head\tRelation\tTail\na\tb\tc\n")
    reader = open_delimited(fact_file(tmp_path / "train.tsv"), ReadOptions())
    assert len(reader.notes) == 1
    assert "--header" in reader.notes[0]
    assert _read(tmp_path / "train.tsv")[0] == [("Head", "Relation", "Tail"), ("a", "b", "c")]
    assert _read(tmp_path / "train.tsv", ReadOptions(header=True))[0] == [("a", "b", "c")]


def test_a_byte_order_mark_is_left_out_at_the_start_only(tmp_path):
    (tmp_path / "train.tsv").write_bytes("\ufeffa\tb\tc\n\ufeffd\te\tf\n".encode())
    reader = open_delimited(fact_file(tmp_path / "train.tsv"), ReadOptions())
    assert "byte order mark" in reader.notes[0]
    assert _read(tmp_path / "train.tsv")[0] == [("a", "b", "c"), ("\ufeffd", "e", "f")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_utf_16_is_refused_and_named(tmp_path, encoding):
    (tmp_path / "train.tsv").write_bytes("a\tb\tc\n".encode(encoding))
    with pytest.raises(UserError, match="UTF-16"):
        _read(tmp_path / "train.tsv", ReadOptions(on_bad="quarantine"))
