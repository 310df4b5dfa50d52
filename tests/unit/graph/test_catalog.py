"""A known dataset is found by name, is what its pins say, and is imported once."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bique.errors import UserError
from bique.graph import SPLITS, Graph, catalog
from bique.graph.catalog import cache_directory, count_differences, extract, known, locate, state
from bique.graph.download import Pin
from bique.graph.known_datasets import Dataset, Download

FACTS = {"train": b"a\tlikes\tb\nb\tlikes\tc\n", "valid": b"a\tlikes\tc\n", "test": b"c\tlikes\ta\n"}
COUNTS = {"entities": 3, "relations": 1, "train": 2, "valid": 1, "test": 1}


def pin(content: bytes) -> Pin:
    return Pin("sha256", hashlib.sha256(content).hexdigest(), len(content))


def tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def toy_members(facts: dict[str, bytes] = FACTS, folder: str = "toy/") -> dict[str, bytes]:
    return {f"{folder}SOURCE.md": b"# Toy"} | {f"{folder}{split}.txt": facts[split] for split in SPLITS}


TOY = Dataset(
    name="toy",
    title="Toy",
    summary="three friends",
    origin="somebody/toys@0123",
    licence="CC0",
    published=COUNTS,
    files={split: pin(FACTS[split]) for split in SPLITS},
)

Register = Callable[[Dataset], None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Register:
    """Makes the catalog hold one dataset; its cache is empty, there is no folder of archives and no network."""
    monkeypatch.setenv("BIQUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BIQUE_DATASETS", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return lambda dataset: monkeypatch.setattr(catalog, "DATASETS", (dataset,))


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, register: Register, tmp_path: Path) -> Path:
    """A folder of archives, named in the environment."""
    path = tmp_path / "archives"
    path.mkdir()
    monkeypatch.setenv("BIQUE_DATASETS", str(path))
    return path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A web server on this machine: its address and the folder it serves."""
    path = tmp_path / "site"
    path.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(path)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", path
    server.shutdown()
    thread.join()
    server.server_close()


def cached_graphs() -> list[str]:
    graphs = cache_directory() / "graphs"
    return sorted(path.name for path in graphs.iterdir()) if graphs.is_dir() else []


# the table ---------------------------------------------------------------------------------------------------------


def test_the_catalog_holds_the_promised_datasets():
    promised = {"wn18rr", "fb15k-237", "yago3-10", "cn-100k", "atomic", "yago3-10-quarter", "atomic-sub", "wordnet"}
    assert promised <= {dataset.name for dataset in known()}
    assert all(dataset.origin and dataset.licence and dataset.summary for dataset in known())


@pytest.mark.parametrize("dataset", known(), ids=lambda dataset: dataset.name)
def test_every_dataset_is_pinned_counted_and_has_somewhere_to_come_from(dataset: Dataset):
    if dataset.bundled:
        return
    assert dataset.published is not None
    assert dataset.published.keys() == COUNTS.keys()
    assert dataset.checksums()
    assert bool(dataset.downloads) == (dataset.substitute is None)
    assert set(dataset.files) in ({*SPLITS}, set())
    for checksum in [*dataset.checksums().values(), *dataset.files.values()]:
        assert re.fullmatch(r"[0-9a-f]+", checksum.digest)
        assert len(checksum.digest) == {"sha256": 64, "git-blob": 40}[checksum.algorithm]


@pytest.mark.parametrize("wanted", [download for dataset in known() for download in dataset.downloads], ids=str)
def test_every_address_names_a_commit(wanted: Download):
    assert re.fullmatch(r"https://raw\.githubusercontent\.com/\w+/\w+/[0-9a-f]{40}/[\w./-]+", wanted.address)


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(UserError, match=r"unknown dataset 'WN18R'; did you mean 'wn18rr'\?"):
        locate("WN18R")


# the way: cache, folder, public address ----------------------------------------------------------------------------


