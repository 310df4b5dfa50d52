"""Packed files, Parquet and RDF: what is in them comes back, what is damaged is named."""

from __future__ import annotations

import gzip
import lzma
import sys

import numpy as np
import polars as pl
import pytest
import zstandard

from bique.errors import UserError
from bique.graph.readers import streams
from bique.graph.readers.files import FactFile, fact_file
from bique.graph.readers.options import ReadOptions
from bique.graph.readers.reading import open_reader
from bique.graph.readers.streams import blocks_of_lines


def _read(path, options=ReadOptions()):
    """All facts of a file as names, and its bad lines as (number, raw)."""
    reader = open_reader(fact_file(path), options)
    batches = [reader.parse(block) for block in reader.blocks]
    facts = [fact for batch in batches for fact in batch.facts.rows()]
    return facts, [(bad.number, bad.raw) for batch in batches for bad in batch.bad]


def _reasons(path, options=ReadOptions()):
    reader = open_reader(fact_file(path), options)
    return [(bad.number, bad.reason, reader.remedy(bad)) for block in reader.blocks for bad in reader.parse(block).bad]


# names of files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.tsv", ("train", "tsv", None)),
        ("Train.TXT.GZ", ("Train", "tsv", "gz")),
        ("a.b.nt.zst", ("a.b", "ntriples", "zst")),
        ("train.parquet", ("train", "parquet", None)),
        ("train.parquet.gz", None),
        ("train", None),
        ("train.gz", None),
        ("train.json", None),
    ],
)
def test_a_name_tells_format_and_compression(tmp_path, name, expected):
    file = FactFile.of(tmp_path / name)
    assert (file and (file.stem, file.format, file.compression)) == expected


# compression ---------------------------------------------------------------------------------------------------------

PACK = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstandard.compress}


@pytest.mark.parametrize("ending", PACK)
def test_a_packed_file_reads_like_a_plain_one(tmp_path, ending):
    content = "".join(f"entity {i}\trelation {i % 7}\tentité {i * 7 % 1000}\n" for i in range(20_000)).encode()
    half = len(content) // 2
    (tmp_path / "plain.tsv").write_bytes(content)
    (tmp_path / f"packed.tsv.{ending}").write_bytes(PACK[ending](content[:half]) + PACK[ending](content[half:]))
    assert _read(tmp_path / f"packed.tsv.{ending}") == _read(tmp_path / "plain.tsv")


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("damage", ["cut", "changed", "foreign", "behind", "empty"])
def test_a_damaged_packed_file_is_named(tmp_path, ending, damage):
    content = np.random.default_rng(0).bytes(50_000)
    packed = PACK[ending](content)
    broken = {
        "cut": packed[:-5],
        "changed": packed[: len(packed) // 2] + b"\0\1\2\3\4\5\6\7" + packed[len(packed) // 2 + 8 :],
        "foreign": b"a\tb\tc\n",
        "behind": packed + b"something else",
        "empty": b"",
    }[damage]
    if (ending, damage) == ("zst", "changed"):
        broken = zstandard.ZstdCompressor(write_checksum=True).compress(content)
        broken = broken[:1000] + b"\0\1\2\3" + broken[1004:]
    path = tmp_path / f"train.tsv.{ending}"
    path.write_bytes(broken)
    with pytest.raises(UserError, match=f"train.tsv.{ending}: cannot be read"):
        list(blocks_of_lines(fact_file(path)))


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("zstandard", "t.tsv.zst", r"bique\[zstd\]"), ("pyoxigraph", "t.nt", r"bique\[rdf\]")],
)
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, package, name, extra):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "compression", None)
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(UserError, match=extra):
        _read(tmp_path / name)


# Parquet and RDF -----------------------------------------------------------------------------------------------------


def test_parquet_holds_any_name(tmp_path, monkeypatch):
    monkeypatch.setattr("bique.graph.readers.parquet.ROWS_AT_ONCE", 3)
    names = ["a\nb", "\t", '"', " ", "\r\n", "é\0", "x" * 1000]
    pl.DataFrame({"h": names, "r": range(7), "t": names[::-1]}).write_parquet(tmp_path / "train.parquet")
    facts, bad = _read(tmp_path / "train.parquet")
    assert facts == [(h, str(r), t) for h, r, t in zip(names, range(7), names[::-1], strict=True)]
    assert bad == []


