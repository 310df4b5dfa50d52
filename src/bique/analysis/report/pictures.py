"""Pictures of matplotlib in a page, or one sentence that says which extra draws them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from bique.analysis.report.html import Content, Markup, element


def can_draw() -> bool:
    return find_spec("matplotlib") is not None


def picture(draw: Callable[[], Any], caption: Content, words: str) -> Markup | None:
    """A drawing with its caption; `words` say what it shows to whoever cannot see it. None without matplotlib.

    As an image and not as part of the page: matplotlib gives the parts of every picture the same names, and styles them
    in ways that the page's security policy rightly refuses.
    """
    if not can_draw():
        return None
    from bique.analysis.plots import svg

    data = base64.b64encode(svg(draw()).encode("utf-8")).decode("ascii")
    image = element("img", src=f"data:image/svg+xml;base64,{data}", alt=words)
    return element("figure", image, element("figcaption", caption))