def test_an_archive_is_imported_once_and_then_opened_from_the_cache(register: Register, folder: Path):
    register(TOY)
    archive = tar(folder / "toy.tar.xz", toy_members())
    assert state("toy") == "archive"
    first = locate("toy")
    archive.unlink()
    assert state("toy") == "cached"
    second = locate("toy")
    assert first.counts() == second.counts() == COUNTS
    assert first.hash == second.hash
    assert cached_graphs() == ["toy"]


def test_the_graph_says_where_it_comes_from(register: Register, folder: Path):
    register(replace(TOY, substitute="a substitute for friends"))
    tar(folder / "toy.tar.xz", toy_members())
    origin = locate("toy").origin
    assert origin["name"] == "toy"
    assert origin["source"] == TOY.origin
    assert origin["licence"] == "CC0"
    assert origin["substitute"] == "a substitute for friends"
    assert origin["published"] == COUNTS


def test_an_archive_of_splits_is_downloaded(register: Register, site: tuple[str, Path]):
    address, served = site
    file = tar(served / "Toy.tar.gz", toy_members(folder="./"))
    register(replace(TOY, downloads=(Download(f"{address}/Toy.tar.gz", "Toy.tar.gz", pin(file.read_bytes())),)))
    assert state("toy") == "download"
    assert locate("toy").counts() == COUNTS
    assert (cache_directory() / "downloads" / "Toy.tar.gz").is_file()


def one_file_per_split(address: str) -> Dataset:
    downloads = tuple(Download(f"{address}/{split}", f"toy.{split}.txt", TOY.files[split], split) for split in SPLITS)
    return replace(TOY, downloads=downloads)


def test_one_file_per_split_is_downloaded(register: Register, site: tuple[str, Path]):
    address, served = site
    register(one_file_per_split(address))
    for split in SPLITS:
        (served / split).write_bytes(FACTS[split])
    told: list[str] = []
    graph = locate("toy", lambda name, done, total: told.append(name))
    assert graph.counts() == COUNTS
    assert {"toy.train.txt", "toy.valid.txt", "toy.test.txt"} <= set(told)


def test_downloads_may_be_brought_in_the_folder_of_archives(register: Register, folder: Path):
    register(one_file_per_split("http://127.0.0.1:9"))
    for split in SPLITS:
        assert state("toy") == "download"
        (folder / f"toy.{split}.txt").write_bytes(FACTS[split])
    assert state("toy") == "archive"
    assert locate("toy").counts() == COUNTS


def test_offline_names_the_files_to_bring_and_the_variable(register: Register):
    register(one_file_per_split("http://127.0.0.1:9"))
    with pytest.raises(UserError, match=r"^127\.0\.0\.1:9 cannot be reached ") as caught:
        locate("toy")
    assert "put toy.tar.xz or toy.train.txt + toy.valid.txt + toy.test.txt into" in str(caught.value)
    assert "BIQUE_DATASETS" in str(caught.value)
    assert cached_graphs() == []


def test_a_dataset_without_an_address_says_so(register: Register):
    register(replace(TOY, substitute="a substitute for friends"))
    assert state("toy") == "absent"
    with pytest.raises(UserError, match=r"toy has no public address .*put toy\.tar\.xz into a folder.*BIQUE_DATASETS"):
        locate("toy")


def test_a_folder_of_archives_that_is_not_there_is_told(register: Register, monkeypatch: pytest.MonkeyPatch):
    register(TOY)
    monkeypatch.setenv("BIQUE_DATASETS", "/no/such/folder")
    with pytest.raises(UserError, match="BIQUE_DATASETS names /no/such/folder, which is not a folder"):
        locate("toy")


