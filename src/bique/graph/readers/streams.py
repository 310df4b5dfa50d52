"""Bytes of a file, decompressed, in blocks of whole lines."""

from __future__ import annotations

import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import BinaryIO, Protocol

from bique.errors import UserError, missing_extra
from bique.graph.readers.files import Compression, FactFile

Progress = Callable[[str, int, int], None]
BLOCK_BYTES = 8 << 20  # small enough to stay near the processor's caches, large enough to make overhead vanish
COMPRESSED_BYTES = 64 << 10  # of compressed input at once: bounds what a very repetitive file unfolds to
LINE_LIMIT = 1 << 30
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
NumberedBlock = tuple[int, bytes]


class Decompressor(Protocol):
    """What zlib, lzma and both zstd packages have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def blocks_of_lines(file: FactFile, progress: Progress | None = None) -> Iterator[bytes]:
    """Blocks that end with b"\\n", except perhaps the last; a line is never cut, however long it is."""
    pending: list[bytes] = []
    for chunk in chunks(file, progress):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join([*pending, memoryview(chunk)[:cut]])
            pending = []
        pending.append(chunk[cut:])
        if sum(map(len, pending)) > LINE_LIMIT:
            raise UserError(f"{file.path}: a line is longer than {LINE_LIMIT} bytes; is this a text file?")
    if any(pending):
        yield b"".join(pending)


def without_mark(parts: Iterator[bytes], file: FactFile) -> tuple[Iterator[bytes], list[str]]:
    """The text behind a byte order mark, and a note if there was one; UTF-16 is refused.

    Most lines of a UTF-16 file would pass for UTF-8 with zeros in the names, so it may not even be quarantined.
    """
    first = next(parts, b"")
    if first.startswith(UTF16_MARKS):
        raise UserError(f"{file.path}: this is UTF-16, not UTF-8; convert it, as with: iconv -f UTF-16 -t UTF-8")
    note = f"{file.path.name}: a UTF-8 byte order mark at its start was left out"
    notes = [note] if first.startswith(UTF8_MARK) else []
    first = first.removeprefix(UTF8_MARK)
    return chain([first] if first else [], parts), notes


def numbered(blocks: Iterable[bytes], number: int = 1) -> Iterator[NumberedBlock]:
    """Each block with the number of its first line."""
    for block in blocks:
        yield number, block
        number += block.count(b"\n")


def chunks(file: FactFile, progress: Progress | None = None) -> Iterator[bytes]:
    """The decompressed content, about a block at a time; damage is told with the name of the file."""
    try:
        with file.path.open("rb") as raw:
            size = os.fstat(raw.fileno()).st_size
            stream = raw if file.compression is None else _decompressed(raw, file.compression)
            while chunk := stream.read(BLOCK_BYTES):
                if progress is not None:
                    progress(file.path.name, raw.tell(), size)
                yield chunk
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"{file.path}: cannot be read ({reason}); is it complete? fetch or compress it again"
        ) from error


class ChunkStream(io.RawIOBase):
    """A readable stream over an iterator of byte strings."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        super().__init__()
        self._parts = parts
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = memoryview(part)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _decompressed(raw: BinaryIO, compression: Compression) -> io.BufferedReader:
    fresh, damage = _decompressor(compression)
    return io.BufferedReader(ChunkStream(_members(raw, fresh, damage)), BLOCK_BYTES)


def _members(raw: BinaryIO, fresh: Callable[[], Decompressor], damage: type[Exception]) -> Iterator[bytes]:
    """All members or frames of a compressed file, one behind the other.

    One loop for all formats: the standard library's own file objects skip what follows an .xz, and zstandard's does
    not tell that a file was cut off.
    """
    decompressor = fresh()
    while data := raw.read(COMPRESSED_BYTES):
        while data:
            if decompressor.eof:
                data = data.lstrip(b"\0")  # padding between members is allowed
                if not data:
                    break
                decompressor = fresh()
            try:
                yield decompressor.decompress(data)
            except damage as error:
                raise OSError(f"damaged data: {error}") from error
            data = decompressor.unused_data if decompressor.eof else b""
    if not decompressor.eof:
        raise EOFError("it ends in the middle of the compressed data")


def _decompressor(compression: Compression) -> tuple[Callable[[], Decompressor], type[Exception]]:
    if compression == "gz":
        return lambda: zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), zlib.error
    if compression == "xz":
        return lzma.LZMADecompressor, lzma.LZMAError
    return _zstd()


def _zstd() -> tuple[Callable[[], Decompressor], type[Exception]]:
    try:  # part of Python since 3.14
        from compression import zstd  # pyright: ignore

        return zstd.ZstdDecompressor, zstd.ZstdError  # pyright: ignore
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError as error:
        raise missing_extra("zstandard", "zstd", "reading .zst files") from error
    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError
