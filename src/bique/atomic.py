"""Nothing is ever half-written: files and directories appear under their name only when complete."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bique.errors import UserError


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the disk's own errors (full, read-only, forbidden) into one sentence about `path`."""
    try:
        yield
    except OSError as error:
        raise _disk_error(path, error) from error


def _disk_error(path: Path, error: OSError) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(f"{path}: no space left on the disk; free some and try again (nothing half-written was kept)")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return UserError(f"{path}: cannot be written ({error.strerror}); choose another folder or change its rights")
    if error.errno == errno.ENOENT and not path.parent.is_dir():
        return UserError(f"{path}: there is no folder {path.parent}; make it first")
    if error.errno is None:  # numpy's, when less was written than asked
        return UserError(f"{path}: could not be written whole ({error}); is the disk full?")
    return UserError(f"{path}: cannot be written ({error.strerror}); choose another place")


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A path beside `path` to write a file to; it is flushed to disk and renamed when the block ends well.

    A link stays a link: what it names is replaced.
    """
    with disk_errors(path):
        target = Path(os.path.realpath(path))
        if not path.name or (target.exists() and not target.is_file()):
            raise UserError(f"{path}: is not an ordinary file, so it is not replaced; give the name of a file")
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        try:
            yield temporary
            temporary.chmod(mode)  # safetensors makes files that nobody else may read
            _flush(temporary)
            temporary.replace(target)
            _flush(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode("utf-8"))


def refuse_unless_text(path: Path) -> None:
    """safetensors writes under any name, but reads only what is UTF-8, and TOML and JSON hold nothing else."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{path}: a path that is not UTF-8 could not be read again; choose another name") from error


@contextlib.contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """A directory beside `path` to fill; it becomes `path` when the block ends well, and vanishes when it does not."""
    refuse_unless_text(path)
    with disk_errors(path):
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise UserError(f"{path}: exists already; choose another name or remove it first")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
        try:
            yield temporary
            for file in temporary.rglob("*"):
                _flush(file)
            temporary.chmod(0o777 & ~_umask())
            temporary.replace(path)
            _flush(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
