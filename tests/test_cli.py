"""Every command as a user types it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from aqmlab import cli
from aqmlab.catalogue import DEPLOYED
from aqmlab.cli import app
from aqmlab.present.html.glance import glance
from aqmlab.runs.simulate import compare_engines
from conftest import COMMAND, Aqmlab

SEED_PAPER = ["ared", "rem", "pi", "iapi", "neuron-pid", "an-aqm", "fapidnn", "nrl"]


def test_help_has_an_example_for_every_command(aqmlab: Aqmlab) -> None:
    overview = aqmlab("--help")
    assert overview.returncode == 0
    commands = get_command(app).commands  # type: ignore[attr-defined]
    modules = {path.stem.strip("_").replace("_", "-") for path in Path(cli.__file__).parent.glob("*.py")}
    assert {*commands} == modules - {"init", "common", "output", "virtual"}
    for name, command in commands.items():
        assert name in overview.stdout
        assert f"Example: aqmlab {name} " in f"{command.epilog} ", name
    page = aqmlab("list", "--help")
    assert page.returncode == 0
    assert commands["list"].epilog.split("  ")[0] in page.stdout


def test_examples_in_help_are_accepted(aqmlab: Aqmlab) -> None:
    for command in ("list", "show"):
        example = re.search(r"Example: aqmlab (.*)", aqmlab(command, "--help").stdout)
        assert example
        assert aqmlab(*example[1].split()).returncode == 0


HALF = """
import aqmlab

class Half(aqmlab.Aqm):
    '''Signals a share of the packets.'''

    share = aqmlab.Param("50 %", range=("0 %", "100 %"), doc="Of the arriving packets.")

    def on_enqueue(self, packet, queue):
        return self.random() < self.share
