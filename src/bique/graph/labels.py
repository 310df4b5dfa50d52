"""Labels: what people call an entity whose name is an id. They are for showing and asking, no part of the graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from bique.errors import UserError, cut, shown
from bique.graph.nearest import nearest_texts
from bique.shapes import Int

TEXT, OFFSETS, RECORD = "labels.utf8", "labels.offsets.npy", "labels.json"
REMEDY = f"make it again, or remove {TEXT}, {OFFSETS} and {RECORD} to go on without labels"


class Labels:
    """One text for each entity, in the order of their ids, memory-mapped; an empty one stands for none.

    Several entities may share a label. The files lie beside a vocabulary, with a hash of their own, so that neither a
    graph's hash nor an older version that reads the directory takes notice of them.
    """

    def __init__(self, text: bytes | np.ndarray, offsets: Int[np.ndarray, "entities_plus_one"]) -> None:
        self._text = text
        self._offsets = offsets

    @classmethod
    def from_places(cls, count: int, labels: Mapping[int, str]) -> Labels:
        """Labels of `count` entities by their id; an id that is not among them has none."""
        encoded = {place: label.encode("utf-8") for place, label in labels.items()}
        sizes = np.zeros(count, dtype=np.int64)
        sizes[list(encoded)] = [len(label) for label in encoded.values()]
        return cls(b"".join(encoded[place] for place in sorted(encoded)), np.append(0, np.cumsum(sizes)))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def of(self, entity: int) -> str | None:
        return self._bytes(entity).decode("utf-8") or None

    def _bytes(self, entity: int) -> bytes:
        return bytes(self._text[self._offsets[entity] : self._offsets[entity + 1]])

    @cached_property
    def _sizes(self) -> Int[np.ndarray, "entities"]:
        return np.diff(self._offsets)

    @property
    def count(self) -> int:
        """How many entities have a label."""
        return int(np.count_nonzero(self._sizes))

    def find(self, label: str) -> list[int]:
        """Every entity with exactly this label. Places of the right length are narrowed down, byte by byte."""
        wanted = label.encode("utf-8", "surrogatepass")
        if not wanted or not len(self._text):
            return []
        places = np.flatnonzero(self._sizes == len(wanted))
        text = np.frombuffer(self._text, dtype=np.uint8)
        for i, byte in enumerate(wanted):
            if len(places) < 2:
                break
            places = places[text[self._offsets[places] + i] == byte]
        return [place for place in places.tolist() if self._bytes(place) == wanted]

    def nearest(self, name: str, count: int = 5) -> list[tuple[float, int]]:
        """(likeness, entity) of the labels most like a misspelt one."""
        return nearest_texts(self._text, self._offsets, name, count)

    # files ---------------------------------------------------------------------------------------------------------

    @cached_property
    def hash(self) -> str:
        digest = hashlib.sha256(np.ascontiguousarray(self._offsets, dtype="<i8").tobytes())
        digest.update(bytes(self._text))
        return digest.hexdigest()

    def save(self, directory: Path) -> None:
        (directory / TEXT).write_bytes(bytes(self._text))
        np.save(directory / OFFSETS, np.asarray(self._offsets, dtype=np.int64))
        (directory / RECORD).write_text(json.dumps(self._record(), indent=2), encoding="utf-8")

    def _record(self) -> dict[str, int | str]:
        return {"labels": self.count, "sha256": self.hash}

    @classmethod
    def open(cls, directory: Path, count: int) -> Labels | None:
        """The labels of a directory with `count` entities; None where it has none, as all had before there were any."""
        if not any((directory / name).exists() for name in (TEXT, OFFSETS, RECORD)):
            return None
        try:
            record: object = json.loads((directory / RECORD).read_text(encoding="utf-8"))
            offsets = np.load(directory / OFFSETS, mmap_mode="r", allow_pickle=False)
            size = (directory / TEXT).stat().st_size
            # an empty file cannot be mapped
            text = np.memmap(directory / TEXT, dtype=np.uint8, mode="r") if size else b""
        except (OSError, ValueError, EOFError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a whole file"
            raise UserError(f"{directory}: its labels cannot be read ({reason}); {REMEDY}") from error
        sound = offsets.dtype == np.int64 and offsets.shape == (count + 1,)
        found = cls(text, offsets) if sound else None
        # labels with the hash that was written are as they were written, in every respect
        if found is None or record != found._record():
            raise UserError(f"{directory}: its labels are not those that were written; {REMEDY}")
        return found


def with_label(name: str, label: str | None) -> str:
    """`Berlin (Q64)`, as it may go to a terminal; only `Q64` where there is no label."""
    return shown(name) if label is None or label == name else f"{shown(cut(label))} ({shown(name)})"
