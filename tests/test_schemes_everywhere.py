"""Every command that takes a scheme takes a built-in one and one of the user's own, however it is given."""

import json
import os
import pty
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import aqmlab as lab
from aqmlab.advise import LineSpec, advise, conditions
from aqmlab.runs import live
from aqmlab.tune.plan import plan
from aqmlab.tune.result import tune
from conftest import COMMAND, SMALL, Aqmlab
from studio_client import serving

FILE = '''
import aqmlab


class Mine(aqmlab.Aqm):
    """Drops above a limit."""

    name = "declared"
    title = "As declared"
    most = aqmlab.Param("20 packets", ("1 packet", "1000 packets"))
    gain = aqmlab.Param(1.0, (0.1, 10.0))

    def on_enqueue(self, packet, queue):
        return queue.packets >= self.gain * self.most
'''
"""Neither the file nor the class is called as the scheme is."""

POLICY = Path(__file__).parent.parent / "examples" / "gym" / "trained_aqm.py"
"""What export-policy wrote."""

SCHEMES = {
    "pi": "pi",
    "mine.py": "declared",
    "mine.py:Mine:gain=0.5": "declared:gain=0.5",
    "policy.py": "trained-aqm",
}
"""A scheme as it is given, and what results call it."""

EXPERIMENT = 'schema = 1\ntitle = "All"\nscenarios = ["small.toml"]\naqms = ["droptail", "{}"]\nseeds = 2\n'

LINE = ("live", "--rate", "10Mbit/s", "--json")

