"""One comparison by several engines. Without a kernel, the runs of the other engine are those of the first, changed."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import aqmlab
from aqmlab.kernel.images import images
from aqmlab.present.figures.runs import engines_figure
from aqmlab.present.plots.files import draw
from aqmlab.problems import InputError
from aqmlab.runs import linux
from aqmlab.runs.comparison import Comparison
from aqmlab.runs.engines import EngineComparison
from aqmlab.runs.results import RunResult

Command = Callable[..., CompletedProcess[str]]

kernel = pytest.mark.skipif(not images(), reason="no kernel is built: aqmlab kernel build")


def longer(run: RunResult, packets: float) -> RunResult:
    """The run with so many packets more in its mean queue, as Linux could have done it."""
    document = json.loads(run.text)
    document["links"]["bottleneck"]["queue_mean"] += packets
    document["engine"] = {"name": "linux", "version": "7.3.4", "events": None, "wall": 1.0}
    return replace(run, text=json.dumps(document))


@pytest.fixture(scope="module")
def both() -> EngineComparison:
    """Two schemes and three seeds: the other engine's queue is 1, 2 and 3 packets longer."""
    compared = aqmlab.compare(Path(__file__).parent / "small.toml", "droptail,pi", seeds=3)
    runs = [run for run in compared.outcomes if isinstance(run, RunResult)]
    other = Comparison(
        compared.scenario,
        compared.schemes,
        3,
        tuple(longer(run, packets) for run, packets in zip(runs, [1, 2, 3] * 2, strict=True)),
        1.0,
    )
    return EngineComparison({"sim": compared, "linux": other})


def test_seeds_are_paired(both: EngineComparison) -> None:
    found = both.difference("pi", "links.bottleneck.queue_mean")
    assert found is not None
    assert found.absolute.mean == pytest.approx(2)
    # t(0.975, 2) = 4.303 and the deviation of 1, 2, 3 is 1: the interval does not depend on the spread of the seeds.
    assert found.absolute.half_width == pytest.approx(4.3027 / 3**0.5, abs=1e-3)
    mean = both.by_engine["sim"].summary("pi", "links.bottleneck.queue_mean")
    assert mean is not None
    assert found.relative == pytest.approx(2 / mean.mean)


def test_what_does_not_differ_has_no_sign(both: EngineComparison) -> None:
    rows = [row for row in both.rows(both.views[0]) if row.scheme == "droptail"]
    assert [row.what for row in rows] == ["sim", "linux", "linux - sim"]
    shown = dict(zip(both.views[0].columns, rows[2].texts, strict=True))
    assert shown["Drop ratio (%)"] == "0.00 ±\N{NO-BREAK SPACE}0.00"
    assert shown["Queue mean (packets)"].startswith("+2.0 ±\N{NO-BREAK SPACE}2.5 (+")


def test_the_document_says_which_engine(both: EngineComparison) -> None:
    document = json.loads(both.json())
    assert document["engines"] == ["sim", "linux"]
    assert [run["engine"]["name"] for run in document["runs"]] == ["sim"] * 6 + ["linux"] * 6
    assert {entry["engine"] for entry in document["summary"]} == {"sim", "linux"}
    [queue] = [
        each
        for each in document["differences"]
        if each["measure"] == "links.bottleneck.queue_mean" and each["aqm"] == "pi"
    ]
    assert (queue["engine"], queue["from"], queue["n"], queue["unit"]) == ("linux", "sim", 3, "packets")
    assert queue["mean"] == pytest.approx(2)


def test_both_are_in_one_picture(both: EngineComparison) -> None:
    runs = {spec: {name: each.runs[spec, 1] for name, each in both.by_engine.items()} for spec in both.schemes}
    figure = draw(engines_figure(runs, both.scenario, "bottleneck"))
    lines = [[line for line in axes.lines if len(line.get_xdata()) > 2] for axes in figure.axes]
    assert [len({line.get_color() for line in of}) for of in lines] == [1, 1]  # a colour for each scheme
    assert len({of[0].get_color() for of in lines}) == 2
    assert [[line.get_linestyle() for line in of] for of in lines] == [["-", "--"]] * 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["sim", "linux", "target"]


def test_engines_are_refused_by_name(small: str) -> None:
    for engines, words in [
        (["sim", "linus"], 'no engine is called "linus"; did you mean "linux"?'),
        (["sim"], "expected two different ones"),
        (["linux", "linux"], "expected two different ones"),
        (["sim:7.3", "linux"], 'no engine is called "sim:7.3"'),
        (["linux:no-such", "sim"], "kernel: no-such: expected user-mode Linux"),
    ]:
        with pytest.raises(InputError, match=re.escape(words)):
            aqmlab.compare(small, "pi", engines=engines)
    with pytest.raises(InputError, match="leave out one of the two"):
        aqmlab.compare(small, "pi", engine="linux", engines=["sim", "linux"])


