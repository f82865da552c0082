"""Tables and ranks of a stored sweep, against numbers worked out by hand."""

import csv
from pathlib import Path

import pytest

from aqmlab.present import tables as sweep_tables
from aqmlab.runs import findings
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
        "| PI | **2.00 ±\N{NO-BREAK SPACE}12.71** \\* |",
    ]


def test_latex() -> None:
    text = sweep_tables.as_latex(by_hand({"x_1": THREE, "y": THREE}), ["link.drop_ratio", "link.queue_mean"])
    told = "bold: better than all others; *: differs from DropTail "
    told += r"(95 \% interval of the paired difference excludes 0).}"
    assert r"\caption{nowhere: x\_1. Mean $\pm$ half-width of the 95 \% interval, n = 2 (seeds 1 to 2); " + told in text
    assert text.count(r"\label{tab:x-1}") == text.count(r"\label{tab:y}") == 1
    stacks = r"\shortstack[r]{Drop ratio\\(\%)} & \shortstack[r]{Queue mean\\(packets)}"
    assert rf"Scheme & {stacks} \\" in text
    assert r"PI & $\mathbf{2.00} \pm 12.71$\rlap{$^*$} & $100.0 \pm 0.0$ \\" in text
    assert r"RED & $5.00 \pm 12.71$\rlap{$^*$} & $100.0 \pm 0.0$ \\" in text
    for left, right in (("{", "}"), (r"\begin{table}", r"\end{table}"), (r"\toprule", r"\bottomrule")):
        assert text.count(left) == text.count(right) > 0


def test_footnotes_are_left_out_on_request() -> None:
    found = by_hand({"x": THREE})
    assert r"\caption{nowhere.}" in sweep_tables.as_latex(found, ["link.drop_ratio"], footnotes=False)
    assert "Mean" not in sweep_tables.as_markdown(found, ["link.drop_ratio"], footnotes=False)


def test_bold_is_only_what_is_better_than_all_others() -> None:
    """Under the same seeds: 1 and 3 are no better than 2 and 2, but than 2 and 4."""

    def bold(**ratios: tuple[float, float]) -> list[str]:
        found = by_hand({"x": ratios})
        table = sweep_tables.entries(found, found.cases[0], ["link.drop_ratio"])
        return [scheme for scheme, [entry] in table.items() if entry.best]

    assert bold(pi=(0.01, 0.03), red=(0.02, 0.02)) == []
    assert bold(pi=(0.01, 0.03), red=(0.02, 0.04)) == ["pi"]
    assert bold(pi=(0.01, 0.03), red=(0.01, 0.03), rem=(0.05, 0.07)) == []


TWO = """
schema = 1
duration = "5 s"
[[links]]
name = "narrow"
rate = "5 Mbit/s"
buffer = "50 packets"
[[links]]
name = "wide"
rate = "50 Mbit/s"
buffer = "50 packets"
[[flows]]
count = 3
rtt = "40 ms"
path = ["narrow", "wide"]
tcp = "linux"
"""


def test_a_link_can_be_chosen(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    (tmp_path / "e.toml").write_text('schema = 1\nscenarios = ["two.toml"]\naqms = ["droptail", "pi"]\nseeds = 2\n')
    assert aqmlab("sweep", "e.toml", "--out", "out").returncode == 0

    def queues(*options: str) -> list[float]:
        told = aqmlab("report", "out", "--format", "csv", "--measure", "link.queue_mean", *options)
        return [float(row["mean"]) for row in csv.DictReader(told.stdout.splitlines())]

    assert min(queues()) > 1 > max(queues("--link", "wide")) >= 0
    assert queues("--link", "narrow") == queues()
    refused = aqmlab("plot", "out", "measure", "--measure", "link.queue_mean", "--link", "wid", "--out", "f.png")
    assert (refused.returncode, 'did you mean "wide"' in refused.stderr) == (2, True)
    assert aqmlab("plot", "out", "measure", "--measure", "links.wide.queue_mean", "--out", "f.svg").returncode == 0
    chosen = aqmlab("plot", "out", "box", "--measure", "link.queue_mean", "--link", "wide", "--out", "f.pdf")
    assert chosen.returncode == 0


OWN = """
import aqmlab

class {name}(aqmlab.Aqm):
    "Signals."

    title = "{title}"

    def on_enqueue(self, packet, queue):
        return {rule}
"""


def test_a_scheme_of_ones_own_has_its_title_and_no_target_unless_it_reads_it(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    (tmp_path / "half.py").write_text(OWN.format(name="Half", title="Half & half", rule="self.random() < 0.02"))
    (tmp_path / "follower.py").write_text(
        OWN.format(name="Follower", title="The follower", rule="queue.packets > queue.target")
    )
    (tmp_path / "e.toml").write_text(
        'schema = 1\nscenarios = ["two.toml"]\naqms = ["half.py", "follower.py", "pi"]\nseeds = 1\n'
    )
    assert aqmlab("sweep", "e.toml", "--out", "out").returncode == 0
    printed = aqmlab("report", "out", "--format", "latex", "--measure", "link.queue_mean").stdout
    assert r"Half \& half &" in printed
    assert "The follower &" in printed
    found = findings.findings(tmp_path / "out")
    [case] = found.cases
    targets = [found.target(case, scheme) for scheme in found.schemes]
    assert targets == [None, pytest.approx(50 / 3), pytest.approx(50 / 3)]


def test_two_states_are_shown_and_said() -> None:
    found = by_hand({"x": {"red": [0.1] * 12, "pi": [0.1] * 12}})
    for row, queue in zip(found.rows, [300, 301] * 3 + [600, 601] * 3 + [300, 301, 302, 303] * 3, strict=True):
        dict.__setitem__(row, "links.a.queue_mean", float(queue))  # type: ignore[index,arg-type]
    case = found.cases[0]
    [entry] = sweep_tables.entries(found, case, ["link.queue_mean"])["red"]
    assert entry.text == "300.5 | 600.5"
    [note] = sweep_tables.notes(found, case)
    assert note.startswith("RED has two states: mean queue 300 packets in 6 of 12 seeds, 600 in the others.")


def test_a_measure_that_some_seeds_lack_says_how_many() -> None:
    found = by_hand({"x": THREE}, **{"links.a.settling_time": None})
    dict.__setitem__(found.rows[2], "links.a.settling_time", 4.0)  # type: ignore[index,arg-type]
    rows = sweep_tables.entries(found, found.cases[0], ["link.settling_time"])
    assert [(row[0].text, row[0].some) for row in rows.values()] == [("–", ""), ("4.0", "1 of 2 seeds"), ("–", "")]


def test_what_has_no_footnotes_leaves_none_out(aqmlab: Aqmlab, swept: Path) -> None:
    for kind in ("csv", "html"):
        refused = aqmlab("report", swept, "--format", kind, "--no-footnotes")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"footnotes: {kind}: only latex and markdown have footnotes" in refused.stderr


def test_tables_are_printed_or_left(aqmlab: Aqmlab, swept: Path, tmp_path: Path) -> None:
    printed = aqmlab("report", swept, "--format", "latex")
    assert printed.stdout.startswith("% \\usepackage{booktabs}\n\\begin{table}")
    assert printed.stdout.count(r"\end{tabular}") == 2
    aqmlab("report", swept, "--format", "latex", "--out", "t.tex")
    assert (tmp_path / "t.tex").read_text(encoding="utf-8") == printed.stdout
