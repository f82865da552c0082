"""Marks on the names of schemes whose law is not all as published: where they stand, and where not."""

import json
import re

from matplotlib.text import Text

import aqmlab
from aqmlab import catalogue
from aqmlab.present import labels, tables
from aqmlab.present.figures import study as figures_of_study
from aqmlab.present.figures import sweep as figures
from aqmlab.present.html import sweep as page
from aqmlab.present.plots import browser
from aqmlab.present.plots.data import BarPanel
from aqmlab.present.plots.files import draw
from aqmlab.present.text import chart_rows
from aqmlab.runs.statistics import Summary
from aqmlab.study.charts import Chart, ChartPanel
from aqmlab.study.paper import load_study
from conftest import Aqmlab
from sweeping import by_hand

ADMITS = re.compile(r"fitted|reconstruct|at hand|was not available|not known here|not published|unpublished", re.I)
"""What the page, the evidence or a parameter says of something that no source prints."""

SEVERAL = by_hand(
    {"x": {"pi": [0.1, 0.2], "iapi:e_star=5 packets": [0.3, 0.4], "blue": [0.2, 0.2], "nobodys": [0.1, 0.1]}}
)
"""A published scheme, a fitted, a reconstructed, and one of a user."""

MARKED = ["PI", "IAPI† (e_star=5 packets)", "BLUE‡", "nobodys"]


def test_what_each_scheme_rests_on() -> None:
    kinds = {scheme.name: scheme.standing.kind for scheme in catalogue.schemes()}
    fitted = {name for name, kind in kinds.items() if kind == "fitted"}
    reconstructed = {name for name, kind in kinds.items() if kind == "reconstructed"}
    assert fitted >= {"iapi", "neuron-pid", "fapidnn", "nrl", "fuzzy-rtt"}  # a new scheme may be of either kind
    assert reconstructed >= {
        "blue", "choker", "dred", "flc", "fred", "green", "lred", "npd-red", "pd", "pd-red", "pi2", "pid", "sfc",
        "spi-red", "sred",
    }  # fmt: skip
    assert set(kinds.values()) == {"published", "fitted", "reconstructed"}


def test_a_scheme_that_admits_to_no_source_is_marked_and_says_in_which_part() -> None:
    for scheme in catalogue.schemes():
        told = " ".join([scheme.page, scheme.confidence, *(parameter.source for parameter in scheme.parameters)])
        published = scheme.standing.kind == "published"
        assert not (published and ADMITS.search(told)), scheme.name
        assert published == (not scheme.standing.why)


def test_a_label_is_title_mark_and_parameters() -> None:
    assert [labels.label(spec) for spec in ("pi", "iapi", "pi2:target=5 ms")] == ["PI", "IAPI†", "PI2‡ (target=5 ms)"]
    assert labels.label("fq-blue") == "FQ-BLUE‡"  # the scheme of its queues
    assert labels.label("not-there:k=1") == "not-there:k=1"
    assert labels.marked("All", "iapi", "pi", "nrl", "blue") == "All†‡"


def test_a_scheme_of_a_user_has_no_mark() -> None:
    class Unmarked(aqmlab.Aqm):
        """Nothing is signalled."""

    assert labels.label(Unmarked.name) == Unmarked.title == "Unmarked"


def test_a_footnote_explains_the_marks_that_are_there() -> None:
    assert labels.footnote(["PI", "RED"]) == ""
    assert labels.footnote(["PI", "IAPI†"]).startswith("† fitted to printed results")
    assert "‡" not in labels.footnote(["PI", "IAPI†"])
    assert "‡ reconstructed" in labels.footnote(["IAPI†", "BLUE‡"])


def test_tables_for_people_have_marks_and_those_for_programs_have_none() -> None:
    measures = ["link.drop_ratio"]
    write = (tables.as_markdown, tables.as_latex, tables.as_csv)
    markdown, latex, csv = (each(SEVERAL, measures) for each in write)
    assert all(f"| {name} |" in markdown for name in MARKED)
    assert r"BLUE\textdaggerdbl{} &" in latex
    assert r"\textdagger{} fitted to printed results" in latex
    assert not re.search("[†‡]", csv)
    assert "x,iapi:e_star=5 packets,link.drop_ratio" in csv


def test_legends_have_marks_and_pictures_explain_them() -> None:
    dots = figures.dots(SEVERAL, SEVERAL.cases[0], "link.drop_ratio")
    assert list(dots.values) == MARKED
    drawn = [text.get_text().replace("\n", " ") for text in draw(dots).findobj(Text)]
    assert set(MARKED) | {labels.footnote(MARKED)} <= set(drawn)
    assert all(json.dumps(name) in browser.dots(dots) for name in MARKED)
    html = page.report(SEVERAL, ["link.drop_ratio"])
    assert all(f'<th scope="row" data-value="{i}">{name}</th>' in html for i, name in enumerate(MARKED, 1))
    assert labels.footnote(MARKED) in html


def test_a_paper_s_rows_and_lines_have_the_marks_of_our_schemes() -> None:
    study = load_study("boudi")
    light = next(table for table in study.tables if table.number == "V.A-light")
    assert [labels.in_table(light, row) for row in ("RED", "FuzzyRTT", "CHOKeR")] == ["RED", "FuzzyRTT†", "CHOKeR‡"]
    assert labels.in_table(light, "FuzzyRTT-minus-others") == "FuzzyRTT-minus-others†‡"
    xiong = load_study("xiong2010")
    titles = [labels.of_panel(xiong, figure.panels[0]) for figure in xiong.figures]
    assert {"RED", "PD-RED‡"} <= set(titles)


def test_a_paper_s_chart_has_marks_and_its_json_none() -> None:
    study = load_study("boudi")
    bars = next(figure for figure in study.figures if figure.kind == "bars")
    lines = {name: {0.0: Summary(0.9, None, 1)} for name in ("FuzzyRTT", "RED", "FLC")}
    chart = Chart(bars, [ChartPanel(bars.panels[0], study.metrics["jain"], lines)])
    assert list(chart_rows(study, chart)) == [f"(a) fairness: {name}" for name in ("FuzzyRTT†", "RED", "FLC‡")]
    [panel] = figures_of_study.chart(study, chart).panels
    assert isinstance(panel, BarPanel)
    assert list(panel.bars) == ["FuzzyRTT†", "RED", "FLC‡"]
    assert list(chart.entry()["(a) fairness"]) == ["FuzzyRTT", "RED", "FLC"]


def test_the_command_line_marks_tables_and_not_json(aqmlab: Aqmlab, small: str) -> None:
    shown = aqmlab("compare", small, "--aqms", "pi,iapi,blue").stdout
    assert re.search(r"^ *PI {2,}", shown, re.MULTILINE)
    assert re.search(r"^ *IAPI† {2,}", shown, re.MULTILINE)
    assert re.search(r"^ *BLUE‡ {2,}", shown, re.MULTILINE)
    assert "† fitted to printed results" in shown
    assert not re.search("[†‡]", aqmlab("compare", small, "--aqms", "pi,iapi,blue", "--json").stdout)
    listed = aqmlab("list", "aqms").stdout
    assert re.search(r"^ *iapi † ", listed, re.MULTILINE)
    assert "‡ reconstructed" in listed
    assert "† fitted: e_star" in aqmlab("show", "iapi").stdout
    assert not re.search("[†‡]", aqmlab("list", "aqms", "--json").stdout)