OWN = pytest.mark.parametrize("aqm", [each for each in SCHEMES if ".py" in each])
ANY = pytest.mark.parametrize("aqm", SCHEMES)
ONE = pytest.mark.parametrize(
    "aqm", [each if each == "mine.py" else pytest.param(each, marks=pytest.mark.nightly) for each in SCHEMES]
)
"""For what takes long: a user's own by day, the others by night."""
TWO = pytest.mark.parametrize(
    "aqm",
    [each if each in ("pi", "mine.py") else pytest.param(each, marks=pytest.mark.nightly) for each in SCHEMES],
)
"""A built-in scheme and a user's own by day, the others by night."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """The scenario and the files of the schemes."""
    (tmp_path / "mine.py").write_text(FILE)
    shutil.copy(POLICY, tmp_path / "policy.py")
    shutil.copy(SMALL, tmp_path)


@ANY
def test_run_and_its_traces(aqm: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    traces = ("--trace", "packets.parquet", "--pcap", "packets.pcapng")
    done = aqmlab("run", "small.toml", "--aqm", aqm, *traces, "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["aqm"] == SCHEMES[aqm]
    assert (tmp_path / "out" / "result.json").exists()
    assert (tmp_path / "packets.parquet").stat().st_size > 1000 < (tmp_path / "packets.pcapng").stat().st_size


@TWO
def test_compare_leaves_results_before_the_report(aqm: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    done = aqmlab("compare", "small.toml", "--aqms", f"droptail,{aqm}", "--seeds", 2, "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["aqms"] == ["droptail", SCHEMES[aqm]]
    assert done.stderr.index("results.json") < done.stderr.index("report.html")


@ONE
def test_sweep_plot_report_and_bundle(aqm: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT.format(aqm))
    for command in (
        ("sweep", "e.toml", "--out", "swept"),
        ("report", "swept"),
        ("plot", "swept", "fairness", "--aqms", f"{aqm},droptail", "--out", "fairness.svg"),
        ("bundle", "swept", "--out", "swept.zip"),
        ("verify", "swept.zip", *(("--run-code", f"schemes/{aqm.partition(':')[0]}") if ".py" in aqm else ())),
    ):
        done = aqmlab(*command)
        assert done.returncode == 0, (command, done.stderr)
    assert (tmp_path / "fairness.svg").exists()
    names = zipfile.ZipFile(tmp_path / "swept.zip").namelist()
    assert [name for name in names if name.endswith(".py")] == [f"schemes/{aqm.partition(':')[0]}"] * (".py" in aqm)


@pytest.mark.parametrize("aqm", ["pi:b=9e-6", "mine.py"])
def test_tune(aqm: str, aqmlab: Aqmlab) -> None:
    ranges = ("--range", "a=1e-6..1e-4") if aqm.startswith("pi") else ("--range", "gain=0.5..2")
    goal = ("--scenario", "small.toml", "--objective", "min link.queue_error", "--budget", "4 runs", "--seeds", 1)
    done = aqmlab("tune", aqm, *goal, *ranges, "--held-out-seeds", 2, "--out", "tuned")
    assert done.returncode == 0, done.stderr


@OWN
def test_what_is_of_built_in_schemes_only_is_refused_by_the_declared_name(aqm: str, aqmlab: Aqmlab) -> None:
    name = SCHEMES[aqm].partition(":")[0]
    refused = {
        ("analyse", aqm, "--scenario", "small.toml"): f'"{name}" has no linear model',
        ("tc", aqm): f'Linux does not support "{name}"',
    }
    for command, why in refused.items():
        done = aqmlab(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr


@ANY
def test_advise_and_show(aqm: str, aqmlab: Aqmlab) -> None:
    short = ("--set", "duration=3s", "--set", "warmup=1s")
    done = aqmlab("advise", "--rate", "5Mbit/s", "--aqms", f"droptail,{aqm}", "--seeds", 2, *short, "--json")
    assert done.returncode == 0, done.stderr
    assert SCHEMES[aqm] in done.stdout
    assert aqmlab("show", aqm.partition(":")[0]).returncode == 0


@pytest.mark.usefixtures("live_machine")
@ONE
def test_live_with_all_that_it_leaves(aqm: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    done = aqmlab(*LINE, "--aqm", aqm, "--out", "out", "--", "true")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["aqm"] == SCHEMES[aqm]
    assert {"result.json", "flows.csv", "up-queue.svg"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert aqmlab("live", "--replay", "out", *(("--aqm", aqm) if ".py" in aqm else ())).returncode == 0
    assert aqmlab(*LINE, "--aqm", f"{aqm}@up+pie@down", "--out", "two", "--", "true").returncode == 0


@pytest.mark.usefixtures("live_machine")
@ANY
def test_the_view_of_a_live_run(aqm: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [str(COMMAND), *LINE, "--view", "--aqm", aqm, "--", "sleep", "0.5"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs, cwd=tmp_path, check=False)
    shown = os.read(ours, 1 << 16).decode()
    assert (done.returncode, "up: 0 packets" in shown) == (0, True), shown


@pytest.mark.usefixtures("live_machine")
def test_a_live_result_is_kept_where_nothing_can_be_simulated(aqmlab: Aqmlab, tmp_path: Path) -> None:
    done = aqmlab(*LINE, "--aqm", "mine.py", "--beside", "--out", "out", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert "Warning: not simulated: beside: no flow was long enough" in done.stderr
    assert json.loads(done.stdout) == json.loads((tmp_path / "out" / "result.json").read_text())


def test_the_studio(tmp_path: Path) -> None:
    with serving(str(SMALL), "--aqm", str(tmp_path / "mine.py"), "--aqm", str(tmp_path / "policy.py")) as studio:
        studio.enter()
        names = [each["name"] for each in studio.json("/api/catalogue")["schemes"]]
    assert names[-2:] == ["declared", "trained-aqm"]


class Classy(lab.Aqm):
    """Drops above a limit."""

    most = lab.Param("20 packets", ("1 packet", "1000 packets"))

    def on_enqueue(self, packet: lab.Packet, queue: lab.Queue) -> bool:
        return queue.packets >= self.most


CALLS: dict[str, Callable[[type[lab.Aqm] | lab.Aqm], object]] = {
    "run": lambda aqm: lab.run(SMALL, aqm),
    "compare": lambda aqm: lab.compare(SMALL, ["pi", aqm], seeds=1),
    "Simulation": lambda aqm: lab.Simulation(SMALL, aqm),
    "check_aqm": lab.check_aqm,
    "advise": lambda aqm: advise(
        conditions(LineSpec(rate=5e6), {"duration": "3s", "warmup": "1s"}), aqms=["pi", aqm], seeds=2
    ),
    "tune": lambda aqm: tune(
        plan(
            aqm,
            [str(SMALL)],
            ["min link.queue_error"],
            ranges={"most": "5..50"},
            budget="2 runs",
            seeds=1,
            held_out_seeds=2,
        )
    ),
}


@pytest.mark.parametrize("aqm", [Classy, Classy(most="10 packets")], ids=["class", "instance"])
@pytest.mark.parametrize("call", CALLS)
def test_the_interface_takes_a_class(call: str, aqm: "type[lab.Aqm] | lab.Aqm") -> None:
    if call == "tune" and isinstance(aqm, lab.Aqm):
        with pytest.raises(lab.InputError, match="is set in classy:most=10 packets"):
            CALLS[call](aqm)
    else:
        assert CALLS[call](aqm)


def test_the_interface_refuses_to_analyse_a_class() -> None:
    with pytest.raises(lab.InputError, match='"classy" has no linear model'):
        lab.analyse(Classy, SMALL)


@pytest.mark.usefixtures("live_machine")
@pytest.mark.parametrize("aqm", [Classy, Classy(most="10 packets")], ids=["class", "instance"])
def test_a_class_runs_live_and_is_replayed(aqm: "type[lab.Aqm] | lab.Aqm", tmp_path: Path) -> None:
    live.live(live.EmulatedLine("1 Mbit/s", None).scenario(), ["true"], aqm, folder=tmp_path)
    assert all(direction.is_identical for direction in live.replay(tmp_path).values())
    assert all(direction.is_identical for direction in live.replay(tmp_path, aqm).values())
