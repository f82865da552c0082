"""The page about a stored sweep: what it shows is what was measured."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.present.html import sweep as sweep_report
from aqmlab.runs import findings
from conftest import Aqmlab
from sweeping import THREE, by_hand


class Page(HTMLParser):
    """A page as its tables, its scripts, what it links to, and the tags that are open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [str(given[name]) for name in ("src", "href", "xlink:href", "srcset", "data") if given.get(name)]
        self.ids += [str(given["id"])] if "id" in given else []
        if tag not in ("meta", "br", "path", "use", "rect"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "script":
            self.scripts.append((given.get("type"), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("meta", "br", "path", "use", "rect"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data.strip()


@pytest.fixture(scope="module")
def page(with_series: Path) -> str:
    return sweep_report.report(findings.findings(with_series))


def test_the_page_loads_nothing(page: str) -> None:
    parsed = Page(page)
    assert parsed.open == []
    assert all(link.startswith("#") for link in parsed.links)
    assert "default-src 'none'" in page
    assert "form-action 'none'" in page
    assert 'showSendToCloud: false, plotlyServerURL: ""' in page  # a button that uploads a plot's data
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_has_no_element_twice(page: str) -> None:
    ids = Page(re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)).ids
    assert len(ids) == len(set(ids))
    assert {"ranking", "scenarios", "case-1", "case-2"} <= set(ids)


def test_titles_are_escaped(page: str) -> None:
    assert "<h1>Small &amp; &lt;quick&gt;</h1>" in page


def test_its_tables_have_the_numbers_of_the_sweep(page: str, swept: Path) -> None:
    """Means over the seeds as pandas takes them from the rows, in the unit of the head."""
    frame = lab.load_experiment(swept)
    [ranking, *rest] = Page(page).tables
    assert ranking[0][0] == "Scheme"
    means = rest[0]
    column = means[0].index("Queue mean (packets)")
    rows = frame[frame["set.links.bottleneck.rate"] == "5 Mbit/s"].groupby("aqm")["links.bottleneck.queue_mean"]
    wanted = {"DropTail": "droptail", "PI (w=85 Hz)": "pi:w=85 Hz", "PI (w=170 Hz)": "pi:w=170 Hz"}
    assert {row[0] for row in means[1:]} == set(wanted)
    for row in means[1:]:
        width = 3.18245 * rows.get_group(wanted[row[0]]).sem()  # t(0.975, 3)
        assert row[column] == f"{rows.mean()[wanted[row[0]]]:.1f} ±\N{NO-BREAK SPACE}{width:.1f}"
    differences = rest[1]
    assert [row[0] for row in differences[1:]] == ["PI (w=85 Hz)", "PI (w=170 Hz)"]
    less = rows.mean()["pi:w=85 Hz"] - rows.mean()["droptail"]
    assert differences[1][column].startswith(f"{less:.1f} ±")


def test_its_figures_are_those_of_what_was_measured(page: str) -> None:
    figures = [json.loads(text) for kind, text in Page(page).scripts if kind == "application/json"]
    titles = [figure["layout"]["yaxis"]["title"]["text"] for figure in figures]
    first = [
        "Goodput (Mbit/s)",
        "99th percentile of the queueing delay (ms)",
        "Jain's index of the goodput",
        "Settling time (s)",
        "Share of packets",
        "Queue (packets)",
    ]
    assert [title for title in titles if title != "Settling time (s)"] == [
        title for title in [*first, *first[:4]] if title != "Settling time (s)"
    ]
    means = [trace for trace in figures[0]["data"] if trace.get("text") == ["mean"]]
    assert [trace["name"] for trace in means] == ["DropTail", "PI (w=85 Hz)", "PI (w=170 Hz)"]
    assert len(figures[0]["data"]) == 3 * 3  # runs, mean and ellipse of each


def test_the_page_says_what_was_done_and_how_to_repeat_it(page: str, with_series: Path, swept: Path) -> None:
    assert "24 runs: 2 scenarios × 3 schemes × 4 seeds; none failed." in page
    assert f"<code>aqmlab sweep {with_series}/experiment.toml --out again</code>" in page
    assert "<dt>Set for all</dt><dd>duration = 1 s</dd>" in page
    assert ["PI (w=85 Hz): w", "85 Hz", "170 Hz", "Sampling frequency."] in [
        row for table in Page(page).tables for row in table
    ]
    assert "--series first" not in page
    assert "--resume --series first" in sweep_report.report(findings.findings(swept))


def test_a_sweep_under_way_is_told_as_far_as_it_is() -> None:
    found = by_hand({"x": THREE})
    half = findings.Findings(found.folder, found.rows[:3], 6)
    page = sweep_report.report(half)
    assert "3 of 6 runs are done: 1 scenario, 2 schemes, up to 2 seeds; none failed." in page
    assert "None: a ranking needs three schemes, two scenarios" in page


def test_failed_runs_are_named_and_counted(tmp_path: Path) -> None:
    found = by_hand({"x": THREE})
    rows = [
        *found.rows[:5],
        {**found.rows[5], "state": "failed", "error": "the worker <died>", "links.a.drop_ratio": None},
    ]
    page = sweep_report.report(findings.Findings(tmp_path, rows, 6))
    assert "1 failed." in page
    assert "x, red, seed 2: the worker &lt;died&gt;" in page
    assert "4.00" in page  # the other seed of red


def test_report_leaves_one_file(aqmlab: Aqmlab, swept: Path, tmp_path: Path) -> None:
    done = aqmlab("report", swept, "--measure", "total.goodput", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    heads = Page((tmp_path / "page.html").read_text(encoding="utf-8")).tables[1][0]
    assert heads == ["Scheme", "Goodput (Mbit/s)"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--measure", "total.goodputt"], 'measure: no measure "total.goodputt"; did you mean "total.goodput"?'),
        (["--out", "."], "is a directory"),
        (["--format", "pdf"], "'html', 'latex', 'markdown', 'csv'"),
    ],
)
def test_bad_reports_are_refused(aqmlab: Aqmlab, swept: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = aqmlab("report", swept, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert not (swept / "report.html").exists()


def test_a_folder_without_a_sweep_is_refused(aqmlab: Aqmlab, tmp_path: Path) -> None:
    done = aqmlab("report", tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "holds no sweep; expected a results folder of aqmlab sweep" in done.stderr


@pytest.mark.parametrize(
    ("name", "what"), [("tune.json", "a tune"), ("live.json", "a live run"), ("results.json", "a comparison")]
)
def test_a_folder_of_something_else_is_called_by_its_name(name: str, what: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / name).write_text("{}")
    for command in (["report", "other"], ["plot", "other"], ["studio", "--no-browser", "--results", "other"]):
        done = aqmlab(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"other: holds {what}" in done.stderr
        assert "no sweep; expected" in done.stderr


@pytest.mark.parametrize(("scenarios", "bold"), [(2, ["1.00"]), (12, ["<strong>1.00</strong>"])])
def test_a_rank_is_bold_only_where_it_differs_from_every_other(scenarios: int, bold: list[str]) -> None:
    """Pi is best everywhere; with few scenarios that is not significant."""
    found = by_hand({f"s{i}": THREE for i in range(scenarios)})
    page = sweep_report.report(found, ["link.drop_ratio"])
    assert re.findall(r">((?:<strong>)?1\.00(?:</strong>)?)</td>", page) == bold
