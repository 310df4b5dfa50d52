"""Known datasets by name: from the cache, else from a folder of archives, else from their pinned public address."""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from bique.atomic import disk_errors
from bique.bundled import WORDNET
from bique.errors import UserError, unknown
from bique.graph.download import LIMIT, Pin, Progress, digest_of, download
from bique.graph.graph import SPLITS, Graph, Split
from bique.graph.known_datasets import DATASETS, Dataset, Download

State = Literal["cached", "archive", "download", "bundled", "absent"]
SplitFiles = dict[Split, Path]
# inside an archive: id and name of each entity
LABELS = "entity_names.tsv"

DAMAGED_ARCHIVE = (tarfile.TarError, EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)


def known() -> tuple[Dataset, ...]:
    """Every dataset of the catalog."""
    return DATASETS


def find(name: str) -> Dataset:
    """The dataset of that name."""
    by_name = {dataset.name: dataset for dataset in known()}
    if name not in by_name:
        raise unknown("dataset", name, by_name)
    return by_name[name]


def state(name: str) -> State:
    """Where `locate` would take it from; "absent": it has no public address and no archive of it is here."""
    dataset = find(name)
    if (_cached_path(dataset) / "graph.json").is_file():
        return "cached"
    if dataset.bundled:
        return "bundled" if WORDNET.is_file() else "absent"
    if _archive_of(dataset) is not None or _all_downloads_in_folder(dataset):
        return "archive"
    return "download" if dataset.downloads else "absent"


def locate(name: str, progress: Progress | None = None) -> Graph:
    """The graph of a known dataset, imported on first use and opened from the cache ever after."""
    dataset = find(name)
    place = _cached_path(dataset)
    cached = _open_cached(place)
    if cached is not None:
        return cached
    with disk_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=place.parent) as staging:
            _build(dataset, Path(staging), progress)
            _move_into_place(Path(staging) / "graph", place)
    return Graph.open(place)


def count_differences(graph: Graph) -> list[str]:
    """What differs between a graph and the published counts in its origin, e.g. `7 entities, published 8`."""
    published: Mapping[str, int] = graph.origin.get("published") or {}
    found = graph.counts()
    return [f"{found[key]:,} {key}, published {count:,}" for key, count in published.items() if found[key] != count]


# folders -----------------------------------------------------------------------------------------------------------


def cache_directory() -> Path:
    """$BIQUE_CACHE, else $XDG_CACHE_HOME/bique, else ~/.cache/bique."""
    if chosen := os.environ.get("BIQUE_CACHE"):
        return _home_expanded("BIQUE_CACHE", chosen)
    shared = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(shared) if shared else Path.home() / ".cache") / "bique"
    except RuntimeError as error:  # neither HOME nor the system says where
        raise UserError("there is no home directory to keep graphs in; name a folder in BIQUE_CACHE") from error


def archive_directory() -> Path | None:
    """$BIQUE_DATASETS, a folder with `<name>.tar.xz` archives or with the downloads as they are; None when not set."""
    chosen = os.environ.get("BIQUE_DATASETS")
    if not chosen:
        return None
    folder = _home_expanded("BIQUE_DATASETS", chosen)
    if not folder.is_dir():
        raise UserError(
            f"BIQUE_DATASETS names {chosen}, which is not a folder; name the folder of archives or unset it"
        )
    return folder


def _home_expanded(variable: str, chosen: str) -> Path:
    try:
        return Path(chosen).expanduser()
    except RuntimeError as error:
        raise UserError(f"{variable} names {chosen}, but {error}; give a whole path") from error


def _cached_path(dataset: Dataset) -> Path:
    # the bundled archive may change with the package, the published bytes never do
    version = f"-{digest_of(WORDNET, 'sha256')[:12]}" if dataset.bundled and WORDNET.is_file() else ""
    return cache_directory() / "graphs" / f"{dataset.name}{version}"


def _open_cached(place: Path) -> Graph | None:
    if not place.exists():
        return None
    try:
        return Graph.open(place)
    except UserError:
        # damaged, or of another version of the format: a cache is made again, not mourned
        shutil.rmtree(place, ignore_errors=True)
        return None


def _move_into_place(graph: Path, place: Path) -> None:
    """A rename; when another process imported the same dataset meanwhile, its graph stays and ours goes."""
    try:
        graph.rename(place)
    except OSError:
        if not (place / "graph.json").is_file():
            raise


# finding the files -------------------------------------------------------------------------------------------------


def _archive_of(dataset: Dataset) -> Path | None:
    folder = archive_directory()
    archive = folder / dataset.archive if folder else None
    return archive if archive and dataset.files and archive.is_file() else None


def _in_folder(wanted: Download) -> Path | None:
    folder = archive_directory()
    file = folder / wanted.file if folder else None
    return file if file and file.is_file() else None


def _all_downloads_in_folder(dataset: Dataset) -> bool:
    return bool(dataset.downloads) and all(_in_folder(wanted) for wanted in dataset.downloads)


