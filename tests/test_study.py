"""Studies: the published numbers are complete, and verdicts are as worked out by hand."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import aqmlab
from aqmlab.scenario import original
from aqmlab.study import reproduction
from aqmlab.study.cells import Cell, verdict
from aqmlab.study.measured import scenario_of
from aqmlab.study.paper import Study, built, load_study

DOCS = Path(__file__).parent.parent / "docs"


def test_every_published_number_of_li2014_is_there() -> None:
    study = load_study("li2014")
    assert len(study.published) == 628
    fairness = [cell for cell in study.published if cell.table in ("1.3-equal", "1.3-groups")]
    assert [cell.value for cell in fairness] == [0.86, 0.92, 0.52, 0.60]
    counts = Counter((cell.table, cell.metric) for cell in study.published if cell not in fairness)
    assert set(counts.values()) == {8}
    queues = {"link_efficiency", "drop_ratio", "queue_mean", "queue_std"}
    delays = {"delay_mean", "delay_std"}
    assert set(counts) == {(str(table), metric) for table in range(1, 19) for metric in queues} | {
        (str(table), metric) for table in (19, 20, 21) for metric in delays
    }


@pytest.mark.parametrize(
    ("name", "cells"), [("boudi", 27), ("jafar", 16), ("li2014", 628), ("sun2007", 8), ("xiong2010", 16)]
)
def test_every_published_number_is_there(name: str, cells: int) -> None:
    assert len(load_study(name).published) == cells


@pytest.mark.parametrize("name", aqmlab.studies())
def test_published_numbers_are_under_names_of_the_study(name: str) -> None:
    study = load_study(name)
    numbers = {table.number for table in study.tables}
    for cell in study.published:
        assert cell.table in numbers
        together = next(table.together for table in study.tables if table.number == cell.table)
        assert cell.scheme in {**study.schemes, **study.differences, **together}
        assert cell.metric in study.metrics
    assert {part for parts in study.differences.values() for part in parts} <= set(study.schemes)


@pytest.mark.parametrize("name", aqmlab.studies())
def test_notes_are_about_published_numbers(name: str) -> None:
    study = load_study(name)
    cells = {f"{cell.table}/{cell.scheme}/{cell.metric}" for cell in study.published}
    for note in study.notes:
        assert set(note.cells) <= cells
        assert set(note.tables) <= {table.number for table in study.tables}
        assert set(note.schemes) <= {*study.schemes, *study.differences}
        assert set(note.metrics) <= set(study.metrics)


def places(study: Study) -> Iterator[tuple[str, str, str]]:
    """Every scenario, link and scheme that a study names."""
    for table in study.tables:
        rows = {cell.scheme for cell in study.published if cell.table == table.number} & set(study.schemes)
        yield from ((name, table.link, table.schemes[row]) for name in table.scenarios for row in rows)
    for figure in study.figures:
        for panel in figure.panels:
            names = [name.format(x=f"{x:g}") for name in panel.scenarios for x in figure.x or (0,)]
            yield from ((name, panel.link, study.spec(scheme)) for name in names for scheme in panel.schemes)
    alternatives = [other.claim for claim in study.claims for other in claim.alternatives]
    for claim in (*study.claims, *alternatives):
        rows = [*claim.schemes, *claim.below, *claim.above]
        schemes = [part for row in rows for part in study.differences.get(row, [row])]
        yield from ((name, claim.link, study.spec(scheme)) for name in claim.scenarios for scheme in schemes)


@pytest.mark.parametrize("name", aqmlab.studies())
def test_a_study_names_scenarios_links_and_schemes_that_exist(name: str) -> None:
    for where, link, spec in set(places(load_study(name))):
        scenario = scenario_of(where)
        assert link in scenario.links
        if built(spec):
            scenario.parameters(spec)


@pytest.mark.parametrize("name", aqmlab.studies())
def test_a_claim_says_what_it_compares(name: str) -> None:
    for claim in load_study(name).claims:
        checked = claim.within or claim.below or claim.above or claim.alike or claim.trend or claim.steady
        about = [bool(checked), bool(claim.tables or claim.figures), bool(claim.background), bool(claim.untestable)]
        assert about.count(True) == 1, claim.text
        assert bool(claim.groups) == bool(checked), claim.text


@pytest.mark.parametrize("name", aqmlab.studies())
def test_a_sentence_has_a_section_and_short_words_and_stands_once(name: str) -> None:
    claims = load_study(name).claims
    assert all(claim.section and claim.text for claim in claims)
    assert [text for text, n in Counter((claim.section, claim.text) for claim in claims).items() if n > 1] == []


@pytest.mark.parametrize("name", aqmlab.studies())
def test_a_sentence_that_is_shown_names_tables_and_figures_of_the_study(name: str) -> None:
    study = load_study(name)
    tables = {table.number for table in study.tables}
    figures = {figure.number for figure in study.figures} | {table.figure for table in study.tables}
    for claim in study.claims:
        assert set(claim.tables) <= tables, claim.text
        assert set(claim.figures) <= figures, claim.text


@pytest.mark.parametrize("name", aqmlab.studies())
def test_the_page_of_a_ledger_has_every_sentence_in_order(name: str) -> None:
    page = (DOCS / "ledgers" / f"{name}.md").read_text(encoding="utf-8")
    rows = [line.removeprefix("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][2:]
    claims = load_study(name).claims
    assert [row[:2] for row in rows] == [[claim.section, claim.text] for claim in claims]
    fixed = {
        "shown": lambda claim: claim.tables or claim.figures,
        "background": lambda claim: claim.background,
        "untestable": lambda claim: claim.untestable,
    }
    for told, is_so in fixed.items():
        assert [row[1] for row in rows if row[2].endswith(told)] == [claim.text for claim in claims if is_so(claim)]
    failing = [row for row in rows if row[2].endswith("fails")]
    whys = {(claim.section, claim.text): claim.why for claim in claims}
    assert [row[1] for row in failing if not (whys[row[0], row[1]] or row[4] == "fails")] == [], "they say why"


@pytest.mark.parametrize("name", aqmlab.studies())
def test_the_page_of_a_ledger_has_what_the_paper_s_file_says_now(name: str) -> None:
    """The words, the reasons and the counts; the measurements themselves are held by `make nightly`."""
    page = (DOCS / "ledgers" / f"{name}.md").read_text(encoding="utf-8")
    study = load_study(name)
    rows = {(row[0], row[1]): row for line in page.splitlines() if len(row := line.strip("| ").split(" | ")) > 5}
    assert [word for word, meaning in study.words.items() if f"\n- {word}: {meaning}.\n" not in page] == []
    assert f"*{study.title}* contains {len(study.claims)} sentences about the behaviour of schemes: " in page
    stale = []
    for claim in study.claims:
        row = rows[claim.section, claim.text]
        reason = claim.unmeasured or (claim.why if row[2].endswith("fails") else None)
        stale += [claim.text] if reason and reason.replace("|", "\\|") not in row[-1] else []
    assert stale == []


def test_the_summary_of_the_ledgers_agrees_with_their_pages() -> None:
    sys.path.insert(0, str(DOCS))
    import ledgers

    assert ledgers.summary() in (DOCS / "studies.md").read_text(encoding="utf-8")
    assert ledgers.second_reading() + "\n" == (DOCS / "ledgers" / "second-reading.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", aqmlab.studies())
def test_no_two_cells_have_one_name(name: str) -> None:
    """A limit is told apart by which limit it is: Boudi & Loudini print a gain of 0.3 to 0.4."""
    cells = [(cell.table, cell.scheme, cell.metric, cell.bound) for cell in load_study(name).published]
    assert len(set(cells)) == len(cells)


def test_json_says_whether_a_number_is_a_limit() -> None:
    study = load_study("boudi")
    metrics = next(table for table in study.tables if table.number == "V.A").metrics

    def bound(metric: str, printed: str | None) -> object:
        cell = Cell("V.A", "RED", "red", metrics[metric], 0.3, printed, None, "missing", None)
        return cell.entry()["bound"]

    assert bound("jain", "max") == "max"
    assert bound("utilisation_mean_min", None) == "min", "a limit by its metric"
    assert bound("utilisation", None) is None


def test_another_name_of_a_world_gives_the_same_world() -> None:
    assert original("li2014/table-16") == "li2014/table-15"
    assert original("li2014/table-15") == "li2014/table-15"
    both = [aqmlab.load(name).resolved() for name in ("sun2007/fig-11b", "li2014/table-15")]
    assert [each.pop("name") for each in both] == ["sun2007/fig-11b", "li2014/table-15"]
    assert both[0] == both[1]
    assert all(original(original(name)) == original(name) for name in aqmlab.scenarios())


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


@pytest.mark.parametrize(
    ("ours", "bound", "expected"),
    [
        (0.95, "min", "match"),  # far above a lower limit
        (0.89, "min", "match"),  # 0.01 below it
        (0.87, "min", "near"),
        (0.85, "min", "off"),
        (0.85, "max", "match"),
        (0.93, "max", "near"),
    ],
)
def test_verdicts_on_limits(ours: float, bound: str, expected: str) -> None:
    assert verdict(ours, 0.90, 0.02, None, bound) == expected


def test_schemes_that_are_not_built_are_missing_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("reproduction", "paper", "cells", "claims"):
        monkeypatch.setattr(f"aqmlab.study.{module}.built", lambda spec: spec != "rem")
    again = reproduction.reproduce("sun2007", tables=["1"], figures=["12"])
    assert again.unbuilt == ["REM"]
    missing = [cell for cell in again.cells if cell.verdict == "missing"]
    assert [(cell.row, cell.why) for cell in missing] == [("REM", "the scheme is not implemented")] * 2
    assert again.coverage["missing"] == 2
    assert again.absent(again.figures[0]) == ["REM"]
    assert {checked.verdict for checked in again.claims} == {"holds", "weak"}
    comparing = [checked for checked in again.claims if checked.claim.below]
    assert len(comparing) >= 4
    assert all("REM not implemented" in checked.measured for checked in comparing)


def test_figures_and_tables_choose_together() -> None:
    study = load_study("li2014")
    tables, figures = study.select(["2"], ["7", "19"])
    assert [table.number for table in tables] == ["1", "2", "13"]
    assert figures == []
    assert len(study.select(None, None)[0]) == 23


def test_a_study_of_figures_alone_can_be_chosen_from() -> None:
    tables, figures = load_study("jafar").select(None, ["3", "5"])
    assert tables == []
    assert [figure.number for figure in figures] == ["3", "5"]


def test_every_number_of_table_21_is_the_queue_of_table_2_in_seconds() -> None:
    """To the printed digits (0.0001 s, and 0.0001 s for what it was rounded from): the paper measured no delay."""
    paper = load_study("li2014")
    printed = {(cell.table, cell.scheme, cell.metric): cell.value for cell in paper.published}
    packet = 8000 / (45 * 2**20)
    for scheme in paper.schemes:
        for delay, queue in (("delay_mean", "queue_mean"), ("delay_std", "queue_std")):
            assert printed["21", scheme, delay] == pytest.approx(printed["2", scheme, queue] * packet, abs=1.1e-4)
    metric = next(table for table in paper.tables if table.number == "21").metrics["delay_mean"]
    assert (metric.ours, metric.metric.unit) == ("queue_mean", "s")
    assert metric.count(728.72) == pytest.approx(0.1235, abs=5e-5)
