"""Takes the two screenshots of docs/tutorial.md anew, from a report that the page's own commands made:

python tests/end_to_end/screenshots.py report.html docs/tutorial
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

from browser import Page, browser, installed
from PIL import Image, ImageOps

RELATION = "is an instance of"
OPEN = """(name => {
    const block = [...document.querySelectorAll('details.relation')].find(
        one => one.querySelector('summary').innerText.startsWith(name));
    block.open = true;
    return block;
})"""
PLACE = "(one => { const r = one.getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, r.width]; })"


def shoot(page: Page, expression: str, height: int, file: Path) -> None:
    """The upper part of an element of the page, in few colours and with a thin border: the page is white as well."""
    x, y, width = page.ask(f"{PLACE}({expression})")
    clip = {"x": x - 8, "y": y, "width": width + 16, "height": height, "scale": 1}
    data = page.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
    picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    ImageOps.expand(picture, 1, "#aaaaaa").quantize(64).save(file, optimize=True)


def main(report: Path, folder: Path) -> None:
    program = installed()
    assert program is not None, "no Chromium or Chrome found"
    with tempfile.TemporaryDirectory() as profile, browser(program, Path(profile)) as page:
        page.call("Emulation.setScrollbarsHidden", hidden=True)  # a picture beyond the window has none, and is wider
        page.open(report.resolve(), width=1000)
        shoot(page, f"{OPEN}({RELATION!r})", 1085, folder / "relation.png")
        shoot(page, "document.body", 1400, folder / "report.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
