"""Random and reported scenarios against Linux in virtual time: the draw, the rule of agreement, and the stored rows."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))

import both_engines
import exceptions
import random_scenarios
import reported
from both_engines import Cell, Checked, Row, Tolerance

SOME = 12
"""Every so many scenarios are held to their rows by day."""
TEXT = """\
schema = 1
duration = "4 s"
warmup = "1 s"

[[links]]
name = "l"
rate = "2 Mbit/s"
buffer = "20 packets"
aqm = "droptail"

[[flows]]
name = "a"
rtt = "20 ms"
tcp = { profile = "linux", congestion_control = "cubic" }

[[flows]]
name = "b"
kind = "udp-cbr"
rate = "10 kbit/s"
rtt = "20 ms"
"""


def test_a_draw_is_the_same_each_time_and_grows_at_its_end() -> None:
    rows = list(random_scenarios.drawn(1, 20))
    assert rows[:5] == list(random_scenarios.drawn(1, 5))
    assert len({row.text for row in rows}) == 20
    assert rows[0].text != next(random_scenarios.drawn(2, 1)).text


def test_every_drawn_scenario_is_one() -> None:
    rows = list(random_scenarios.drawn(3, 200))
    assert {random_scenarios.discipline(row) for row in rows} == set(random_scenarios.DISCIPLINES)
    assert {name for row in rows for name in random_scenarios.controllers(row)} == {
        "cubic",
        "reno",
        "bbr",
        "dctcp",
        "udp",
    }
    for row in rows:
        assert row.scenario.duration == 30, row.text


@pytest.mark.parametrize(
    ("theirs", "ours", "agrees"),
    [
        ((10.0, 10.0, 10.0), 11.4, True),
        ((10.0, 10.0, 10.0), 11.6, False),
        # Deviation 2 over three seeds: two standard errors are 2.31.
        ((8.0, 10.0, 12.0), 12.3, True),
        ((8.0, 10.0, 12.0), 12.4, False),
        # Deviation 5: two standard errors are 5.8, but twice the tolerance is 3.
        ((5.0, 10.0, 15.0), 12.9, True),
        ((5.0, 10.0, 15.0), 13.1, False),
    ],
)
def test_a_measure_agrees(theirs: tuple[float, ...], ours: float, agrees: bool) -> None:
    assert Cell("goodput of a", theirs, (ours,), 1.5, errors=2.0).agrees is agrees


def test_a_reported_scenario_has_no_standard_errors() -> None:
    assert not Cell("goodput of a", (8.0, 10.0, 12.0), (11.6,), 1.5).agrees


def test_goodput_may_differ_by_a_share_of_all() -> None:
    runs = both_engines.by_name([{"goodput of a": 1e6, "goodput of b": 0.0}])
    row = Row("x", TEXT, "7.3", {**runs, "goodput of a": [1.9e6], "queue_delay_mean of l": [0.1]})
    (checked,) = both_engines.check(
        [row], [1], {"goodput": Tolerance(0, 0.1), "queue_delay_mean": Tolerance(1, 0)}, 0.05
    )
    assert [cell.tolerance for cell in checked.cells] == pytest.approx([0.19e6, 0.095e6, 1])


def test_what_is_refused_does_not_agree() -> None:
    (checked,) = random_scenarios.check([Row("x", TEXT.replace("droptail", "pi"), "7.3", None, "pi: not in Linux")])
    assert checked.differing == [both_engines.REFUSED]
    assert str(checked) == "pi: not in Linux"


def held(source: str, checked: list[Checked]) -> None:
    names = {each.row.id for each in checked}
    faults = exceptions.faults(source, both_engines.differing(checked))
    assert not [fault for fault in faults if fault.split(":")[0] in names]


def tried(path: Path) -> list[Row]:
    return [row for row in both_engines.read(path) if row.is_tried]


def test_some_scenarios_agree_with_their_rows() -> None:
    held("random", list(random_scenarios.check(tried(random_scenarios.ROWS)[::SOME])))
    held("reported", list(reported.check(tried(reported.ROWS)[::SOME])))


@pytest.mark.nightly
def test_all_scenarios_agree_with_their_rows() -> None:
    held("random", list(random_scenarios.check(tried(random_scenarios.ROWS))))
    held("reported", list(reported.check(tried(reported.ROWS))))


def test_a_row_takes_the_seeds_that_it_lacks() -> None:
    row = Row("x", TEXT).extended("7.3", {"goodput of a": [1.0, 2.0]})
    assert (Row("x", TEXT).seeds, row.seeds, row.runs) == (0, 2, {"goodput of a": [1.0, 2.0]})
    longer = row.extended("7.4", {"goodput of a": [3.0]})
    assert (longer.kernel, longer.seeds, longer.runs) == ("7.4", 3, {"goodput of a": [1.0, 2.0, 3.0]})
    refused = row.extended("7.4", "no such discipline")
    assert (refused.runs, refused.refused, refused.is_tried) == (None, "no such discipline", True)


def test_linux_runs_the_rows_that_are_wanted_and_lack_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Image:
        version = "7.3"

    monkeypatch.setattr(both_engines, "images", lambda: [Image])
    monkeypatch.setattr(both_engines, "played", lambda _, __, seeds, ___: {"goodput of a": [*map(float, seeds)]})
    rows = [Row(name, TEXT).extended("7.3", {"goodput of a": [1.0]}) for name in "abc"]
    kept = both_engines.store(tmp_path / "rows.jsonl", rows, range(1, 4), [], {"b"})
    assert [row.runs and row.runs["goodput of a"] for row in kept] == [[1.0], [1.0, 2.0, 3.0], [1.0]]
    assert both_engines.read(tmp_path / "rows.jsonl") == kept
    assert [row.seeds for row in both_engines.store(tmp_path / "rows.jsonl", kept, range(1, 4), [])] == [3, 3, 3]


def test_every_stored_scenario_was_tried_under_five_seeds_or_more() -> None:
    rows = both_engines.read(random_scenarios.ROWS)
    assert rows
    assert all(row.is_tried for row in rows)
    for row in rows:
        assert {len(values) for values in (row.runs or {}).values()} == {row.seeds}
        assert 5 <= row.seeds <= 10 or row.seeds == 40
