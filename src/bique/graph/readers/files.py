"""Which files hold which split, and what their names say about their format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bique.errors import UserError, did_you_mean
from bique.graph.graph import SPLITS, Split

Format = Literal["tsv", "csv", "parquet", "ntriples", "turtle"]
Compression = Literal["gz", "xz", "zst"]

FORMATS: dict[str, Format] = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".nt": "ntriples",
    ".ttl": "turtle",
}
COMPRESSIONS: dict[str, Compression] = {".gz": "gz", ".xz": "xz", ".zst": "zst"}
SPLIT_STEMS: dict[str, Split] = {
    "train": "train",
    "valid": "valid",
    "validation": "valid",
    "val": "valid",
    "dev": "valid",
    "test": "test",
}


@dataclass(frozen=True)
class FactFile:
    """A file of facts, its format and compression read off its name: `train.tsv.gz` is (train, tsv, gz)."""

    path: Path
    stem: str
    format: Format
    compression: Compression | None

    @classmethod
    def of(cls, path: Path) -> FactFile | None:
        """None when the name does not end like a file that can be read."""
        compression = COMPRESSIONS.get(path.suffix.lower())
        inner = Path(path.name).with_suffix("") if compression else Path(path.name)
        kind = FORMATS.get(inner.suffix.lower())
        if kind is None or (kind == "parquet" and compression):
            return None
        return cls(path, inner.stem, kind, compression)


def fact_file(path: Path) -> FactFile:
    """The file at `path`, which has to exist and to have a name that can be read."""
    if (path.exists() or path.is_symlink()) and not path.is_file():
        raise UserError(f"{path}: is not a file that can be read (a broken link or a pipe?); give an ordinary file")
    if not path.is_file():
        nearby = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise UserError(f"{path}: there is no such file{did_you_mean(path.name, nearby)}")
    found = FactFile.of(path)
    if found is None:
        raise UserError(f"{path}: its name does not say its format; name it {endings()}")
    return found


def endings() -> str:
    return f"{', '.join(FORMATS)} (all but .parquet also with {', '.join(COMPRESSIONS)} behind)"


def find_splits(folder: Path) -> tuple[dict[Split, FactFile], list[str]]:
    """The files of a folder by split, and the names of those that are none."""
    found: dict[Split, FactFile] = {}
    ignored: list[str] = []
    for path in sorted(folder.iterdir()):
        file = FactFile.of(path)
        split = SPLIT_STEMS.get(file.stem.lower()) if file else None
        if file is None or split is None:
            ignored.append(path.name)
            continue
        if not path.is_file():
            raise UserError(
                f"{path}: looks like the {split} split, but is not a file (a broken link?); mend or remove it"
            )
        if split in found:
            both = f"{found[split].path.name} and {path.name}"
            raise UserError(f"{folder}: {both} both look like the {split} split; keep one of them")
        found[split] = file
    if "train" not in found:
        there = ", ".join(path.name for path in sorted(folder.iterdir())[:20]) or "nothing"
        raise UserError(f"{folder}: no train file in it, only {there}; name it train with one of {endings()}")
    return {split: found[split] for split in SPLITS if split in found}, ignored
