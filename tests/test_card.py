"""The card of a law: its arithmetic, its points, what it says of laws that break down, the command."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab import InputError
from aqmlab.kernel.images import images
from aqmlab.notebook import Sheet
from aqmlab.present import sheets
from aqmlab.present.figures import card as figures
from aqmlab.present.parts import printed
from aqmlab.present.plots.data import LineChart
from aqmlab.present.reports import card as page
from aqmlab.runs.metrics import Shown
from aqmlab.study import card as cards
from aqmlab.study import card_points as points_of_rfc
from aqmlab.study.card import Card, CardCell, CardColumn, CardRow, change, most_events
from aqmlab.study.card_points import CardCells, CardPath, CardPicture, CardPoint, load_rfc, scenario
from conftest import Aqmlab

SECTIONS = [
    *("5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2"),
    *("6.1", "6.2", "6.3", "6.4"),
    *("7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "7.9", "7.10", "7.11"),
]
"""Those of RFC 9743, sections 5 to 7, that ask for something."""

QUICK = "7.4"
"""Links of 64 and 250 kbit/s."""

USE = "links.line.utilisation"
OURS, RENO = CardColumn("cubic"), CardColumn("reno")


def text(found: Card, write: Callable[[Iterable[Sheet]], str]) -> str:
    """Return a card as text for a paper."""
    return write(printed(page.parts(found)))


def row(values: list[float | None], alone: list[float | None]) -> CardRow:
    """A row of changes: what the victim has beside CUBIC, and alone, on links of 1, 2, ... Mbit/s."""
    cells = [
        CardCell(CardPath(f"{i} Mbit/s", "50 ms", "1 bdp"), {OURS: [value]}, {OURS: [of]})
        for i, (value, of) in enumerate(zip(values, alone, strict=True), 1)
    ]
    of = CardCells("beside", "beside", (), (), (), harm={"its rate": "goodput"})
    return CardRow(of, "", "its rate", True, Shown(100, "%", 0), cells, {})


def test_harm_is_the_relative_change_of_the_victim() -> None:
    assert change(6e6, 8e6) == -0.25
    assert change(30e-3, 20e-3) == pytest.approx(0.5)
    assert change(0.0, 5.0) == -1.0, "it starves"
    assert (change(0.01, 0.0), change(None, 1.0), change(1.0, None)) == (None, None, None)


def test_a_row_says_median_least_most_and_where() -> None:
    found = row([4.0, 3.0, 9.0, 1.0], [8.0, 4.0, 6.0, 0.0]).range(OURS)
    assert found is not None
    assert (found.middle, found.least, found.most, found.count) == (-0.25, -0.5, 0.5, 3)
    assert (str(found.least_at), found.most_at.rate) == ("1 Mbit/s, 50 ms, 1 BDP", "3 Mbit/s")
    assert cards.shown(row([4.0, 3.0], [8.0, 4.0]), OURS) == "-38 (-50 to -25)"
    assert cards.shown(row([3.0], [4.0]), OURS) == "-25"
    assert cards.shown(row([None], [4.0]), OURS) == "–"


def test_the_median_has_an_interval_over_the_seeds() -> None:
    # Medians of the cells by seed: 1.5, 2.5, 3.5; t(2, 0.975) * 1/sqrt(3) = 4.303 * 0.577 = 2.48.
    cells = [CardCell(CardPath(f"{i} Mbit/s", "50 ms", "1 bdp"), {OURS: [i, i + 1.0, i + 2.0]}, {}) for i in (1.0, 2.0)]
    of = CardCells("alone", "alone", (), (), (), measures={"queue": "links.line.queue_mean"})
    shown = CardRow(of, "", "queue", False, Shown(1, "packets", 2), cells, {})
    found = shown.range(OURS)
    assert found is not None
    assert (found.middle, found.interval) == (2.5, pytest.approx((2.5 - 2.484, 2.5 + 2.484), abs=1e-3))
    assert cards.shown(shown, OURS) == "2.50 ±\N{NO-BREAK SPACE}2.48 (2.00 to 3.00)"
    assert cards.with_interval(shown, cells[0], OURS) == "2.00 ±\N{NO-BREAK SPACE}2.48"


@pytest.mark.usefixtures("tiny")
def test_a_card_has_an_interval_of_each_cell() -> None:
    found = lab.card("cubic", only="2", seeds=2)
    [row] = found.points[0].rows
    assert [row.summary(cell, RENO).n for cell in row.found] == [2, 2]  # type: ignore[union-attr]
    [point] = found.document()["points"]
    assert all(len(cell["half_widths"]) == len(found.columns) for cell in point["rows"][0]["cells"])
    assert found.response is None, "a part of a card has none"
    assert " ± " in text(found, sheets.as_markdown).replace("\N{NO-BREAK SPACE}", " ")


def test_quantities_follow_the_path_of_a_cell() -> None:
    # 20 Mbit/s times 50 ms are 83.3 packets of 1500 B; 0.2 of the rate are 333.3 packets/s, 6.67 transfers of 50.
    path = CardPath("20 Mbit/s", "50 ms", "1 bdp")
    assert path.scaled({"rate": "0.2 rate", "delay": ["0.25 rtt"], "buffer": "1 bdp", "count": 4}) == {
        "rate": "4 Mbit/s",
        "delay": ["12.5 ms"],
        "buffer": "84 packets",
        "count": 4,
    }
    assert path.scaled("0.2 load") == "6.66666667 Hz"
    assert CardPath("4 Mbit/s", "20 ms", "1 bdp").scaled("0.25 bdp") == "10 packets", "the least"


def test_ecn_is_on_where_the_law_is_nothing_without_it() -> None:
    cells = next(cells for point in load_rfc().points for cells in point.cells if cells.scenario == "beside")
    path = CardPath("20 Mbit/s", "50 ms", "1 bdp")
    ecn = {law: scenario(cells, "", path, law).group("law").ecn for law in ("dctcp", "prague", "bbr3", "reno")}
    assert ecn == {"dctcp": True, "prague": True, "bbr3": False, "reno": False}
    assert not scenario(cells, "", path, "dctcp").group("victim").ecn


def test_every_point_of_the_rfc_is_there_with_cells_or_the_reason_why_not() -> None:
    points = load_rfc().points
    assert [point.section for point in points] == SECTIONS
    assert [point.section for point in points if bool(point.cells) == bool(point.because)] == []
    assert [point.section for point in points if point.because] == ["5.3.1", "5.3.2", "7.10"]


def test_every_cell_is_a_scenario_that_standard_laws_can_have() -> None:
    rfc, columns = load_rfc(), [CardColumn("reno"), OURS]
    used = set()
    for point in rfc.points:
        for cells, by in cards._rows(point):
            used.add(cells.scenario)
            for place in cards._places(cells, by, columns):
                assert [want.refused for want in (*place.columns.values(), *place.alone.values()) if want.refused] == []
    assert used == set(rfc.scenarios)
    ids = [cells.id for point in rfc.points for cells in point.cells if cells.id]
    assert len(ids) == len(set(ids))
    assert {picture.of for picture in rfc.pictures} == set(ids)


def test_the_document_is_that_of_the_command_and_repeats(aqmlab: Aqmlab) -> None:
    first, second = (
        aqmlab("card", "bbr3", "--only", QUICK, "--seeds", 1, "--json", "--jobs", jobs) for jobs in ("1", "2")
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    told = json.loads(first.stdout)
    assert [column["law"] for column in told["columns"]] == ["bbr3", "reno", "cubic"]
    [point] = told["points"]
    assert (point["section"], point["not_applicable"], told["failures"]) == ("7.4", None, [])
    use = point["rows"][0]
    assert (use["measure"], use["unit"], len(use["cells"])) == ("utilization", "ratio", 4)
    assert all(0 < value <= 1 for cell in use["cells"] for value in cell["values"])


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card of two points on a link of 1 Mbit/s."""
    path = {"rate": ("1 Mbit/s",), "rtt": ("20 ms",), "buffer": ("1 bdp", "4 bdp")}
    beside = CardCells("beside", "beside", **path, victim="cubic", harm={"its rate": "goodput"}, id="cubic")
    sack = CardCells("alone", "alone", **path, set={"flows.law.tcp.variant": "sack"}, measures={"use": USE})
    points = [CardPoint("1", "Harm", "x", cells=[beside]), CardPoint("2", "SACK", "x", cells=[sack])]
    pictures = [CardPicture("harm", "Harm.", "Change (%)", "cubic", "its rate")]
    small = replace(load_rfc(), points=points, pictures=pictures)
    for module in (cards, points_of_rfc, figures):
        monkeypatch.setattr(module, "load_rfc", lambda: small)