"""


def test_version(aqmlab: Aqmlab) -> None:
    answer = aqmlab("--version")
    assert answer.returncode == 0
    assert re.match(r"aqmlab \d+\.\d+\.\d+", answer.stdout)


def test_list_names_everything(aqmlab: Aqmlab) -> None:
    answer = aqmlab("list")
    assert answer.returncode == 0
    for name in (*SEED_PAPER, "li2014/table-1", "li2014/table-13", "li2014"):
        assert name in answer.stdout
    assert answer.stdout.index("li2014/table-2 ") < answer.stdout.index("li2014/table-13 ")


def test_list_json_has_the_fields_of_the_contract(aqmlab: Aqmlab) -> None:
    schemes = json.loads(aqmlab("list", "aqms", "--json").stdout)
    assert {"name", "family", "year", "source", "confidence", "parameters"} <= set(schemes[0])
    assert set(SEED_PAPER) <= {scheme["name"] for scheme in schemes}
    for kind in ("scenarios", "studies"):
        entries = json.loads(aqmlab("list", kind, "--json").stdout)
        assert all({"name", "title"} <= set(entry) for entry in entries)
    assert set(json.loads(aqmlab("list", "--json").stdout)) == {"aqms", "tcps", "scenarios", "studies", "presets"}


def test_list_cost_measures_every_scheme(aqmlab: Aqmlab) -> None:
    costs = {cost["name"]: cost for cost in json.loads(aqmlab("list", "aqms", "--cost", "--json").stdout)}
    declared = {each["name"]: len(each["parameters"]) for each in json.loads(aqmlab("list", "aqms", "--json").stdout)}
    assert {name: cost["parameters"] for name, cost in costs.items()} == declared
    assert all(cost["packet"] > 0 for cost in costs.values())
    assert costs["red"]["update"] is None
    assert costs["pie"]["update_every"] == 0.015
    refused = aqmlab("list", "studies", "--cost")
    assert refused.returncode == 2
    assert "aqmlab list aqms --cost" in refused.stderr


def test_show_a_scheme_gives_every_parameter(aqmlab: Aqmlab) -> None:
    [pi] = [s for s in json.loads(aqmlab("list", "aqms", "--json").stdout) if s["name"] == "pi"]
    page = aqmlab("show", "pi")
    assert page.returncode == 0
    for parameter in pi["parameters"]:
        assert parameter["name"] in page.stdout
        assert parameter["default"] in page.stdout
    assert "li2014" in page.stdout


def test_show_flow_queueing_with_a_scheme_that_no_list_has(aqmlab: Aqmlab) -> None:
    assert "FQ-PI (fq-pi)" in aqmlab("show", "fq-pi").stdout
    refused = aqmlab("show", "fq-cake")
    assert refused.returncode == 2
    assert 'name: no scheme, controller, scenario, study or preset "fq-cake"; did you mean "cake"?' in refused.stderr


def test_show_a_scenario_and_a_study(aqmlab: Aqmlab, small: str) -> None:
    assert "# Does a scheme hold" in aqmlab("show", "li2014/table-1").stdout
    assert "Ten flows" in aqmlab("show", small).stdout
    assert "li2014/table-13" in aqmlab("show", "li2014").stdout


def test_show_a_scheme_of_ones_own(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(HALF)
    page = aqmlab("show", str(tmp_path / "half.py"))
    assert page.returncode == 0
    assert "Signals a share of the packets." in page.stdout
    assert re.search(r"share\s+50 %", page.stdout)
    missing = aqmlab("show", str(tmp_path / "quarter.py"))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "quarter.py: no such file" in missing.stderr


def test_the_package_is_the_command() -> None:
    answer = subprocess.run([sys.executable, "-m", "aqmlab", "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout.startswith("aqmlab ")


def test_losses_of_the_wire_have_a_column_where_there_are_any(aqmlab: Aqmlab, small: str) -> None:
    assert "Lost" not in aqmlab("run", small).stdout
    lossy = ("run", small, "--set", "links.bottleneck.loss=5%")
    lost = json.loads(aqmlab(*lossy, "--json").stdout)["links"]["bottleneck"]["lost"]
    assert re.search(rf"Lost.*\n.*\n.*bottleneck .* {lost} ", aqmlab(*lossy).stdout)


def test_compare_replaces_values_of_the_scenario(aqmlab: Aqmlab, small: str) -> None:
    compared = aqmlab("compare", small, "--aqms", "pi", "--set", "flows.ftp.count=3", "--json")
    [of_pi] = json.loads(compared.stdout)["runs"]
    alone = json.loads(aqmlab("run", small, "--aqm", "pi", "--set", "flows.ftp.count=3", "--json").stdout)
    assert of_pi["flows"]["ftp"]["count"] == 3
    assert of_pi["links"] == alone["links"]
    refused = aqmlab("compare", "--study", "rfc7928", "--set", "flows.ftp.count=3")
    assert refused.returncode == 2
    assert "set: flows.ftp.count=3: is for scenarios" in refused.stderr


def test_run_prints_a_table(aqmlab: Aqmlab, small: str) -> None:
    answer = aqmlab("run", small, "--aqm", "pi")
    assert answer.returncode == 0
    assert "bottleneck" in answer.stdout
    assert answer.stderr == ""


def test_run_json_is_one_document_of_the_contract(aqmlab: Aqmlab, small: str) -> None:
    answer = aqmlab("run", small, "--aqm", "pi", "--seed", 7, "--json")
    result = json.loads(answer.stdout)
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert [result[key] for key in ("schema", "scenario", "aqm", "seed")] == [1, "small", "pi", 7]
    link = result["links"]["bottleneck"]
    assert 0 < link["utilisation"] <= 1
    assert link["dropped"] == sum(link["drops"].values())
    assert link["drop_ratio"] == pytest.approx(link["dropped"] / link["arrived"])
    assert result["flows"]["ftp"]["count"] == 10


def test_run_sets_values_and_takes_the_largest_seed(aqmlab: Aqmlab, small: str) -> None:
    answer = aqmlab("run", small, "--set", "links.bottleneck.rate=1 Mbit/s", "--seed", 2**64 - 1, "--json")
    slow = json.loads(answer.stdout)
    fast = json.loads(aqmlab("run", small, "--seed", 2**64 - 1, "--json").stdout)
    assert slow["seed"] == 2**64 - 1
    assert slow["links"]["bottleneck"]["departed"] < fast["links"]["bottleneck"]["departed"] / 5


def test_run_out_leaves_result_series_and_figures(aqmlab: Aqmlab, small: str, tmp_path: Path) -> None:
    answer = aqmlab("run", small, "--aqm", "pi", "--out", "deep/out")
    assert answer.returncode == 0
    out = tmp_path / "deep" / "out"
    assert {"result.json", "series.csv", "queue.png", "queue.svg"} <= {path.name for path in out.iterdir()}
    assert json.loads((out / "result.json").read_text())["aqm"] == "pi"
    head, *rows = (out / "series.csv").read_text().splitlines()
    assert head.split(",")[:2] == ["time", "bottleneck.queue"]
    assert len(rows) >= 200


def test_compare_leaves_a_report(aqmlab: Aqmlab, small: str, tmp_path: Path) -> None:
    answer = aqmlab("compare", small, "--aqms", "pi:a=2e-5,b=1e-5,droptail", "--seeds", 2, "--out", "out")
    assert answer.returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "report.html",
        "results.json",
        "queue.png",
        "queue.svg",
    }
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "a=2e-5,b=1e-5" in page
    assert "<svg" in page
    assert "aqmlab compare" in page
    assert not re.search(r'(src|href)="(?!#)', re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))


def test_compare_json_is_one_document(aqmlab: Aqmlab, small: str) -> None:
    document = json.loads(aqmlab("compare", small, "--aqms", "pi,pi:w=85 Hz", "--seeds", 3, "--json").stdout)
    assert [(run["aqm"], run["seed"]) for run in document["runs"]] == [
        (aqm, seed) for aqm in ("pi", "pi:w=85 Hz") for seed in (1, 2, 3)
    ]
    [mean] = [e for e in document["summary"] if (e["aqm"], e["metric"]) == ("pi", "queue_mean")]
    values = [run["links"]["bottleneck"]["queue_mean"] for run in document["runs"] if run["aqm"] == "pi"]
    assert mean["mean"] == pytest.approx(sum(values) / 3)
    assert mean["interval"][0] <= mean["mean"] <= mean["interval"][1]


def test_compare_has_the_deployed_schemes_by_default(aqmlab: Aqmlab, small: str) -> None:
    document = json.loads(aqmlab("compare", small, "--json").stdout)
    assert tuple(document["aqms"]) == DEPLOYED
    help_ = " ".join(aqmlab("compare", "--help").stdout.split())
    assert "deployed (default)" in help_


def test_compare_has_the_schemes_of_the_papers_in_their_scenarios(aqmlab: Aqmlab, small: str) -> None:
    short = {"duration": "1 s", "warmup": "0.1 s", "flows.*.count": "2"}
    settings = [part for path, value in short.items() for part in ("--set", f"{path}={value}")]
    text = aqmlab("compare", small, "li2014/table-1", *settings).stdout
    assert all(scheme in text for scheme in ("FQ-PIE", "AN-AQM"))
    found = [each.first for each in compare_engines([small, "li2014/table-1"], set=short)]
    assert found[0].schemes == DEPLOYED
    assert set(SEED_PAPER) <= set(found[1].schemes)
    assert {"FQ-PIE", "PD-RED‡"} < set(glance(found).heads)


def test_reproduce_a_table(aqmlab: Aqmlab, tmp_path: Path) -> None:
    answer = aqmlab("reproduce", "li2014", "--table", 1, "--json", "--out", "out")
    document = json.loads(answer.stdout)
    assert answer.returncode == 0
    assert document["study"] == "li2014"
    assert len(document["cells"]) == document["coverage"]["cells"] == 32
    assert document["coverage"]["missing"] == 0
    assert sum(count for name, count in document["coverage"].items() if name != "cells") == 32
    cell = document["cells"][0]
    assert list(cell) == [
        "table",
        "scheme",
        "metric",
        "unit",
        "published",
        "bound",
        "ours",
        "interval",
        "verdict",
        "tolerance",
        "why",
    ]
    assert cell["interval"] is None
    assert cell["bound"] is None
    assert all(cell["why"] for cell in document["cells"] if cell["verdict"] == "unreproducible")
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "report.html",
        "results.json",
        "table-1-queue.png",
        "table-1-queue.svg",
        "table-1-p.png",
    }


def test_reproduce_a_figure_that_shows_a_table(aqmlab: Aqmlab) -> None:
    document = json.loads(aqmlab("reproduce", "li2014", "--figure", 20, "--json").stdout)
    assert {cell["table"] for cell in document["cells"]} == {"14"}
    assert document["coverage"]["cells"] == 32
    assert document["coverage"]["missing"] == 0
    assert document["figures"] == []


def test_reproduce_a_figure_and_its_numbers(aqmlab: Aqmlab, tmp_path: Path) -> None:
    answer = aqmlab("reproduce", "xiong2010", "--figure", 9, "--figure", 11, "--json", "--out", "out")
    document = json.loads(answer.stdout)
    assert answer.returncode == 0
    assert document["cells"] == []
    values, over_time = document["figures"]
    assert (values["figure"], values["drawn"], over_time["figure"], over_time["values"]) == ("9", True, "11", None)
    [lines] = values["values"]["(a) lower bound of K_d"].values()
    assert lines["50"] == pytest.approx(-3.59e-7, rel=1e-3)
    left = {path.name for path in (tmp_path / "out").iterdir()}
    figures = {f"figure-{n}.{kind}" for n in (9, 11) for kind in ("pdf", "svg", "png")}
    assert left == {"report.html", "results.json", "figures.tex", *figures}


@pytest.mark.nightly
def test_reproduce_tells_claims(aqmlab: Aqmlab) -> None:
    document = json.loads(aqmlab("reproduce", "sun2007", "--table", 1, "--json").stdout)
    assert {claim["verdict"] for claim in document["claims"]} == {"holds"}
    assert document["ledger"]["holds"] == document["ledger"]["claims"] == len(document["claims"])
    page = aqmlab("reproduce", "sun2007", "--table", 1).stdout
    count = len(document["claims"])
    assert page.index("4 of 8 published numbers match") < page.index("Table 1.")
    assert f"Sentences of the paper: {count} of {count} hold" in page
    assert "The other sentences" not in page
    failing = aqmlab("reproduce", "jafar", "--table", 2).stdout
    assert "✗ fails" in failing
    assert "which makes large delay and" in failing  # a cell that wraps


@pytest.mark.parametrize("arguments", [(), ("li2014", "--all"), ("--all", "--table", 1), ("li2014", "--figure", 6)])
def test_reproduce_refuses_what_it_cannot_do(aqmlab: Aqmlab, arguments: tuple[object, ...]) -> None:
    answer = aqmlab("reproduce", *arguments)
    assert answer.returncode == 2
    assert answer.stderr.startswith("Error: ")


def test_the_files_are_there_though_nobody_reads_the_answer(small: str, tmp_path: Path) -> None:
    """As in `aqmlab compare ... --out D | head -1`."""
    for command, left in (
        (("compare", small, "--aqms", "pi", "--out", "D"), "D/report.html"),
        (("run", small, "--aqm", "pi", "--json", "--trace", "packets.parquet", "--out", "R"), "packets.parquet"),
    ):
        with subprocess.Popen(
            [str(COMMAND), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        ) as process:
            assert process.stdout
            assert process.stderr
            process.stdout.close()
            assert "Traceback" not in process.stderr.read()
        assert (tmp_path / left).exists()
    assert (tmp_path / "R" / "result.json").exists()


def test_help_is_short_too(aqmlab: Aqmlab) -> None:
    assert aqmlab("-h").stdout == aqmlab("--help").stdout
    assert aqmlab("plot", "-h").stdout == aqmlab("plot", "--help").stdout


def test_the_shell_completes_commands() -> None:
    asked = {"_AQMLAB_COMPLETE": "complete_bash", "COMP_WORDS": "aqmlab re", "COMP_CWORD": "1"}
    answer = subprocess.run([str(COMMAND)], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert answer.stdout.split() == ["response", "reproduce", "report"]


def test_what_a_scheme_prints_is_no_answer(aqmlab: Aqmlab, small: str, tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(HALF.replace("return", "print('seen'); return") + "\nprint('read')\n")
    (tmp_path / "e.toml").write_text(f'schema = 1\nscenarios = ["{small}"]\naqms = ["half.py"]\n')
    for command in (
        ("run", small, "--aqm", "half.py"),
        ("compare", small, "--aqms", "half.py"),
        ("sweep", "e.toml", "--out", "swept"),
    ):
        answer = aqmlab(*command, "--json")
        assert json.loads(answer.stdout)
        assert {"read", "seen"} <= set(answer.stderr.split())


def test_the_title_says_what_was_set(aqmlab: Aqmlab, small: str, tmp_path: Path) -> None:
    told = "Ten flows for two seconds, with flows.ftp.count=3, duration=1 s"
    options = ("--set", "flows.ftp.count=3", "--set", "duration=1 s")
    assert told in aqmlab("run", small, *options).stdout
    assert told in aqmlab("compare", small, "--aqms", "pi", *options, "--out", "out").stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.index("<dt>Set</dt><dd>flows.ftp.count = 3, duration = 1 s</dd>") < page.index("<main>")


def test_a_scheme_set_where_others_take_its_place_is_refused(within: Aqmlab, small: str) -> None:
    given = "links.bottleneck.aqm=red"
    for command in (("compare", small, "--aqms", "pi"), ("run", small, "--aqm", "pi")):
        refused = within(*command, "--set", given)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"set: {given}: the requested schemes replace it" in refused.stderr
    kept = within("compare", small, "--aqms", "pi", "--set", given, "--set", "links.bottleneck.fixed=true", "--json")
    assert kept.returncode == 2
    assert 'no link of this scenario takes a scheme: "bottleneck" is fixed' in kept.stderr


@pytest.mark.parametrize("line", ["list", "show pi", "tc fq-codel --rate 50Mbit/s", "cite pie", "compare --help"])
def test_a_reader_who_leaves_is_no_failure(line: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)  # gone before the first byte, as `head` is sooner or later
    program = f"import sys; sys.argv = {['aqmlab', *line.split()]!r}; from aqmlab.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_list_of_commands_is_not_cut(aqmlab: Aqmlab) -> None:
    text = aqmlab("--help").stdout
    assert "..." not in text.partition("Commands:")[2]
    assert "Recommend an AQM for an access link and print the commands to" in text


def test_the_scenario_of_a_lesson_goes_by_name(aqmlab: Aqmlab) -> None:
    assert "lessons/01-bufferbloat" in aqmlab("list", "scenarios").stdout
    assert "600" in aqmlab("show", "lessons/01-bufferbloat").stdout
    ran = aqmlab("run", "lessons/01-bufferbloat", "--set", "duration=11 s", "--json")
    assert json.loads(ran.stdout)["scenario"] == "lessons/01-bufferbloat", ran.stderr
    for command in ("run", "show"):
        refused = aqmlab(command, "lessons/01-bufferblot")
        assert refused.returncode == 2
        assert 'did you mean "lessons/01-bufferbloat"?' in refused.stderr


def test_an_unknown_name_without_a_near_one_lists_few(within: Aqmlab) -> None:
    refused = within("show", "foo")
    assert refused.returncode == 2
    assert re.search(r"expected one of \d+, such as [\w/-]+, [\w/-]+, [\w/-]+$", refused.stderr.strip())


def test_a_mistake_in_toml_names_the_file_and_the_place(within: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "bad.toml").write_text("schema = 1\nduration =\n")
    refused = within("run", "sub/bad.toml")
    assert refused.returncode == 2
    assert "sub/bad.toml:2:11: is not TOML: " in refused.stderr
