from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bique.analysis import plots
from bique.analysis.geometry import RelationGeometry


def drawn(monkeypatch: pytest.MonkeyPatch) -> list:
    """The figures instead of files."""
    figures: list = []
    monkeypatch.setattr(plots, "_save", lambda figure, file: figures.append(figure))
    return figures


def test_the_hyperbolic_paths_are_hyperbolas_through_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Appendix B: with w + xi = (1 + 2𝐈) + (3 + 4𝐈)i each panel keeps the value of a quadratic form along its path."""
    figures = drawn(monkeypatch)
    plots.hyperbolic_paths(Path("unused.svg"))
    for panel, start in zip(figures[0].axes, ((1.0, 3.0), (2.0, 4.0)), strict=True):
        path, mark = (np.array(line.get_data()) for line in panel.lines)
        np.testing.assert_allclose(mark[:, 0], start)
        # a conic through all points of the path: the null space of its monomials
        w, x = path
        monomials = np.stack([w * w, w * x, x * x, np.ones_like(w)], axis=1)
        _, sizes, rows = np.linalg.svd(monomials, full_matrices=False)
        a, b, c, _ = rows[-1]
        assert sizes[-1] < 1e-9 * sizes[0]
        assert b * b - 4 * a * c > 0  # a hyperbola


def test_every_relation_has_a_panel_with_all_its_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    def relation(name: str, count: int) -> RelationGeometry:
        values = np.linspace(0.1, 1.0, count)
        return RelationGeometry(name, 5, 5 - count, 5 - count, values, values, values, values, 0.5)

    figures = drawn(monkeypatch)
    plots.angles_and_rapidities([relation(f"r{i}", i) for i in range(6)], Path("unused.png"))
    panels = [panel for panel in figures[0].axes if panel.get_visible()]
    assert [panel.get_title() for panel in panels] == [f"r{i} ({5 - i} null)" if i < 5 else "r5" for i in range(6)]
    assert [len(panel.lines[0].get_xdata()) for panel in panels] == list(range(6))


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    from bique.errors import UserError

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"pip install 'bique\[plots\]'"):
        plots.hyperbolic_paths(tmp_path / "paths.svg")
