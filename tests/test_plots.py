"""What the figures do to the numbers before drawing them."""

import numpy as np

from aqmlab.present.plots.data import envelope, seconds_mean


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