def test_the_bundled_graph_follows_its_archive(register: Register, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    register(replace(TOY, files={}, published=None, bundled=True))
    monkeypatch.setattr(catalog, "WORDNET", tmp_path / "wordnet.tar.xz")
    assert state("toy") == "absent"
    tar(tmp_path / "wordnet.tar.xz", toy_members())
    assert state("toy") == "bundled"
    assert locate("toy").counts() == COUNTS
    assert state("toy") == "cached"
    tar(tmp_path / "wordnet.tar.xz", toy_members(FACTS | {"test": b"c\tlikes\td\n"}))
    assert locate("toy").num_entities == 4


def test_the_bundled_graph_needs_neither_folder_nor_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("BIQUE_CACHE", str(tmp_path))
    assert state("wordnet") == "bundled"
    graph = locate("wordnet")
    assert graph.name == "wordnet"
    assert 4_000 < graph.num_entities < 6_000
    assert all(len(graph.split(split)) for split in SPLITS)
    assert state("wordnet") == "cached"


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("BIQUE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_directory() == Path("/home/ada/.cache/bique")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert cache_directory() == Path("/var/cache/bique")
    monkeypatch.setenv("BIQUE_CACHE", "~/graphs")
    assert cache_directory() == Path("/home/ada/graphs")


# nothing wrong gets in ---------------------------------------------------------------------------------------------


def test_an_archive_with_other_content_is_refused(register: Register, folder: Path):
    register(TOY)
    tar(folder / "toy.tar.xz", toy_members(FACTS | {"valid": b"c\tlikes\tb\n"}))
    expected = TOY.files["valid"].digest
    with pytest.raises(UserError, match=rf"toy\.tar\.xz: valid\.txt: expected sha256 {expected}, found "):
        locate("toy")
    assert cached_graphs() == []


def test_a_brought_download_with_other_content_is_refused_and_kept(register: Register, folder: Path):
    register(one_file_per_split("http://127.0.0.1:9"))
    for split in SPLITS:
        (folder / f"toy.{split}.txt").write_bytes(b"a\tlikes\ta\n")
    with pytest.raises(UserError, match=r"toy\.train\.txt: expected sha256 "):
        locate("toy")
    assert (folder / "toy.train.txt").is_file()


def test_unpublished_counts_are_refused_for_bytes_seen_before(register: Register, folder: Path):
    register(replace(TOY, published=COUNTS | {"entities": 4}))
    tar(folder / "toy.tar.xz", toy_members())
    with pytest.raises(UserError, match="toy: imported 3 entities, published 4"):
        locate("toy")
    assert cached_graphs() == []


def test_unpublished_counts_are_told_for_bytes_never_seen(register: Register, folder: Path):
    register(replace(TOY, published=COUNTS | {"entities": 4000}, verified=False))
    tar(folder / "toy.tar.xz", toy_members())
    assert count_differences(locate("toy")) == ["3 entities, published 4,000"]
    assert count_differences(locate("toy")) == ["3 entities, published 4,000"]


def test_blanks_around_a_line_go_and_a_line_without_tail_is_set_aside(register: Register, folder: Path):
    facts = FACTS | {"train": b"a \tlikes\tb \nb\tlikes\tc\nb\tlikes\t\n"}
    dataset = replace(TOY, trim_lines=True, on_bad="quarantine", published=COUNTS | {"entities": 4})
    register(replace(dataset, files={split: pin(facts[split]) for split in SPLITS}))
    tar(folder / "toy.tar.xz", toy_members(facts))
    graph = locate("toy")
    assert [*graph.entities] == ["a", "a ", "b", "c"]
    assert len(graph.train) == 2


def test_an_archive_with_names_of_entities_gives_labels(register: Register, folder: Path):
    names = b"a\tAnn\nb\tBo\nc\tCy\n"
    register(replace(TOY, labels=pin(names)))
    tar(folder / "toy.tar.xz", toy_members() | {"toy/entity_names.tsv": names})
    graph = locate("toy")
    assert [graph.label(i) for i in range(3)] == ["Ann", "Bo", "Cy"]
    assert locate("toy").labels == graph.labels


def test_labels_are_no_part_of_a_dataset_and_those_of_the_cache_stay(register: Register, folder: Path, tmp_path: Path):
    register(TOY)
    tar(folder / "toy.tar.xz", toy_members())
    plain = locate("toy")
    tar(folder / "toy.tar.xz", toy_members() | {"toy/entity_names.tsv": b"a\tAnn\n"})
    assert locate("toy").labels is None
    (tmp_path / "cache" / "graphs" / "toy").rename(tmp_path / "elsewhere")
    fetched = locate("toy")
    assert [fetched.label(i) for i in range(3)] == ["Ann", None, None]
    assert fetched.hash == plain.hash


def test_names_of_entities_that_are_not_the_pinned_ones_are_refused(register: Register, folder: Path):
    register(replace(TOY, labels=pin(b"a\tAnn\n")))
    tar(folder / "toy.tar.xz", toy_members() | {"toy/entity_names.tsv": b"a\tAmy\n"})
    with pytest.raises(UserError, match=r"toy\.tar\.xz: entity_names\.tsv.*fetch the archive again"):
        locate("toy")


def test_damaged_labels_in_the_cache_are_made_again(register: Register, folder: Path, tmp_path: Path):
    register(TOY)
    tar(folder / "toy.tar.xz", toy_members() | {"toy/entity_names.tsv": b"a\tAnn\n"})
    locate("toy")
    (tmp_path / "cache" / "graphs" / "toy" / "labels.utf8").write_bytes(b"Amy")
    assert locate("toy").label(0) == "Ann"


def test_only_split_files_and_labels_leave_an_archive(tmp_path: Path):
    archive, folder = tmp_path / "a.tar.xz", tmp_path / "deep" / "folder"
    folder.mkdir(parents=True)
    tar(archive, {"../../train.txt": b"x", "/valid.txt": b"y", "toy/other.txt": b"z", "toy/test.txt": b"w"})
    assert extract(archive, folder, {}) == ({split: folder / f"{split}.txt" for split in SPLITS}, None)
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(
        ["a.tar.xz", "deep", "folder", "test.txt", "train.txt", "valid.txt"]
    )


def test_a_link_is_not_followed_out_of_an_archive(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("a\tknows\tb\n")
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as archive:
        link = tarfile.TarInfo("toy/train.txt")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(link)
    with pytest.raises(UserError, match=r"a\.tar\.xz: there is no train\.txt and no valid\.txt and no test\.txt in it"):
        extract(tmp_path / "a.tar.xz", tmp_path, {})


def test_a_file_of_another_size_is_refused_before_it_is_unpacked(tmp_path: Path):
    archive = tar(tmp_path / "a.tar.xz", toy_members(FACTS | {"train": b"a\tlikes\tb\n" * 1000}))
    with pytest.raises(UserError, match=r"toy/train\.txt has 10,000 bytes, expected 20"):
        extract(archive, tmp_path, TOY.files)
    assert not (tmp_path / "train.txt").exists()


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5], ids="{:.0%} kept".format)
@pytest.mark.parametrize("ending", ["tar.xz", "tar.gz"])
def test_a_damaged_archive_is_told_in_one_sentence(tmp_path: Path, kept: float, ending: str):
    archive = tar(tmp_path / f"a.{ending}", toy_members())
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(UserError, match=r"fetch it again"):
        extract(archive, tmp_path, {})


# the cache ---------------------------------------------------------------------------------------------------------


def test_a_damaged_cache_is_made_again(register: Register, folder: Path):
    register(TOY)
    tar(folder / "toy.tar.xz", toy_members())
    before = locate("toy").hash
    (cache_directory() / "graphs" / "toy" / "train.npy").write_bytes(b"damaged")
    assert locate("toy").hash == before


def test_who_imports_second_opens_the_graph_of_the_first(
    register: Register, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    register(TOY)
    tar(folder / "toy.tar.xz", toy_members())
    move = catalog._move_into_place

    def overtaken(graph: Path, place: Path) -> None:
        monkeypatch.setattr(catalog, "_move_into_place", move)
        locate("toy")
        move(graph, place)

    monkeypatch.setattr(catalog, "_move_into_place", overtaken)
    assert locate("toy").counts() == COUNTS
    assert cached_graphs() == ["toy"]


def test_opening_from_the_cache_needs_no_polars(register: Register, folder: Path):
    register(TOY)
    tar(folder / "toy.tar.xz", toy_members())
    graph: Graph = locate("toy")
    assert graph.path is not None
    graph.path.rename(graph.path.with_name("wn18rr"))
    program = "import sys; from bique.graph.catalog import locate; locate('wn18rr'); print('polars' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert said.stdout.strip() == "False"
