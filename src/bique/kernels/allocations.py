"""Freed memory that stays with the process while large tensors come and go.

glibc gives every block of more than 32 MiB back to the system as soon as it is freed, and the next step asks for it
again: the system clears its pages anew, which on a CPU took up to half of a step (LOG.md).
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

# glibc's names and numbers, of <malloc.h>
TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_MAX = -1, -3, -4
# what it goes by when nobody says anything: the number of mapped blocks, and how far its thresholds rise by themselves
MAPPED_BLOCKS, MAPPED_FROM = 65_536, 32 << 20


@contextmanager
def kept_allocations() -> Iterator[None]:
    """Within, freed blocks are used again; at the end they go back to the system. One may stand within another."""
    heap = _heap()
    if heap is None:
        yield
        return
    heap.enter()
    try:
        yield
    finally:
        heap.leave()


class _Heap:
    """The one that the process has, and how many want it kept."""

    def __init__(self) -> None:
        self.glibc, self.lock, self.users = ctypes.CDLL(None), Lock(), 0

    def enter(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.glibc.mallopt(MMAP_MAX, 0)
                self.glibc.mallopt(TRIM_THRESHOLD, -1)  # never

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.glibc.mallopt(MMAP_MAX, MAPPED_BLOCKS)
                self.glibc.mallopt(MMAP_THRESHOLD, MAPPED_FROM)
                self.glibc.mallopt(TRIM_THRESHOLD, 2 * MAPPED_FROM)
                self.glibc.malloc_trim(0)


@cache
def _heap() -> _Heap | None:
    """Other C libraries (macOS, Windows, musl) have no such settings."""
    return _Heap() if platform.libc_ver()[0] == "glibc" else None