def test_a_parquet_row_without_a_name_is_bad(tmp_path, monkeypatch):
    monkeypatch.setattr("bique.graph.readers.parquet.ROWS_AT_ONCE", 2)
    frame = pl.DataFrame({"t": ["a", None, "", "b", "c"], "r": ["r"] * 5, "h": ["a", "b", "c", "", "e"]})
    frame.write_parquet(tmp_path / "train.parquet")
    facts, bad = _read(tmp_path / "train.parquet", ReadOptions(columns=("h", "r", "t")))
    assert facts == [("a", "r", "a"), ("e", "r", "c")]
    assert bad == [(2, b'["b", "r", null]'), (3, b'["c", "r", ""]'), (4, b'["", "r", "b"]')]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (pl.DataFrame({"h": [1.5], "r": ["r"], "t": ["t"]}), ReadOptions(), "'h' holds Float64"),
        (pl.DataFrame({"h": ["h"], "t": ["t"]}), ReadOptions(), "it has 2 columns"),
        (pl.DataFrame({"h": ["h"], "r": ["r"], "t": ["t"]}), ReadOptions(separator=","), "--separator"),
        (b"PAR1 nonsense PAR1", ReadOptions(), "cannot be read as Parquet"),
        (b"", ReadOptions(), "cannot be read as Parquet"),
    ],
)
def test_a_parquet_file_that_is_no_list_of_facts_is_refused(tmp_path, content, options, message):
    path = tmp_path / "train.parquet"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content.write_parquet(path)
    with pytest.raises(UserError, match=message):
        _read(path, options)


NT = b'<http://e/a> <http://e/p> "x\\ty \\"q\\""@en .\n# comment\n\n_:b <http://e/p> "1"^^<http://e/t> .\n'


@pytest.mark.parametrize("pack", [None, "gz"])
def test_rdf_terms_have_one_spelling(tmp_path, pack):
    path = tmp_path / ("train.nt" + (f".{pack}" if pack else ""))
    path.write_bytes(PACK[pack](NT) if pack else NT)
    facts = [("http://e/a", "http://e/p", '"x\\ty \\"q\\""@en'), ("_:b", "http://e/p", '"1"^^<http://e/t>')]
    assert _read(path) == (facts, [])
    (tmp_path / "train.ttl").write_bytes(b'@prefix e: <http://e/> . e:a e:p "x\\ty \\"q\\""@en . _:b e:p "1"^^e:t .')
    assert _read(tmp_path / "train.ttl") == (facts, [])


def test_bad_n_triples_are_told_by_line(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 60)
    good = b"<http://e/a> <http://e/p> <http://e/%d> .\r\n"
    bad = [b"<http://e/a> <http://e/p> .", b"a b c", b'<http://e/a> <http://e/p> "\xff" .']
    (tmp_path / "train.nt").write_bytes(b"".join(good % i + bad[i % 3] + b"\r\n" for i in range(9)))
    facts, reported = _read(tmp_path / "train.nt")
    assert facts == [("http://e/a", "http://e/p", f"http://e/{i}") for i in range(9)]
    assert reported == [(2 * i + 2, bad[i % 3]) for i in range(9)]
    assert all(reason.startswith("not N-Triples") for _, reason, _ in _reasons(tmp_path / "train.nt"))


def test_nodes_without_a_label_are_numbered_and_labels_kept(tmp_path, monkeypatch):
    """The parser names them at random; two imports of one file have to give one graph."""
    monkeypatch.setattr(streams, "BLOCK_BYTES", 40)
    label = "a" * 31  # looks like one of the parser's own
    path = tmp_path / "train.ttl"
    path.write_text(f"@prefix e: <http://e/> . e:a e:p [ e:q e:b ] . e:c e:p [ e:q e:d ] . _:{label} e:p _:x .")
    facts = {(h.removeprefix("http://e/"), r[-1], t.removeprefix("http://e/")) for h, r, t in _read(path)[0]}
    assert facts == {
        ("a", "p", "_:[train 1]"),
        ("_:[train 1]", "q", "b"),
        ("c", "p", "_:[train 2]"),
        ("_:[train 2]", "q", "d"),
        (f"_:{label}", "p", "_:x"),
    }


def test_bad_turtle_is_told_by_line(tmp_path):
    (tmp_path / "train.ttl").write_text("@prefix e: <http://e/> .\ne:a e:p e:b .\ne:a e:p\n")
    with pytest.raises(UserError, match=r"train\.ttl:[34]: "):
        _read(tmp_path / "train.ttl", ReadOptions(on_bad="quarantine"))


def test_a_cut_packed_turtle_file_is_named(tmp_path):
    (tmp_path / "train.ttl.gz").write_bytes(gzip.compress(b"<http://a> <http://b> <http://c> .\n" * 99)[:-9])
    with pytest.raises(UserError, match=r"train\.ttl\.gz: cannot be read"):
        _read(tmp_path / "train.ttl.gz")


@pytest.mark.parametrize("options", [{"header": True}, {"separator": ","}, {"columns": (1, 2, 3)}])
def test_rdf_refuses_options_about_columns(tmp_path, options):
    (tmp_path / "train.nt").write_bytes(NT)
    with pytest.raises(UserError, match="RDF files have no columns"):
        _read(tmp_path / "train.nt", ReadOptions(**options))
