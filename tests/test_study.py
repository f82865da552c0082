"""Studies: the published numbers are complete, and verdicts are as worked out by hand."""

from collections import Counter

import pytest

import aqmlab
from aqmlab.reproduction import VERDICTS, reproduce, verdict
from aqmlab.study import load_study


def test_every_published_number_of_li2014_is_there() -> None:
    study = load_study("li2014")
    assert len(study.published) == 624
    counts = Counter((cell.table, cell.metric) for cell in study.published)
    assert set(counts.values()) == {8}
    queues = {"link_efficiency", "drop_ratio", "queue_mean", "queue_std"}
    delays = {"delay_mean", "delay_std"}
    assert set(counts) == {(str(table), metric) for table in range(1, 19) for metric in queues} | {
        (str(table), metric) for table in (19, 20, 21) for metric in delays
    }


@pytest.mark.parametrize("name", aqmlab.studies())
def test_a_study_names_only_what_exists(name: str) -> None:
    study = load_study(name)
    numbers = {table.number for table in study.tables}
    built = {scheme.name for scheme in aqmlab.schemes()}
    assert set(study.schemes.values()) <= built
    for cell in study.published:
        assert cell.table in numbers
        assert cell.scheme in study.schemes
        assert cell.metric in study.metrics
    for table in study.tables:
        assert (table.scenario is None) != (table.missing is None)
        if table.scenario:
            assert table.link in aqmlab.load(table.scenario).links
    for note in study.notes:
        assert set(note.tables) <= numbers
        assert set(note.schemes) <= set(study.schemes)
        assert set(note.metrics) <= set(study.metrics)


@pytest.mark.parametrize(
    ("ours", "published", "limit", "why", "expected"),
    [
        (0.1588, 0.1588, 0.01, None, "match"),
        (0.1688, 0.1588, 0.01, None, "match"),  # exactly at the limit
        (0.1689, 0.1588, 0.01, None, "near"),
        (0.1388, 0.1588, 0.01, None, "near"),  # exactly at twice the limit
        (0.1387, 0.1588, 0.01, None, "off"),
        (0.1387, 0.1588, 0.01, "a reason", "unreproducible"),
        (0.1588, 0.1588, 0.01, "a reason", "match"),
        (0.1689, 0.1588, 0.01, "a reason", "near"),
    ],
)
def test_verdicts(ours: float, published: float, limit: float, why: str | None, expected: str) -> None:
    assert verdict(ours, published, limit, why) == expected


@pytest.mark.parametrize(
    ("metric", "published", "limit"),
    [
        ("link_efficiency", 0.9524, 0.005),
        ("drop_ratio", 0.1588, 0.01),
        ("queue_mean", 347.28, 10.4184),  # 3 %
        ("queue_mean", 49.04, 5),  # 5 packets
        ("queue_std", 82.76, 20.69),  # 25 %
        ("queue_std", 16.28, 6),  # 6 packets
    ],
)
def test_tolerances(metric: str, published: float, limit: float) -> None:
    assert load_study("li2014").metrics[metric].limit(published) == pytest.approx(limit)


def test_link_efficiency_counts_as_the_paper_does() -> None:
    assert load_study("li2014").metrics["link_efficiency"].factor == pytest.approx(1 / 1.048576)


def test_tables_that_cannot_be_run_are_missing_and_say_why() -> None:
    again = reproduce("li2014", tables=["14", "19"])
    assert again.coverage == {"cells": 48, **dict.fromkeys(VERDICTS, 0), "missing": 48}
    assert all(cell.why and cell.ours is None for cell in again.cells)


def test_figures_and_tables_choose_together() -> None:
    study = load_study("li2014")
    assert [table.number for table in study.select(["2"], ["7", "19"])] == ["1", "2", "13"]
    assert len(study.select(None, None)) == 21