@pytest.mark.usefixtures("tiny")
def test_a_standard_law_has_one_column_and_does_no_harm_to_its_like() -> None:
    found = lab.card("cubic", only="1", seeds=2)
    assert [column.law for column in found.columns] == ["cubic", "reno"]
    [harm] = found.points[0].rows
    assert [cell.change(OURS) for cell in harm.found] == [0.0, 0.0]
    for cell in harm.found:
        # Two alike fill the link together: each has half of the payload that it carries, 1448 B of 1514 B on the wire.
        assert cell.alone[RENO] == cell.alone[OURS] == pytest.approx(0.5e6 * 1448 / 1514, rel=0.01)
        assert cell.values[RENO] != cell.alone[RENO]


@pytest.mark.usefixtures("tiny")
def test_a_refused_cell_says_why() -> None:
    found = lab.card("bbr3", only="2", seeds=1)
    [row] = found.points[0].rows
    assert cards.shown(row, found.columns[0]) == "not applicable"
    assert "sets the window in recovery too" in row.refused[found.columns[0]]
    assert cards.shown(row, RENO) != "not applicable"
    assert "not applicable, because flows.law.tcp.variant" in text(found, sheets.as_markdown)


LAW = """import aqmlab
class Odd(aqmlab.CongestionControl):
    {body}
"""
SILENT = "pacing_rate = lambda self: 1e-9"
NONSENSE = "on_ack = lambda self, window, facts: setattr(window, 'cwnd', float('nan'))"
FLOOD = "on_ack = lambda self, window, facts: setattr(window, 'cwnd', 1e9)\n    kept = lambda self, event: 1.0"


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (SILENT, 0, "nothing of Odd arrives in 4 of its 4 runs"),
        (NONSENSE, 1, "4 of 12 runs have no result: odd at"),
        (FLOOD, 0, "retransmitted / received"),
    ],
)
def test_a_law_that_breaks_down_gets_a_card_that_says_so(
    body: str, code: int, said: str, aqmlab: Aqmlab, tmp_path: Path
) -> None:
    (tmp_path / "odd.py").write_text(LAW.format(body=body), encoding="utf-8")
    done = aqmlab("card", "odd.py", "--only", QUICK, "--seeds", 1)
    assert done.returncode == code, done.stderr
    assert said in " ".join(done.stdout.split())
    assert "7.4 Internet of Things" in done.stdout
    assert "Traceback" not in done.stderr