def _source_files(dataset: Dataset, staging: Path, progress: Progress | None) -> Extracted:
    """train, valid and test as text files, their content checked, and labels where there are some."""
    archive = WORDNET if dataset.bundled else _archive_of(dataset)
    if archive is not None:
        return extract(archive, staging, dataset.files, dataset.labels)
    if not dataset.downloads:
        raise UserError(
            f"{dataset.name} has no public address (it is {dataset.substitute}); {_archive_remedy(dataset)}"
        )
    files: SplitFiles = {}
    labels: Path | None = None
    for wanted in dataset.downloads:
        file = _obtain(wanted, _archive_remedy(dataset), progress)
        if wanted.split:
            files[wanted.split] = file
        else:
            files, labels = extract(file, staging, {})
    return Extracted(files, labels)


def _archive_remedy(dataset: Dataset) -> str:
    downloads = " + ".join(wanted.file for wanted in dataset.downloads)
    files = " or ".join(filter(None, [dataset.archive if dataset.files else "", downloads]))
    return f"put {files} into a folder and name that folder in the environment variable BIQUE_DATASETS"


def _obtain(wanted: Download, remedy: str, progress: Progress | None) -> Path:
    """A pinned file from the folder of archives, else downloaded into the cache (where it may lie already)."""
    given = _in_folder(wanted)
    if given is not None:
        wanted.pin.verify(given, str(given), f"fetch it again from {wanted.address}")
        return given
    return download(wanted.address, cache_directory() / "downloads" / wanted.file, wanted.pin, progress, remedy=remedy)


class Extracted(NamedTuple):
    splits: SplitFiles
    labels: Path | None


def extract(archive: Path, folder: Path, pins: Mapping[Split, Pin], labels: Pin | None = None) -> Extracted:
    """train.txt, valid.txt, test.txt and entity_names.tsv, if there is one, of a tar archive into a folder: nothing
    else, and checked where pinned."""
    wanted: dict[str, Pin | None] = {**{f"{split}.txt": pins.get(split) for split in SPLITS}, LABELS: labels}
    found: dict[str, Path] = {}
    try:
        with tarfile.open(archive) as members:
            for member in members:
                name = PurePosixPath(member.name).name
                if name in wanted and name not in found and member.isreg():
                    found[name] = _copy(members, member, folder / name, wanted[name])
    except DAMAGED_ARCHIVE as error:
        raise UserError(f"{archive}: cannot be unpacked ({error}); fetch it again") from error
    if missing := [name for name in wanted if name not in found and name != LABELS]:
        raise UserError(f"{archive}: there is no {' and no '.join(missing)} in it; fetch it again")
    for name, file in found.items():
        if pin := wanted[name]:
            pin.verify(file, f"{archive}: {name}", "fetch the archive again")
    return Extracted({split: found[f"{split}.txt"] for split in SPLITS}, found.get(LABELS))


def _copy(members: tarfile.TarFile, member: tarfile.TarInfo, file: Path, pin: Pin | None) -> Path:
    """Read and written under a name of ours, so that no path inside the archive can reach outside."""
    expected = pin.size if pin else None
    if member.size > LIMIT or expected not in (None, member.size):
        raise UserError(f"{members.name}: {member.name} has {member.size:,} bytes, expected {expected or LIMIT:,}")
    content = members.extractfile(member)
    assert content is not None  # it is a regular file
    with content, file.open("wb") as out:
        shutil.copyfileobj(content, out)
    return file


# importing ---------------------------------------------------------------------------------------------------------


def _build(dataset: Dataset, staging: Path, progress: Progress | None) -> None:
    """Import into `staging/graph`; bytes seen before must give the published counts, others are let in with them."""
    from bique.graph.ingest import ReadOptions, import_graph  # polars, which opening from the cache never needs

    files, labels = _source_files(dataset, staging, progress)
    if dataset.trim_lines:
        files = _trimmed(files, staging)
    options = ReadOptions(separator="\t", on_bad=dataset.on_bad)
    origin = _origin(dataset)
    graph, _ = import_graph(files, staging / "graph", options, labels=labels, origin=origin, progress=progress)
    differences = count_differences(graph)
    if dataset.verified and differences:
        raise UserError(f"{dataset.name}: imported {'; '.join(differences)}; please report this as a fault of bique")


def _trimmed(files: SplitFiles, staging: Path) -> SplitFiles:
    """The lines without the blanks around each of them (an empty tail loses its tab, and so is a bad line)."""
    trimmed: SplitFiles = {split: staging / f"{split}.trimmed.txt" for split in files}
    for split, source in files.items():
        with source.open("rb") as lines, trimmed[split].open("wb") as out:
            out.writelines(line.strip() + b"\n" for line in lines)
    return trimmed


def _origin(dataset: Dataset) -> dict[str, object]:
    origin = {
        "name": dataset.name,
        "title": dataset.title,
        "source": dataset.origin,
        "licence": dataset.licence,
        "published": dict(dataset.published) if dataset.published else None,
        "substitute": dataset.substitute,
    }
    return {key: value for key, value in origin.items() if value is not None}
