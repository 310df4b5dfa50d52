from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bique.analysis import plots
from bique.analysis.geometry import RelationGeometry
from bique.errors import UserError


def relation(name: str, count: int) -> RelationGeometry:
    values = np.linspace(0.1, 1.0, count)
    return RelationGeometry(name, 5, 5 - count, 5 - count, values, values, values, values, 0.5)


def test_the_hyperbolic_paths_are_hyperbolas_through_the_start() -> None:
    """Appendix B: with w + xi = (1 + 2𝐈) + (3 + 4𝐈)i each panel keeps the value of a quadratic form along its path."""
    for panel, start in zip(plots.hyperbolic_paths().axes, ((1.0, 3.0), (2.0, 4.0)), strict=True):
        path, mark = (np.array(line.get_data()) for line in panel.lines[:2])
        np.testing.assert_allclose(mark[:, 0], start)
        # a conic through all points of the path: the null space of its monomials
        w, x = path
        monomials = np.stack([w * w, w * x, x * x, np.ones_like(w)], axis=1)
        _, sizes, rows = np.linalg.svd(monomials, full_matrices=False)
        a, b, c, _ = rows[-1]
        assert sizes[-1] < 1e-9 * sizes[0]
        assert b * b - 4 * a * c > 0  # a hyperbola


def test_every_relation_has_a_panel_with_all_its_dots() -> None:
    figure = plots.angles_and_rapidities([relation(f"r{i}", i) for i in range(6)])
    panels = [panel for panel in figure.axes if panel.get_visible()]
    assert [panel.get_title() for panel in panels] == [f"r{i} ({5 - i} null)" if i < 5 else "r5" for i in range(6)]
    assert [len(panel.lines[0].get_xdata()) for panel in panels] == list(range(6))


def test_dots_beyond_the_edge_are_marked_and_relations_too_many_are_counted() -> None:
    far = np.array([0.5] * 39 + [9.0])
    one = RelationGeometry("far", 40, 0, 0, np.linspace(0.1, 3, 40), far, far, far, 0.5)
    (panel,) = plots.angles_and_rapidities([one]).axes
    beyond = panel.lines[1]
    assert beyond.get_marker() == "^"
    np.testing.assert_allclose(beyond.get_xydata(), [[3.0, panel.get_ylim()[1]]])
    figure = plots.angles_and_rapidities([relation(f"r{i}", 2) for i in range(plots.PANELS + 3)])
    assert len([panel for panel in figure.axes if panel.get_visible()]) == plots.PANELS
    assert "3 more relations are not shown" in figure.get_supxlabel()


def test_bars_are_sorted_by_the_first_system_and_have_the_values_as_lengths() -> None:
    named = {"one": {"a": 0.2, "b": 0.9, "c": 0.5}, "_other": {"a": 0.7, "d": 0.1}}
    figure = plots.relation_bars(named, "hits_at_10")
    (panel,) = figure.axes
    order = [label.get_text() for label in panel.get_yticklabels()]
    assert order == ["b", "c", "a", "d"]
    assert panel.get_xlabel() == "Hits@10"
    for bars, values in zip(panel.containers, named.values(), strict=True):
        drawn = {order[round(bar.get_y() + bar.get_height() / 2)]: bar.get_width() for bar in bars}
        assert drawn == values
    assert len({bars[0].get_hatch() for bars in panel.containers}) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "_other"]


def test_too_many_relations_are_said_to_be_left_out() -> None:
    figure = plots.relation_bars({"one": {f"r{i}": i / 100 for i in range(100)}}, "mrr")
    (panel,) = figure.axes
    names = [label.get_text() for label in panel.get_yticklabels()]
    assert (names[0], names[-1], len(names)) == ("r99", "r0", 60)
    assert "40 relations between" in plots.svg(figure)


def test_sizes_lie_on_a_log_axis_with_mean_and_deviation() -> None:
    figure = plots.metric_by_size({"bique": [(64, 0.4, 0.01), (16, 0.3, None)], "quate": [(32, 0.35, 0.02)]}, "mrr")
    (panel,) = figure.axes
    assert panel.get_xscale() == "log"
    first, second = panel.containers
    np.testing.assert_allclose(first[0].get_xydata(), [[16, 0.3], [64, 0.4]])
    heights = [np.ptp(bar[:, 1]) for bar in first[2][0].get_segments()]
    np.testing.assert_allclose(heights, [0, 0.02], atol=1e-12)
    assert first[0].get_marker() != second[0].get_marker()
    assert first[0].get_linestyle() != second[0].get_linestyle()


@pytest.mark.filterwarnings("error")
def test_the_same_picture_twice_is_the_same_text(tmp_path: Path) -> None:
    learned = [relation("a $1 and $2", 4), relation("_b<c>&", 5), relation("生まれた", 5)]
    one, other = (plots.svg(plots.angles_and_rapidities(learned)) for _ in range(2))
    assert one == other
    assert one.startswith("<svg")
    assert one.endswith("</svg>")
    assert "生まれた" in "".join(ElementTree.fromstring(one).itertext())
    assert "a $1 and $2" in one  # text as text, and no formula between the two $
    assert "_b&lt;c&gt;&amp;" in one
    plots.save(plots.angles_and_rapidities(learned), tmp_path / "one.svg")
    assert (tmp_path / "one.svg").read_text(encoding="utf-8").endswith(f"{one}\n")


def test_a_long_name_keeps_its_length_and_its_end() -> None:
    from bique.analysis.plots.figures import plain

    for longest in (5, 24, 27):
        short = plain("abcdefghij" * 4, longest)
        assert len(short) == longest
        assert short.startswith("a")
        assert short.endswith("ij")
    assert plain("abc", 3) == "abc"
    assert plain("a\tb") == r"a\tb"  # what cannot be printed is escaped


def test_another_ending_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"one\.pdf: the ending says the format; choose one of \.svg, \.png"):
        plots.save(plots.hyperbolic_paths(), tmp_path / "one.pdf")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UserError, match=r"pip install 'bique\[plots\]'"):
        plots.hyperbolic_paths()
