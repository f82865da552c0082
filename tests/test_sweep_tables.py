"""Tables and ranks of a stored sweep, against numbers worked out by hand."""

import csv
from pathlib import Path

import pytest

from aqmlab.present import tables as sweep_tables
from conftest import Aqmlab
from sweeping import THREE, WIDTH, by_hand


def test_ranks_by_hand() -> None:
    """Pi is best in one, red in two of three scenarios; droptail is worst throughout."""
    better = {"droptail": (0.2, 0.2), "pi": (0.05, 0.05), "red": (0.01, 0.01)}
    found = by_hand({"x": THREE, "y": better, "z": better})
    ranking = found.ranking("link.drop_ratio")
    assert ranking is not None
    assert ranking.ranks == pytest.approx({"droptail": 3, "pi": 5 / 3, "red": 4 / 3})
    assert ranking.blocks == 3


def test_csv_has_plain_numbers() -> None:
    text = sweep_tables.as_csv(by_hand({"x": THREE}), ["link.drop_ratio", "total.jain"])
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["aqm"], row["measure"], row["n"]) for row in rows[:3]] == [
        ("droptail", "link.drop_ratio", "2"),
        ("droptail", "total.jain", "0"),
        ("pi", "link.drop_ratio", "2"),
    ]
    assert float(rows[2]["mean"]) == pytest.approx(0.02)
    assert float(rows[2]["half_width"]) == pytest.approx(WIDTH, rel=1e-5)
    assert (rows[2]["unit"], rows[1]["mean"], rows[1]["half_width"]) == ("ratio", "", "")


def test_markdown() -> None:
    text = sweep_tables.as_markdown(by_hand({"x": THREE}), ["link.drop_ratio"])
    assert text.splitlines()[:6] == [
        "## x",
        "",
        "| Scheme | Drop ratio (%) |",
        "|---|--:|",
        "| DropTail | 11.00 ±\N{NO-BREAK SPACE}12.71 |",
        "| PI | **2.00 ±\N{NO-BREAK SPACE}12.71** |",
    ]


def test_latex() -> None:
    text = sweep_tables.as_latex(by_hand({"x_1": THREE, "y": THREE}), ["link.drop_ratio", "link.queue_mean"])
    assert r"\caption{x\_1. Mean $\pm$ half-width of the 95 \% interval over the seeds; bold: the best mean.}" in text
    assert r"Scheme & Drop ratio (\%) & Queue mean (packets) \\" in text
    assert r"PI & \textbf{2.00} $\pm$ $12.71$ & $100.0$ $\pm$ $0.0$ \\" in text
    assert r"RED & $5.00$ $\pm$ $12.71$ & $100.0$ $\pm$ $0.0$ \\" in text
    for left, right in (("{", "}"), (r"\begin{table}", r"\end{table}"), (r"\toprule", r"\bottomrule")):
        assert text.count(left) == text.count(right) > 0


def test_two_states_are_shown_and_said() -> None:
    found = by_hand({"x": {"red": [0.1] * 12, "pi": [0.1] * 12}})
    for row, queue in zip(found.rows, [300, 301] * 3 + [600, 601] * 3 + [300, 301, 302, 303] * 3, strict=True):
        dict.__setitem__(row, "links.a.queue_mean", float(queue))  # type: ignore[index,arg-type]
    case = found.cases["x"]
    [entry] = sweep_tables.entries(found, case, ["link.queue_mean"])["red"]
    assert entry.text == "300.5 | 600.5"
    [note] = sweep_tables.notes(found, case)
    assert note.startswith("RED has two states: mean queue 300 packets in 6 of 12 seeds, 600 in the others.")


def test_a_measure_that_some_seeds_lack_says_how_many() -> None:
    found = by_hand({"x": THREE}, **{"links.a.settling_time": None})
    dict.__setitem__(found.rows[2], "links.a.settling_time", 4.0)  # type: ignore[index,arg-type]
    rows = sweep_tables.entries(found, found.cases["x"], ["link.settling_time"])
    assert [(row[0].text, row[0].some) for row in rows.values()] == [("–", ""), ("4.0", "1 of 2 seeds"), ("–", "")]


def test_tables_are_printed_or_left(aqmlab: Aqmlab, swept: Path, tmp_path: Path) -> None:
    printed = aqmlab("report", swept, "--format", "latex")
    assert printed.stdout.startswith("% \\usepackage{booktabs}\n\\begin{table}")
    assert printed.stdout.count(r"\end{tabular}") == 2
    aqmlab("report", swept, "--format", "latex", "--out", "t.tex")
    assert (tmp_path / "t.tex").read_text(encoding="utf-8") == printed.stdout
