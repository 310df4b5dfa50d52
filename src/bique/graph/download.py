"""One file from a public address: resumed when cut, checked against its pin, under its own name only when whole."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast
from urllib.parse import urlsplit

from bique.atomic import disk_errors
from bique.errors import UserError
from bique.version import VERSION

Algorithm = Literal["sha256", "git-blob"]
# the file's name, the bytes so far, the bytes in all (None when the server does not say)
Progress = Callable[[str, int, int | None], None]

PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds before each further attempt after a cut connection
LIMIT = 1 << 30  # bytes; no known dataset comes near it, so more is a fault of the server
CHUNK = 1 << 16


@dataclass(frozen=True)
class Pin:
    """The digest a file must have, and its size where somebody has seen it.

    A git blob id is sha1("blob " + size + "\\0" + content); it pins a file by what a repository says of it, so also
    where nobody has computed a sha256.
    """

    algorithm: Algorithm
    digest: str
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.algorithm} {self.digest}"

    def matches(self, path: Path) -> bool:
        return digest_of(path, self.algorithm) == self.digest

    def verify(self, path: Path, shown: str, remedy: str) -> None:
        """Refuse a file with another digest; `shown` is the name of the file in the message."""
        found = digest_of(path, self.algorithm)
        if found != self.digest:
            raise UserError(f"{shown}: expected {self}, found {found}: damaged, or another file; {remedy}")


def digest_of(path: Path, algorithm: Algorithm) -> str:
    """In hexadecimal; the file is read in pieces."""
    with path.open("rb") as file:
        if algorithm == "sha256":
            return hashlib.file_digest(file, "sha256").hexdigest()
        blob = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        return hashlib.file_digest(file, lambda: blob).hexdigest()


def download(
    address: str,
    destination: Path,
    pin: Pin,
    progress: Progress | None = None,
    *,
    remedy: str = "check the connection and try again",
    timeout: float = 30.0,
) -> Path:
    """The file of `address` at `destination`, which appears only when it fits `pin`.

    Bytes go to `<destination>.part`; one left by an earlier call is continued with a Range request. `remedy` ends the
    sentence of every error of the network. Several processes may ask for one file: the first downloads, the rest wait.
    """
    part = destination.with_name(f"{destination.name}.part")
    with disk_errors(destination):
        destination.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(destination):
            if not (destination.is_file() and pin.matches(destination)):
                _Transfer(address, part, pin, progress, remedy, timeout).run()
                part.replace(destination)
    return destination


@contextlib.contextmanager
def _one_at_a_time(destination: Path) -> Generator[None]:
    """Two processes appending to one .part would spoil it; where the system has no locks, the pin still notices."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with destination.with_name(f".{destination.name}.lock").open("w") as lock:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class _CutError(Exception):
    """The connection ended before the file did: worth another attempt."""


@dataclass(frozen=True)
class _Transfer:
    address: str
    part: Path
    pin: Pin
    progress: Progress | None
    remedy: str
    timeout: float

    def run(self) -> None:
        """Leave the whole file, checked, in `part`."""
        resumed = self._bytes_so_far() > 0
        self._fetch()
        if resumed and not self.pin.matches(self.part):
            # what an earlier attempt left may itself be damaged: once more, from the first byte
            self.part.unlink()
            self._fetch()
        try:
            self.pin.verify(self.part, self.address, self.remedy)
        except UserError:
            self.part.unlink()
            raise

    def _bytes_so_far(self) -> int:
        return self.part.stat().st_size if self.part.is_file() else 0

    def _fetch(self) -> None:
        for pause in (*PAUSES, None):
            try:
                self._attempt()
                return
            except _CutError as cut:
                if pause is None:
                    raise UserError(
                        f"{self.address}: {cut} after {self._bytes_so_far():,} bytes, {len(PAUSES) + 1} times;"
                        f" run the command again to go on from there, or else {self.remedy}"
                    ) from cut
                time.sleep(pause)

    def _attempt(self) -> None:
        so_far = self._bytes_so_far()
        response = self._open(so_far)
        if response is None:
            return
        with response:
            # a server may ignore the Range and answer 200 with the whole file
            done = so_far if response.status == http.client.PARTIAL_CONTENT else 0
            total = self.pin.size if response.length is None else done + response.length
            with self.part.open("ab" if done else "wb") as out:
                for chunk in _chunks(response):
                    done += len(chunk)
                    self._refuse_excess(done)
                    out.write(chunk)
                    if self.progress is not None:
                        self.progress(self.part.stem, done, total)
        if total is not None and done < total:
            raise _CutError("the connection was cut")

    def _open(self, so_far: int) -> http.client.HTTPResponse | None:
        """The answer to a request for the bytes from `so_far` on; None when there are none left to ask for."""
        headers = {"User-Agent": f"bique/{VERSION}"} | ({"Range": f"bytes={so_far}-"} if so_far else {})
        request = urllib.request.Request(self.address, headers=headers)
        try:
            return cast("http.client.HTTPResponse", urllib.request.urlopen(request, timeout=self.timeout))
        except urllib.error.HTTPError as error:
            return self._refused(error, so_far)
        except urllib.error.URLError as error:
            raise self._unreachable(error.reason) from error
        except (http.client.HTTPException, OSError) as error:
            raise _CutError(f"no answer ({error})") from error

    def _refused(self, error: urllib.error.HTTPError, so_far: int) -> None:
        if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not so_far:
            said = f"{error.code} {error.reason}".strip()
            raise UserError(f"{self.address}: the server answered {said}; {self.remedy}") from error
        if not self.pin.matches(self.part):  # longer than the file, so of no use
            self.part.unlink()
            raise _CutError("the server could not go on") from error

    def _unreachable(self, reason: str | BaseException) -> UserError:
        why = getattr(reason, "strerror", None) or reason
        host = urlsplit(self.address).netloc
        return UserError(f"{host} cannot be reached ({why}), so {self.address} was not downloaded; {self.remedy}")

    def _refuse_excess(self, done: int) -> None:
        limit = LIMIT if self.pin.size is None else self.pin.size
        if done > limit:
            self.part.unlink()
            raise UserError(f"{self.address}: the server sent more than {limit:,} bytes; {self.remedy}")


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while chunk := response.read(CHUNK):
            yield chunk
    except (http.client.HTTPException, OSError) as error:
        raise _CutError("the connection was cut") from error
