"""A real browser, driven over a pipe (DevTools' own protocol): nothing to install but the browser itself."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0
# first out of the way of 3 and 4, then onto them, then the browser in place of this
ONTO_3_AND_4 = """
import os, sys
reading, writing = (os.dup2(int(one), 100 + place) for place, one in enumerate(sys.argv[1:3]))
os.dup2(reading, 3)
os.dup2(writing, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def installed() -> str | None:
    """The first browser of the family that is in PATH."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page: what was done in it, asked of it, and what it complained of."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._numbers = to, back, itertools.count(1)
        self._unread = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def open(self, file: Path, width: int = 1200, height: int = 900) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.call("Page.navigate", url=file.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """A key, as a keyboard gives it to whatever has the focus."""
        for kind in ("keyDown", "keyUp"):
            text = {"Enter": "\r", "Space": " "}[key]
            code = {"Enter": 13, "Space": 32}[key]
            self.call("Input.dispatchKeyEvent", type=kind, key=text, code=key, text=text, windowsVirtualKeyCode=code)

    def click(self, selector: str) -> None:
        """The mouse, at the middle of the first element."""
        place = json.dumps(selector)
        x, y = self.ask(
            f"(() => {{ const one = document.querySelector({place}); one.scrollIntoView({{block: 'center'}});"
            " const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, refusals of the security policy among them."""
        self.ask("new Promise((done) => setTimeout(done, 100))")  # what is on its way arrives
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """Whatever was asked for that is not in the file itself."""
        asked = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        addresses = [params["request"]["url"] for params in asked]
        return [url for url in addresses if not url.startswith(("file:", "data:"))]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != number:
            self.events.append(answer)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        """The next message: JSON that ends with a zero byte."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._back], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"the browser has not answered for {PATIENCE:.0f} s"
            more = os.read(self._back, 1 << 16)
            assert more, "the browser has ended"
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def browser(program: str, profile: Path) -> Iterator[Page]:
    """It reads what it is told from descriptor 3 and answers to 4; it ends with the block."""
    here, to = os.pipe()
    back, there = os.pipe()

    command = [sys.executable, "-c", ONTO_3_AND_4, str(here), str(there), program, *FLAGS, f"--user-data-dir={profile}"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, pass_fds=(here, there), start_new_session=True)
    os.close(here)
    os.close(there)
    try:
        yield Page(to, back)
    finally:
        os.close(to)
        os.close(back)
        with contextlib.suppress(ProcessLookupError):  # its helpers, too: they share the session it began
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
