"""What people read in a terminal, however narrow: nothing is cut, and each part of a table says what its rows are."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

import aqmlab as lab
from aqmlab import own
from aqmlab.present.reports import comparison, run
from aqmlab.present.terminal import catalogue, console, lines, progress
from aqmlab.present.terminal.console import table
from aqmlab.present.terminal.parts import show

HEADS = [f"Measure{i} (ms)" for i in range(8)]
VALUES = [f"{i}23.45 ± {i}.67" for i in range(8)]


def printed(shown: Table, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width, highlight=False, markup=False).print(shown)
    return file.getvalue()


def wide() -> Table:
    shown = table("Link bottleneck", "Scheme", numbers=HEADS)
    shown.add_row("PI (a=1e-5,b=9e-6)", *VALUES)
    shown.add_row("RED", *VALUES)
    shown.caption = "explained"
    return shown


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_table_without_room_goes_on_below(width: int) -> None:
    text = printed(wide(), width)
    assert max(map(len, text.splitlines())) <= width
    for i, value in enumerate(VALUES):
        assert text.count(value) == 2, "once for each scheme"
        assert text.count(f"Measure{i} ") == 1
    parts = text.count("Scheme")
    assert parts > 1
    assert len(re.findall(r"^ RED ", text, re.MULTILINE)) == parts
    assert (text.count("Link bottleneck"), text.count("explained")) == (1, 1)


def test_a_table_with_room_is_one() -> None:
    text = printed(wide(), 160)
    assert text.count("Scheme") == text.count("RED") == 1


def test_columns_of_text_are_folded_and_then_continued() -> None:
    shown = table("", "Name", "Unit", "Meaning", "Source")
    words = ["proportional_gain", "packets/second", "what_it_multiplies", "Hollot_et_al_2001"]
    shown.add_row(*words)
    text = printed(shown, 40)
    assert all(word in text for word in words)
    assert max(map(len, text.splitlines())) <= 40
    assert text.count("proportional_gain") > 1


def test_a_name_as_long_as_the_line_is_folded_not_cut() -> None:
    shown = table("", "Scheme", numbers=HEADS)
    name = "own-scheme:" + ",".join(f"parameter_{i}={i}e-5" for i in range(6))
    shown.add_row(name, *VALUES)
    text = printed(shown, 60)
    assert max(map(len, text.splitlines())) <= 60
    assert all(value in text for value in VALUES)
    [*parts] = text.split("\n\n")
    pieces = "".join(re.findall(r"^ (\S+)", parts[0], re.MULTILINE))
    assert name in pieces


def test_sections_stay() -> None:
    shown = table("", "Scheme", numbers=HEADS)
    shown.add_row("PI", *VALUES)
    shown.add_section()
    shown.add_row("mean", *VALUES)
    text = printed(shown, 60)
    parts = text.count("Scheme")
    assert parts > 1
    assert len(re.findall(r"^ PI .*\n +\n mean ", text, re.MULTILINE)) == parts


@pytest.mark.parametrize("width", [60, 80])
def test_tables_of_runs_are_whole(
    width: int, small: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = lab.compare(small, ["pi", "red"], 2)
    monkeypatch.setattr(console, "PIPE_WIDTH", width)
    show(comparison.parts([compared]))
    show(run.parts(compared.runs["pi", 1], compared.scenario))
    catalogue.scheme_page(lab.catalogue.find("red"))
    text = capsys.readouterr().out
    assert "…" not in text
    for view in compared.views:
        for heading, measure in view.columns.items():
            assert all(word in text for word in heading.split())
            assert all(compared.text(scheme, measure) in text for scheme in ("pi", "red"))
    assert all(word in text for word in ("Retransmits", "Timeouts", "mean_packet"))


def told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *states: tuple[float, float]
) -> list[str]:
    """What is printed off a terminal at these times (s) with so many of 100 runs done."""
    clock = iter([0.0, *(now for now, _ in states)])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.pace("Sweeping") as pace:
        for _, done in states:
            pace(done, 100)
    return capsys.readouterr().err.splitlines()


def test_the_time_left_is_estimated_from_several_runs_and_corrected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = told(monkeypatch, capsys, (0.2, 0), (12, 1), (20, 20), (22, 40), (25, 45), (40, 80), (60, 99), (61, 100))
    assert lines == [
        "20 of 100 runs done, 1.0 runs/s, about 1 min 20 s left",
        "80 of 100 runs done, 2.0 runs/s, about 10 s left",
        "99 of 100 runs done, 1.6 runs/s, about 1 s left",
    ]


def test_what_was_done_before_says_nothing_of_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = told(monkeypatch, capsys, (0.2, 60), (11, 61), (20, 70), (40, 100))
    assert lines == ["70 of 100 runs done, 0.5 runs/s, about 1 min 0 s left"]


def test_what_is_piped_obeys_columns_and_ends_no_line_in_blanks(
    small: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    compared = lab.compare(small, ["pi", "red"], 1)
    show(comparison.parts([compared]))
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 60
    assert [line for line in shown if line != line.rstrip()] == []


def test_definitions_are_printed_when_asked_for(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    compared = lab.compare(small, ["pi"], 1)
    for explain in (False, True):
        show(comparison.parts([compared]), explain=explain)
        assert ("time-weighted mean" in capsys.readouterr().out) is explain


def test_off_a_terminal_a_long_work_says_now_and_then_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 11.0, 12.0, 25.0, 40.0])
    monkeypatch.setattr(lines.time, "monotonic", lambda: next(clock))
    progress = lines.ProgressLines("Comparing")
    for done in (1, 20, 30, 50, 100):
        progress(done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "Comparing: 20 % done, about 44 s left",
        "Comparing: 50 % done, about 25 s left",
    ]


def test_an_own_scheme_has_no_year_and_no_publication(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shown.py"
    file.write_text('import aqmlab\nclass ShownAqm(aqmlab.Aqm):\n    """Do nothing."""\n', encoding="utf-8")
    scheme = lab.catalogue.find(own.spec(str(file)))
    catalogue.scheme_page(scheme)
    text = capsys.readouterr().out
    assert text.startswith("ShownAqm (shown-aqm), own\n")
    assert "published" not in text
    assert "study" not in text
    assert repr(scheme) == "<Scheme shown-aqm: ShownAqm, own>"


BLOCKED = """schema = 1
duration = "20 s"
warmup = "10 s"
[[links]]
name = "l"
rate = "256 kbit/s"
buffer = "60 packets"
aqm = "red:flavour=linux,min=5packets,max=15packets,probability=10%"
[[flows]]
name = "a"
rtt = "40 ms"
count = 4
tcp = { profile = "linux", congestion_control = "cubic" }
"""
"""RED's thresholds are so low for this link that its mean never falls after the first burst."""


def test_a_link_that_delivers_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "blocked.toml").write_text(BLOCKED, encoding="utf-8")
    scenario = lab.load(tmp_path / "blocked.toml")
    result = lab.run(scenario)
    assert (result.links["l"].arrived > 0, result.links["l"].departed) == (True, 0)
    show(run.parts(result, scenario))
    assert "Link l delivers nothing" in capsys.readouterr().out
    compared = lab.compare(scenario, [result.aqm, "droptail"])
    assert len([note for note in compared.notes if "delivers nothing" in note and "RED" in note]) == 1
