"""Laws of a user's own: a class in Python, a shared library, `--law`, and what they may not answer."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import aqmlab
from aqmlab import Param
from conftest import Aqmlab
from studio_client import serving, tab

ROOT = Path(__file__).parent.parent
SHORT = {"duration": "12 s", "warmup": "4 s"}


class LikeReno(aqmlab.CongestionControl):
    """Grows by segments as Reno does in Linux."""

    extra = Param(0.0, range=(0, 10), doc="segments more in a round trip")

    def on_ack(self, window: aqmlab.Window, facts: aqmlab.AckFacts) -> None:
        if window.cwnd < window.ssthresh:
            window.cwnd += facts.acked
        else:
            window.cwnd += (1 + self.extra) * facts.acked / int(window.cwnd + 1e-9)


def queue_of(law: str | aqmlab.CongestionControl | type[aqmlab.CongestionControl]) -> float:
    return aqmlab.run("link/mix", "pi", law=law, set=SHORT).links["link"].queue_mean


def test_reno_in_python_gives_the_numbers_of_ours() -> None:
    assert queue_of("like-reno") == queue_of("reno")
    assert queue_of("reno") == queue_of(LikeReno) == queue_of(LikeReno(extra=0))
    assert queue_of("like-reno:extra=3") == queue_of(LikeReno(extra=3)) > queue_of("reno")
    with pytest.raises(aqmlab.InputError, match=r"extra.*out of range"):
        queue_of("like-reno:extra=11")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("window.cwnd = float('nan')", "on_ack set cwnd to NaN"),
        ("window.cwnd = 0", "on_ack set cwnd to 0"),
        ("raise KeyError('x')", "on_ack raised KeyError"),
    ],
)
def test_a_law_that_breaks_down_ends_the_run(body: str, why: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    text = (
        f"import aqmlab\nclass Odd(aqmlab.CongestionControl):\n    def on_ack(self, window, facts):\n        {body}\n"
    )
    (tmp_path / "odd.py").write_text(text, encoding="utf-8")
    done = aqmlab("run", "link/mix", "--law", "odd.py", "--set", "duration=5s", "--set", "warmup=1s")
    assert done.returncode == 1
    assert re.search(f"odd .*{re.escape(why)}", done.stderr)
    assert "Traceback" not in done.stderr


@pytest.fixture
def library(tmp_path: Path) -> str:
    """Reno in C as a shared library, by the path from the folder of the test."""
    source, headers = ROOT / "examples/c/reno.c", ROOT / "crates/c/include"
    subprocess.run(["cc", "-shared", "-fPIC", source, f"-I{headers}", "-o", tmp_path / "libreno.so"], check=True)
    return "./libreno.so"


def test_a_shared_library_is_compared_and_named(aqmlab: Aqmlab, library: str) -> None:
    short = [part for path, value in SHORT.items() for part in ("--set", f"{path}={value}")]
    found = [
        aqmlab("compare", "link/mix", "--aqms", "pi,codel", "--law", law, *short, "--json") for law in (library, "reno")
    ]
    assert [done.returncode for done in found] == [0, 0], found[0].stderr
    own, ours = (json.loads(done.stdout)["runs"] for done in found)
    for run in own + ours:
        run["engine"].pop("wall", None)
    assert own == ours
    assert (
        "flows.bulk.tcp.congestion_control=c-reno"
        in aqmlab("compare", "link/mix", "--aqms", "pi", "--cc", library, *short).stdout
    )


def test_a_law_of_a_file_is_shown(aqmlab: Aqmlab, library: str, tmp_path: Path) -> None:
    text = 'import aqmlab\nclass Odd(aqmlab.CongestionControl):\n    """Grows oddly."""\n'
    (tmp_path / "odd.py").write_text(text, encoding="utf-8")
    for law, words in ((library, "Reno in C"), ("odd.py", "Grows oddly.")):
        shown = aqmlab("show", law)
        assert shown.returncode == 0, shown.stderr
        assert words in shown.stdout


EXPERIMENT = """
schema = 1
scenarios = ["link/mix"]
aqms = ["pi"]
[set]
duration = "4 s"
warmup = "1 s"
"""


def test_a_sweep_is_named_by_its_law_and_goes_on_with_it(aqmlab: Aqmlab, library: str, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EXPERIMENT, encoding="utf-8")
    sweep = ("sweep", "e.toml", "--law", library, "--out")
    first = aqmlab(*sweep, "swept")
    assert "congestion_control = c-reno" in first.stdout
    assert "1 of them done now" in first.stdout
    assert "0 of them done now" in aqmlab(*sweep, "swept", "--resume").stdout
    rows = json.loads((tmp_path / "swept/environment.json").read_text(encoding="utf-8"))
    assert rows[0]["law"]["name"] == "c-reno"
    ours = json.loads(aqmlab("sweep", "e.toml", "--law", "reno", "--out", "ours", "--json").stdout)
    own = json.loads(aqmlab(*sweep, "swept", "--resume", "--json").stdout)
    assert [row["mean"] for row in own["summary"]] == [row["mean"] for row in ours["summary"]]
    # The digest of the code is part of a run's key: another library of that name is another law.
    with (tmp_path / "libreno.so").open("ab") as file:
        file.write(b"0")
    assert "1 of them done now" in aqmlab(*sweep, "swept", "--resume").stdout
    # What a folder holds loads no code.
    for again in (("sweep", "swept/experiment.toml", "--dry-run"), ("bundle", "swept")):
        done = aqmlab(*again)
        assert done.returncode == 2
        assert "--cc FILE loads your own" in done.stderr
    done = aqmlab("sweep", "e.toml", "--law", library, "--out", "far", "--executor", "dask://127.0.0.1:9")
    assert (done.returncode, "threads of this process" in done.stderr) == (2, True)


def test_a_tune_runs_with_a_law(aqmlab: Aqmlab, library: str) -> None:
    short = [part for path, value in SHORT.items() for part in ("--set", f"{path}={value}")]
    tune = ["tune", "pi", "--scenario", "link/mix", "--objective", "min link.queue_error", "--budget", "4 runs"]
    few = ["--seeds", "1", "--held-out-seeds", "2", "--json"]
    own, ours = (aqmlab(*tune, *few, *short, "--law", law) for law in (library, "reno"))
    assert (own.returncode, ours.returncode) == (0, 0), own.stderr
    trials = [json.loads(done.stdout)["trials"] for done in (own, ours)]
    assert trials[0] == trials[1]


SCENARIO = """schema = 1
duration = "10 s"
[[links]]
name = "link"
rate = "10 Mbit/s"
buffer = "50 packets"
[[flows]]
name = "bulk"
count = 4
rtt = "40 ms"
tcp = "{law}"
"""


def test_a_law_that_the_studio_is_started_with_plays_there(library: str, tmp_path: Path) -> None:
    """In its catalogue, in a scenario that a browser sends, and frame for frame as ours."""
    with serving("--law", str(tmp_path / library)) as server:
        server.enter()
        assert "c-reno" in [law["name"] for law in server.json("/api/catalogue")["tcps"]]
        with tab(server) as browser:
            rows = []
            for law in ("c-reno", "reno", "cubic"):
                browser.frames.clear()
                assert browser.open(SCENARIO.format(law=law), ["droptail"])["groups"][0]["law"] == law
                assert browser.play_to(5)["now"] >= 5
                rows.append(np.concatenate([frame.rows for frame in browser.frames if len(frame.rows)])[:40])
    own, reno, cubic = rows
    assert np.array_equal(own, reno, equal_nan=True)
    assert not np.array_equal(own, cubic, equal_nan=True)


@pytest.mark.parametrize(
    ("law", "why"),
    [
        ("./nowhere.so", "no such file"),
        ("nowhere.py", "no such file; expected a name (aqmlab list ccs)"),
        ("empty.py", "no controller in it"),
        ("cubik", 'did you mean "cubic"'),
        ("./empty.py.so", "cannot be loaded"),
    ],
)
def test_what_is_no_law_is_refused(law: str, why: str, aqmlab: Aqmlab, tmp_path: Path) -> None:
    for name in ("empty.py", "empty.py.so"):
        (tmp_path / name).write_text("nothing = 0\n", encoding="utf-8")
    done = aqmlab("run", "link/mix", "--cc", law)
    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_no_scenario_loads_code(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import aqmlab\nraise SystemExit('loaded')\n", encoding="utf-8")
    for value in ("bad.py", "./libbad.so"):
        done = aqmlab("run", "link/mix", "--set", f"flows.*.tcp.congestion_control={value}")
        assert done.returncode == 2
        assert "unknown choice" in done.stderr
        assert "loaded" not in done.stderr


def test_the_example_with_asyncio_repeats() -> None:
    run = [sys.executable, ROOT / "examples/line_asyncio.py"]
    first, second = (subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == second
    assert first.count("of 3000 answered") == 3


def test_a_class_defined_after_a_look_at_the_catalogue_is_found() -> None:
    names = {law.name for law in aqmlab.catalogue.laws()}

    class DefinedLate(aqmlab.CongestionControl):
        """A controller that a notebook defines after its first comparison."""

    assert DefinedLate.name not in names
    assert DefinedLate.name in {law.name for law in aqmlab.catalogue.laws()}