class Flooding(lab.CongestionControl):
    """Sends without end."""

    def on_ack(self, window: lab.Window, facts: lab.AckFacts) -> None:
        window.cwnd = 1e9

    def kept(self, event: object) -> float:
        return 1.0


def test_a_run_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "LEAST_EVENTS", 100_000)
    monkeypatch.setattr(cards, "EVENTS_PER_PACKET", 0)
    found = lab.card(Flooding, only="5.1.1", seeds=1)
    assert any("allowed for the run" in remark for remark in found.remarks), found.remarks
    assert found.failures
    assert "more than the" in text(found, sheets.as_latex)


def test_the_bound_follows_what_the_links_carry(small: str) -> None:
    # 5 Mbit/s for 5 s are 2083 packets of 1500 B.
    slow = lab.load(small, {"links.bottleneck.rate": "5 Mbit/s", "duration": "5 s", "warmup": "1 s"})
    assert most_events(slow) == 1_000_000 + 41_667


def test_a_draft_gets_tables_and_a_page() -> None:
    found = lab.card("prague", only="7.4,7.10", seeds=1)
    latex, markdown = text(found, sheets.as_latex), text(found, sheets.as_markdown)
    assert r"\textbf{7.10 Multipath transport (MUST)}" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
    assert "| *Not applicable, because connections and controllers of the card use a single path" in markdown
    _, _, heads, rule, *_ = markdown.splitlines()
    assert heads == "| RFC 9743 | Prague | Reno | CUBIC |"
    assert rule.count("|") == heads.count("|")
    shown = str(page.files(found, "aqmlab card prague")["report.html"])
    assert "7.10 Multipath transport" in shown
    assert "250 kbit/s, 500 ms, 1 BDP" in shown, "every cell"


