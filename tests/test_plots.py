"""What pictures do to the numbers before drawing them, and that nothing of them is lost."""

import numpy as np
import pytest

from aqmlab.present.plots.data import (
    Curve,
    Frame,
    LineChart,
    LinePanel,
    OverTime,
    Panel,
    envelope,
    extent,
    seconds_mean,
)
from aqmlab.present.plots.files import draw
from aqmlab.runs.statistics import Summary


def test_envelope_keeps_the_extremes_in_order() -> None:
    time = np.arange(12.0)
    values = np.array([1, 5, 2, 0, 9, 9, 3, 3, 1, 8, 7, 4.0])
    kept_time, kept = envelope(time, values, bins=3)
    # blocks (1 5 2 0), (9 9 3 3), (1 8 7 4): lowest and highest of each, as they came
    assert kept.tolist() == [5, 0, 9, 3, 1, 8]
    assert kept_time.tolist() == [1, 3, 4, 6, 8, 9]


def test_envelope_keeps_the_end() -> None:
    time = np.arange(1001.0)
    kept_time, kept = envelope(time, time, bins=10)
    assert kept_time[-1] == kept[-1] == 1000
    assert len(kept) == 21


def test_short_series_are_drawn_whole() -> None:
    time = np.arange(10.0)
    assert envelope(time, time, bins=5)[1] is time


def test_mean_over_a_second() -> None:
    time = np.arange(1, 9) * 0.25
    values = np.array([0, 4, 0, 4, 8, 8, 8, 8.0])
    at, mean = seconds_mean(time, values)
    assert mean.tolist() == [2, 4, 5, 7, 8]
    assert at.tolist() == [0.75, 1.0, 1.25, 1.5, 1.75]
    assert len(seconds_mean(time[:3], values[:3])[1]) == 0


def test_an_axis_is_at_least_so_wide() -> None:
    values = np.array([10.0, 11.0])
    assert extent([values], margin=0.1, least=0.0) == pytest.approx((9.9, 11.1))
    assert extent([values], margin=0.0, least=0.5) == pytest.approx((10.5 - 2.75, 10.5 + 2.75))
    assert extent([], 0.1, 0.1) is None


def test_more_curves_than_colours_are_all_drawn_and_differ() -> None:
    """Nine schemes in one panel: a line each beside the target, and none looks like another."""
    time = np.arange(0, 3, 0.5)
    curves = [Curve(f"scheme {i}", time, np.full(6, float(i))) for i in range(9)]
    picture = OverTime([Panel("all", "", curves, "mean", target=4.5)], 3.0, [Frame("Queue (packets)", 9.0)])
    [axes] = draw(picture).axes
    *lines, target = axes.lines
    assert len(lines) == 9
    assert len({(line.get_color(), str(line.get_linestyle())) for line in [*lines, target]}) == 10


def test_a_scheme_keeps_its_look_in_all_panels() -> None:
    time = np.arange(0, 3, 0.5)
    first, second = (Curve(name, time, time) for name in ("pi", "red"))
    frame = Frame("Queue (packets)", 3.0)
    left, right = draw(OverTime([Panel("a", "", [first, second]), Panel("b", "", [second])], 3.0, [frame])).axes
    assert left.lines[1].get_color() == right.lines[0].get_color() != left.lines[0].get_color()


def test_what_stands_behind_is_pale_and_sampled_values_are_kept() -> None:
    time = np.arange(1, 9) * 0.25
    values = np.array([0, 4, 0, 4, 8, 8, 8, 8.0])
    behind, mean = Panel("p", "", [Curve("pi", time, values)], "both").strokes(800)
    assert behind.pale
    assert behind.values.tolist() == values.tolist()
    assert not mean.pale
    assert mean.values.tolist() == [2, 4, 5, 7, 8]


def test_few_values_have_a_tick_each_on_a_logarithmic_axis() -> None:
    line = {x: Summary(x, None, 1) for x in (0.25, 1.0, 4.0)}
    figure = draw(LineChart("Buffer (BDP)", [LinePanel("one", "Loss (%)", {"a": line})], logarithmic=True))
    [axes] = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.25", "1", "4"]
    assert len(axes.get_xticklabels(minor=True)) == 0


def test_marks_are_rings_around_points_with_their_names_in_the_legend() -> None:
    line = {x: Summary(3 * x, None, 1) for x in (1.0, 4.0)}
    drawn = LineChart("x", [LinePanel("", "y", {"a": line, "b": line})], 1, marks={"usual": ("a", 4.0)})
    figure = draw(drawn)
    [axes] = figure.axes
    assert [ring.get_offsets().tolist() for ring in axes.collections if len(ring.get_offsets())] == [[[4.0, 12.0]]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b", "usual"]