def test_a_scheme_that_linux_lacks_is_refused_before_anything_runs(aqmlab: Command) -> None:
    done = aqmlab("compare", "home/call", "--engines", "sim,linux", "--aqms", "cake,rem")
    assert done.returncode == 2
    assert not done.stdout
    assert "about" not in done.stderr.partition("Error:")[0]


def test_the_estimate_grows_with_rate_and_duration() -> None:
    def seconds(**values: str) -> float:
        return linux.estimate(aqmlab.load("home/call", {name.replace("_", "."): to for name, to in values.items()}))

    usual = seconds()
    assert seconds(duration="60 s") > 1.8 * usual
    assert seconds(links_down_rate="500 Mbit/s") > 5 * usual


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "home/call", "--kernel", "x"], "kernel: x: works with --engine linux only"),
        (["run", "home/call", "--engine", "linux", "--kernel", "no-such"], "kernel: no-such: expected user-mode Linux"),
        (["run", "home/call", "--engine", "linux", "--kernel", sys.executable], "is not user-mode Linux"),
        (["compare", "home/call", "--engines", "linux:/no/such,linux:9.9"], "kernel: /no/such: expected user-mode"),
        (["compare", "home/call", "--engine", "linux:9.9.9"], "kernel: 9.9.9: expected user-mode Linux"),
        (["card", "cubic", "--engine", "linux:9.9.9"], "engine: linux:9.9.9: 9.9.9 cannot be chosen here"),
    ],
)
def test_kernels_are_refused_by_name(arguments: list[str], words: str, aqmlab: Command) -> None:
    refused = aqmlab(*arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert words in refused.stderr


@kernel
def test_two_kernels_are_compared(aqmlab: Command, tmp_path: Path) -> None:
    built = images()[0]
    shutil.copy(built.path, tmp_path / "mine")
    engines = [f"linux:{built.version}", "linux:./mine"]
    settings = ("--set", "duration=12 s", "--seeds", "2", "--out", "left")
    done = aqmlab("compare", "home/call", "--engines", ",".join(engines), "--aqms", "fq-codel", *settings)
    assert done.returncode == 0, done.stderr
    assert "4 runs on Linux, about" in done.stderr
    assert f"linux:./mine is Linux {built.version}-aqmlab" in done.stdout
    stored = json.loads((tmp_path / "left" / "results.json").read_text(encoding="utf-8"))
    assert [run["engine"]["name"] for run in stored["runs"]] == [engines[0]] * 2 + [engines[1]] * 2
    assert {each["mean"] for each in stored["differences"]} == {0, None}
    assert f"linux:./mine - linux:{built.version}" in (tmp_path / "left" / "report.html").read_text(encoding="utf-8")


@kernel
def test_a_run_names_its_kernel(aqmlab: Command, tmp_path: Path) -> None:
    built = images()[0]
    shutil.copytree(built.path.parent, tmp_path / "copy")
    arguments = ["run", "home/call", "--aqm", "cake", "--set", "duration=12 s", "--engine", "linux", "--json"]
    kernels = [[], ["--kernel", built.name], ["--kernel", "copy"], ["--kernel", "copy/linux"]]
    runs = [json.loads(aqmlab(*arguments, *kernel).stdout) for kernel in kernels]
    for run in runs:
        del run["engine"]["wall"]
    assert runs == [runs[0]] * 4


@kernel
def test_both_in_one_table(aqmlab: Command, tmp_path: Path) -> None:
    settings = ("--set", "duration=12 s", "--seeds", "2")
    done = aqmlab("compare", "home/call", "--engines", "sim,linux", "--aqms", "cake", *settings, "--out", "left")
    assert done.returncode == 0
    assert "2 runs on Linux, about" in done.stderr
    shown = re.findall(r"^ (?:CAKE)? +(sim|linux(?: -)?) ", done.stdout, re.M)
    assert shown == ["sim", "linux", "linux -"] * 3  # two links and the flows
    page = (tmp_path / "left" / "report.html").read_text(encoding="utf-8")
    assert "--engines sim,linux" in page
    assert "linux - sim" in page
    stored = json.loads((tmp_path / "left" / "results.json").read_text(encoding="utf-8"))
    ours, theirs = (
        [run["links"]["up"]["utilisation"] for run in stored["runs"] if run["engine"]["name"] == name]
        for name in ("sim", "linux")
    )
    assert theirs == pytest.approx(ours, abs=0.02)


@kernel
def test_the_demo_shows_what_linux_measures(aqmlab: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stored = Path(__file__).parent.parent / "docs" / "call-on-linux.txt"
    shown = stored.read_text(encoding="utf-8").partition("\n\n")[2]
    done = aqmlab("compare", "home/call", "--aqms", "droptail,codel,fq-codel", "--engine", "linux")
    assert shown in done.stdout, "python docs/demo.py"
