"""What a comparison says when seeds disagree, with runs whose numbers are made up."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import aqmlab
from aqmlab.present.figures.comparison import figures
from aqmlab.runs import findings
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.results import RunResult
from aqmlab.study import measured, reproduction
from conftest import SMALL


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> RunResult:
    return aqmlab.run(request.path.parent / "small.toml", "ared")


def made_up(run: RunResult, **columns: Sequence[float | None]) -> Comparison:
    """Return a comparison of ARED whose runs have these values, one a seed."""
    seeds = len(next(iter(columns.values())))
    runs = []
    for i in range(seeds):
        found = json.loads(run.text)
        found["links"]["bottleneck"].update({name: values[i] for name, values in columns.items()})
        runs.append(replace(run, text=json.dumps({**found, "seed": i + 1})))
    loaded = aqmlab.load("li2014/table-1")
    return Comparison(loaded, ("ared",), seeds, tuple(runs), 1.0)


def test_one_state(run: RunResult) -> None:
    compared = made_up(run, queue_mean=[348, 350, 352])
    assert compared.text("ared", "links.bottleneck.queue_mean") == "350.0 ±\N{NO-BREAK SPACE}5.0"
    assert compared.warnings("bottleneck") == []


def test_two_states_are_shown_and_not_averaged(run: RunResult) -> None:
    compared = made_up(run, queue_mean=[348, 632, 350, 352] * 3, drop_ratio=[0.158, 0.124, 0.157, 0.156] * 3)
    assert compared.text("ared", "links.bottleneck.queue_mean") == "350.0 | 632.0"
    assert compared.text("ared", "links.bottleneck.drop_ratio") == "15.70 | 12.40"
    [warning] = compared.warnings("bottleneck")
    assert "350 packets in 9 seeds" in warning
    assert "632 packets in 3 seeds." in warning


def test_figures_show_the_seeds_of_each_measure_and_say_their_number(run: RunResult) -> None:
    found = list(figures(made_up(run, queue_delay_mean=[0.01, 0.02, 0.03])))
    assert [each.stem for each in found] == ["links-bottleneck-queue-delay-mean", "total-goodput"]
    delay = found[0]
    assert delay.caption == (
        "bottleneck: Mean queueing delay (ms) under each scheme in li2014/table-1: "
        "small marks are seeds, large ones means with 95 % intervals, n = 3 (seeds 1 to 3)."
    )
    assert delay.drawing.values == {"ARED": {1: 10.0, 2: 20.0, 3: 30.0}}
    assert delay.drawing.summaries["ARED"].mean == 20.0
    [of_one, _] = figures(made_up(run, queue_delay_mean=[0.01]))
    assert of_one.caption.endswith("in li2014/table-1: n = 1 (seed 1).")
    asked = replace(made_up(run, queue_mean=[1.0]), asked=("links.bottleneck.queue_mean",))
    assert [each.stem for each in figures(asked)] == ["links-bottleneck-queue-mean"]


def test_seeds_that_never_settle_are_counted(run: RunResult) -> None:
    never = made_up(run, queue_mean=[300, 300], settling_time=[None, None])
    assert never.text("ared", "links.bottleneck.settling_time") == "–"
    some = made_up(run, queue_mean=[300, 300, 300], settling_time=[5.0, None, 5.0])
    assert some.text("ared", "links.bottleneck.settling_time") == "5.0 ±\N{NO-BREAK SPACE}0.0 (2 of 3 seeds)"


def test_the_mark_ratio_has_a_column_only_where_something_is_marked(run: RunResult) -> None:
    without, with_marks = (made_up(run, marked=marked).of_link("bottleneck").columns for marked in ([0, 0], [0, 3]))
    assert "links.bottleneck.mark_ratio" not in without.values()
    assert with_marks["Mark ratio (%)"] == "links.bottleneck.mark_ratio"


def test_a_published_run_is_compared_with_its_state(run: RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = made_up(
        run,
        utilisation=[0.999] * 4,
        queue_mean=[348, 632, 350, 352],
        queue_std=[80, 50, 80, 80],
        drop_ratio=[0.158, 0.124, 0.157, 0.156],
    )
    monkeypatch.setattr(measured, "compare_many", lambda *_args, **_options: [compared])
    again = reproduction.reproduce("li2014", ["1"], 4)
    row = again.rows("1")["ARED"]
    assert {name: cell.verdict for name, cell in row.items()} == dict.fromkeys(row, "match")
    queue = row["queue_mean"]
    assert queue.ours is not None
    assert (queue.ours.mean, queue.ours.n) == (350, 3)
    assert "632 in 1" in str(queue.why)
    assert row["link_efficiency"].entry()["ours"] == pytest.approx(0.999 / 1.048576)
    assert again.rows("1")["PI"]["queue_mean"].verdict == "missing"


def test_the_settling_time_is_the_same_wherever_it_is_shown(tmp_path: Path) -> None:
    """DropTail steers to no length, and its queue stays near the target of the link all the same."""
    measure, target = "links.bottleneck.settling_time", {"links.bottleneck.target": "70 packets"}
    compared = aqmlab.compare(SMALL, "droptail", set=target)
    value = compared.runs["droptail", 1].links["bottleneck"].settling_time
    assert value is not None
    assert compared.text("droptail", measure) == f"{value:.1f}"
    assert "Settling (s)" in compared.of_link("bottleneck").columns
    assert compared.document()["runs"][0]["links"]["bottleneck"]["settling_time"] == value
    swept = f'schema = 1\nscenarios = ["{SMALL.as_posix()}"]\naqms = ["droptail"]\nseeds = 1\n'
    swept += '[set]\n"links.bottleneck.target" = "70 packets"\n'
    (tmp_path / "e.toml").write_text(swept, encoding="utf-8")
    aqmlab.sweep(tmp_path / "e.toml", tmp_path / "out")
    found = findings.findings(tmp_path / "out")
    assert found.rows[0][measure] == value
    [runs] = found.measured.runs.values()
    assert runs[1][measure] == value
