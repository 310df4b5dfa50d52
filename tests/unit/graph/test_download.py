"""A download is whole and right, or there is one sentence and no file."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bique.errors import UserError
from bique.graph import download as module
from bique.graph.download import Pin, download

CONTENT = b"".join(b"%07d\n" % number for number in range(40_000))
PIN = Pin("sha256", hashlib.sha256(CONTENT).hexdigest())


@dataclass
class Site:
    """What the server serves, how it misbehaves, and the Range header of every request it has had."""

    address: str = ""
    content: bytes = CONTENT
    status: int | None = None
    understands_ranges: bool = True
    tells_length: bool = True
    cuts: list[int] = field(default_factory=list)
    endless: bool = False
    shift: int = 0
    ranges: list[str | None] = field(default_factory=list)


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            site.ranges.append(wanted)
            if site.status is not None:
                self.send_error(site.status)
                return
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and site.understands_ranges else 0
            if start and start >= len(site.content):
                self.send_error(416)
                return
            start += site.shift if start else 0
            self._head(start, site.content[start:])
            self._body(site.content[start:])

        def _head(self, start: int, body: bytes) -> None:
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(site.content) - 1}/{len(site.content)}")
            if site.tells_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()

        def _body(self, body: bytes) -> None:
            try:
                self.wfile.write(body[: site.cuts.pop(0)] if site.cuts else body)
                while site.endless:
                    self.wfile.write(body)
            except OSError:
                pass  # the reader has heard enough
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0, 0.0))
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    site.address = f"http://127.0.0.1:{server.server_port}/data/facts.tar.gz"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "downloads" / "facts.tar.gz"


def visible(destination: Path) -> list[str]:
    """The files a user sees; the lock is hidden."""
    return sorted(file.name for file in destination.parent.glob("[!.]*"))


def leave_part(destination: Path, content: bytes) -> None:
    destination.parent.mkdir()
    destination.with_name("facts.tar.gz.part").write_bytes(content)


def test_downloads_the_bytes_of_the_address(site: Site, destination: Path):
    assert download(site.address, destination, PIN) == destination
    assert destination.read_bytes() == CONTENT
    assert visible(destination) == ["facts.tar.gz"]


def test_a_file_that_fits_its_pin_is_not_asked_for_again(site: Site, destination: Path):
    download(site.address, destination, PIN)
    download(site.address, destination, PIN)
    assert site.ranges == [None]


def test_a_damaged_file_is_replaced(site: Site, destination: Path):
    destination.parent.mkdir()
    destination.write_bytes(CONTENT[:-1] + b"?")
    download(site.address, destination, PIN)
    assert destination.read_bytes() == CONTENT


def test_continues_where_an_earlier_attempt_stopped(site: Site, destination: Path):
    leave_part(destination, CONTENT[:1000])
    download(site.address, destination, PIN)
    assert destination.read_bytes() == CONTENT
    assert site.ranges == ["bytes=1000-"]


@pytest.mark.parametrize("tells_length", [True, False], ids=["length told", "length only pinned"])
def test_a_cut_connection_is_resumed(site: Site, destination: Path, tells_length: bool):
    half = len(CONTENT) // 2
    site.cuts, site.tells_length = [half], tells_length
    download(site.address, destination, Pin("sha256", PIN.digest, len(CONTENT)))
    assert destination.read_bytes() == CONTENT
    assert site.ranges == [None, f"bytes={half}-"]


def test_a_connection_cut_every_time_keeps_what_it_got(site: Site, destination: Path):
    site.cuts = [100] * 4
    with pytest.raises(UserError, match=r"facts\.tar\.gz: the connection was cut after 400 bytes, 4 times"):
        download(site.address, destination, PIN)
    assert visible(destination) == ["facts.tar.gz.part"]
    download(site.address, destination, PIN)
    assert destination.read_bytes() == CONTENT


def test_a_server_without_ranges_is_read_from_the_first_byte(site: Site, destination: Path):
    site.understands_ranges = False
    leave_part(destination, CONTENT[:1000])
    download(site.address, destination, PIN)
    assert destination.read_bytes() == CONTENT
    assert site.ranges == ["bytes=1000-"]


def test_another_range_than_asked_for_does_no_harm(site: Site, destination: Path):
    site.shift = 5
    leave_part(destination, CONTENT[:1000])
    download(site.address, destination, PIN)
    assert destination.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "left", [CONTENT, CONTENT + b"more", b"x" * 1000], ids=["whole already", "too long", "of another file"]
)
def test_any_leftover_ends_in_the_right_file(site: Site, destination: Path, left: bytes):
    leave_part(destination, left)
    download(site.address, destination, PIN)
    assert destination.read_bytes() == CONTENT
    assert visible(destination) == ["facts.tar.gz"]


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(site: Site, destination: Path):
    site.content = CONTENT[:-1] + b"?"
    found = hashlib.sha256(site.content).hexdigest()
    with pytest.raises(UserError) as caught:
        download(site.address, destination, PIN)
    assert all(word in str(caught.value) for word in (site.address, PIN.digest, found))
    assert visible(destination) == []


@pytest.mark.parametrize("status", [403, 404, 416, 500])
def test_a_refusal_is_told_in_one_sentence(site: Site, destination: Path, status: int):
    site.status = status
    with pytest.raises(UserError, match=rf"facts\.tar\.gz: the server answered {status} .*; ask the librarian$"):
        download(site.address, destination, PIN, remedy="ask the librarian")
    assert visible(destination) == []


def test_offline_is_told_in_one_sentence(destination: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(UserError, match=rf"^127\.0\.0\.1:{port} cannot be reached \(Connection refused\).*; walk$"):
        download(f"http://127.0.0.1:{port}/facts", destination, PIN, remedy="walk")


def test_a_silent_server_is_given_up(destination: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(module, "PAUSES", (0.0,))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/facts"
        with pytest.raises(UserError, match=r"no answer \(timed out\) after 0 bytes, 2 times"):
            download(address, destination, PIN, timeout=0.1)


@pytest.mark.parametrize("size", [len(CONTENT), None], ids=["size pinned", "size unknown"])
def test_an_endless_body_ends(site: Site, destination: Path, monkeypatch: pytest.MonkeyPatch, size: int | None):
    monkeypatch.setattr(module, "LIMIT", 2 * len(CONTENT))
    site.endless, site.tells_length = True, False
    with pytest.raises(UserError, match="the server sent more than"):
        download(site.address, destination, Pin("sha256", PIN.digest, size))
    assert visible(destination) == []


def test_bytes_beyond_the_told_length_are_not_read(site: Site, destination: Path):
    site.endless = True
    download(site.address, destination, PIN)
    assert destination.read_bytes() == CONTENT


def test_progress_ends_with_the_whole(site: Site, destination: Path):
    told: list[tuple[str, int, int | None]] = []
    site.cuts = [len(CONTENT) // 2]
    download(site.address, destination, PIN, lambda name, done, total: told.append((name, done, total)))
    assert told[-1] == ("facts.tar.gz", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_many_who_ask_at_once_share_one_download(site: Site, destination: Path):
    with ThreadPoolExecutor(4) as crowd:
        list(crowd.map(lambda _: download(site.address, destination, PIN), range(4)))
    assert destination.read_bytes() == CONTENT
    assert site.ranges == [None]


def test_a_folder_that_cannot_be_made_is_told(site: Site, tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(UserError, match="file"):
        download(site.address, tmp_path / "file" / "facts.tar.gz", PIN)


def test_a_git_blob_pin_is_what_git_calls_the_file(tmp_path: Path):
    file = tmp_path / "facts"
    for content, said_by_git in {
        b"": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        b"hello\n": "ce013625030ba8dba906f756967f9e9ca394464a",
    }.items():
        file.write_bytes(content)
        assert Pin("git-blob", said_by_git).matches(file)
        file.write_bytes(content + b"\n")
        assert not Pin("git-blob", said_by_git).matches(file)
