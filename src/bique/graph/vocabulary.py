"""Names and their ids: any Unicode, exactly, memory-mapped, found by bisection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from bique.errors import UserError
from bique.graph.nearest import nearest_texts
from bique.shapes import Int

Offsets = Int[np.ndarray, "names_plus_one"]


class Vocabulary(Sequence[str]):
    """Distinct names in the order of their UTF-8 bytes; the id of a name is its place.

    All names lie in one byte string, `offsets[i]:offsets[i + 1]` is name i. The sorted order makes ids independent of
    the order of the source and lets `index` bisect, so that millions of names need no dictionary in memory.
    """

    def __init__(self, text: bytes | np.ndarray, offsets: Offsets) -> None:
        self._text = text
        self._offsets = offsets

    @classmethod
    def from_names(cls, names: Iterable[str]) -> Vocabulary:
        """Sorts and removes duplicates."""
        encoded = sorted({name.encode("utf-8") for name in names})
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(name) for name in encoded], out=offsets[1:])
        return cls(b"".join(encoded), offsets)

    @classmethod
    def open(cls, directory: Path, kind: str) -> Vocabulary:
        text_file, offsets_file = directory / f"{kind}.utf8", directory / f"{kind}.offsets.npy"
        try:
            offsets = np.load(offsets_file, mmap_mode="r", allow_pickle=False)
            # an empty file cannot be mapped
            text = np.memmap(text_file, dtype=np.uint8, mode="r") if text_file.stat().st_size else b""
        except (OSError, ValueError, EOFError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a whole .npy file"
            raise UserError(
                f"{directory}: its {kind} cannot be read ({reason}); it is damaged, make it again"
            ) from error
        sound = offsets.dtype == np.int64 and offsets.ndim == 1 and len(offsets) > 0
        if not (sound and offsets[0] == 0 and offsets[-1] == len(text) and bool(np.all(np.diff(offsets) > 0))):
            raise UserError(
                f"{directory}: {text_file.name} and {offsets_file.name} do not fit; it is damaged, make it again"
            )
        try:
            bytes(text).decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"{text_file}: not UTF-8 at byte {error.start}; the file is damaged") from error
        return cls(text, offsets)

    def save(self, directory: Path, kind: str) -> None:
        (directory / f"{kind}.utf8").write_bytes(bytes(self._text))
        np.save(directory / f"{kind}.offsets.npy", np.asarray(self._offsets, dtype=np.int64))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _bytes(self, place: int) -> bytes:
        return bytes(self._text[self._offsets[place] : self._offsets[place + 1]])

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"name {index} of {len(self)}")
        return self._bytes(index % len(self)).decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def find(self, name: str) -> int | None:
        """The id of a name, or None."""
        wanted = name.encode("utf-8", "surrogatepass")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._bytes(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._bytes(low) == wanted else None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def index(self, value: str, start: int = 0, stop: int | None = None) -> int:
        found = self.find(value)
        if found is None or not start <= found < (len(self) if stop is None else stop):
            raise ValueError(f"{value!r} is not in the vocabulary")
        return found

    def nearest(self, name: str, count: int = 5) -> list[tuple[float, int]]:
        """(likeness, id) of the names most like a misspelt one."""
        return nearest_texts(self._text, self._offsets, name, count)

    def digest_parts(self) -> Iterator[bytes]:
        """What the content hash of a graph reads."""
        yield np.ascontiguousarray(self._offsets, dtype="<i8").tobytes()
        yield bytes(self._text)