@pytest.mark.usefixtures("tiny")
def test_pictures_have_a_panel_for_each_path_and_a_line_for_each_law() -> None:
    found = lab.card("cubic", only="1", seeds=1)
    [(name, (picture, drawn))] = figures.pictures(found).items()
    assert (name, page.caption(found, picture)) == ("harm", "Harm; n = 1 (seed 1).")
    several = replace(found, seeds=5)
    assert page.caption(several, picture) == "Harm; mean and 95 % interval, n = 5 (seeds 1 to 5)."
    assert isinstance(drawn, LineChart)
    [panel] = drawn.panels
    assert panel.title == "1 Mbit/s, 20 ms"
    assert {law: sorted(line) for law, line in panel.lines.items()} == {"CUBIC": [1.0, 4.0], "Reno": [1.0, 4.0]}
    assert panel.lines["CUBIC"][4.0].mean == 0.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cubik",), 'law: no congestion controller is called "cubik"; did you mean "cubic"?'),
        (("cubic:beta=7",), "beta"),
        (("cubic", "--only", "5.9"), 'only: no point of RFC 9743 "5.9"'),
        (("cubic", "--engine", "lunix"), 'engine: no engine is called "lunix"; did you mean "linux"?'),
        (("cubic", "--json", "--format", "latex"), "format: latex: --json prints one JSON document"),
        (("nowhere.py",), "no such file"),
    ],
)
def test_bad_input_is_refused(arguments: tuple[str, ...], said: str, aqmlab: Aqmlab) -> None:
    done = aqmlab("card", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_seeds_are_checked() -> None:
    with pytest.raises(InputError, match="seeds"):
        lab.card("cubic", seeds=0)


def values(found: Card, column: CardColumn) -> dict[str, float | None]:
    """The medians of a card's column."""
    return {
        f"{each.point.section} {row.title}": of.middle if (of := row.range(column)) else None
        for each in found.points
        for row in each.rows
    }


@pytest.mark.nightly
def test_every_row_of_a_whole_card_has_a_number() -> None:
    """Of that of Prague, beside Reno and CUBIC; that of BBRv3 is on a page, which `docs/suites.py --check` holds."""
    found = lab.card("prague")
    assert [column.law for column in found.columns] == ["prague", "reno", "cubic"]
    assert found.remarks == []
    missing = [title for column in found.columns for title, value in values(found, column).items() if value is None]
    assert [title for title in missing if "sack" not in title.lower() and "loss, change" not in title] == []


@pytest.mark.nightly
@pytest.mark.skipif(not images(), reason="no kernel is built: aqmlab kernel build")
@pytest.mark.parametrize("law", ["cubic", "dctcp", "bbr"])
def test_linux_has_its_column_beside_ours(law: str) -> None:
    found = lab.card(law, only="6.*,7.2,7.4", engine="linux")
    assert [column.engine for column in found.columns[:2]] == ["sim", "linux"]
    assert found.remarks == []
    policed = next(each for each in found.points if each.point.section == "7.2").rows[0]
    assert "policer" in policed.refused[found.columns[1]]
    alone = next(each for each in found.points if each.point.section == "6.1").rows[0].found[0]
    ours, theirs = (alone.values[column] for column in found.columns[:2])
    assert ours is not None
    assert theirs == pytest.approx(ours, abs=0.1), "use of the link by one flow"
