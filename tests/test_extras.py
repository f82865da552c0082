"""What `pip install aqmlab` leaves out: nothing that run, compare and plot need, and says how to get the rest."""

import ast
import importlib.metadata
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import aqmlab
from aqmlab import extras
from aqmlab.doctor.machine import REFERENCE

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names(requirements: list[str]) -> set[str]:
    """The packages by the names under which they are imported."""
    packages = {re.split(r"[<>=; \[]", line)[0] for line in requirements}
    return {{"markdown-it-py": "markdown_it"}.get(package, package) for package in packages}


BASE = names(PROJECT["dependencies"])
EXTRAS = {extra: names(lines) for extra, lines in PROJECT["optional-dependencies"].items()}
USERS = set().union(*(found for extra, found in EXTRAS.items() if extra not in extras.FOR_DEVELOPERS)) - BASE
ELSEWHERE = {"IPython", "stable_baselines3", "torch"}
"""What a notebook has anyway, and what `make train` installs."""


def without_extras(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line as if no extra were installed."""
    line = ["aqmlab", *arguments]
    return python_without_extras(folder, f"import sys; sys.argv = {line!r}; from aqmlab.cli import main; main()")


def python_without_extras(folder: Path, program: str) -> "subprocess.CompletedProcess[str]":
    """Run Python as if no extra were installed."""
    absent = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(name, path=None, target=None):\n"
        f"        if name in {USERS!r}: raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)\n"
        "sys.meta_path.insert(0, Absent)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", absent + program], capture_output=True, text=True, check=False, cwd=folder
    )


def test_every_package_that_is_imported_is_required_somewhere() -> None:
    imported: set[str] = set()
    for path in Path(aqmlab.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    others = imported - set(sys.stdlib_module_names) - {"aqmlab", "tomllib", "_typeshed"}  # the last is for types only
    assert others <= BASE | USERS | ELSEWHERE


@pytest.mark.parametrize(
    "line",
    [
        "list",
        "show pi",
        "run SMALL --aqm pi --out ran",
        "run SMALL --aqm pi --trace packets.parquet",
        "compare SMALL --aqms pi,droptail --seeds 2",
        "sweep e.toml --out swept",
        "plot SWEPT ranking --out ranking.pdf",
        "report SWEPT --format markdown",
        "tc fq-codel --rate 50Mbit/s",
        "live --help",
    ],
)
def test_run_compare_and_plot_need_no_extra(line: str, folder: Path, swept: Path, small: str) -> None:
    done = without_extras(folder, *line.replace("SMALL", small).replace("SWEPT", str(swept)).split())
    assert done.returncode == 0, done.stderr


def test_what_the_help_begins_with_needs_no_extra(folder: Path) -> None:
    [line] = re.findall(r"Begin with: aqmlab (.*)", without_extras(folder, "--help").stdout)
    done = without_extras(folder, *line.split(), "--set", "duration=2s")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("report SWEPT", "reports"),
        ("compare SMALL --aqms pi --out report", "reports"),
        ("card cubic --only 7.4 --out report", "reports"),
        ("analyse pi --rate 45Mbit/s --rtt 80ms --flows 60", "reports"),
        ("tune pi --scenario SMALL --objective 'min link.queue_mean' --budget '10 runs'", "tune"),
        ("sweep e.toml --out swept --executor dask://localhost:1", "dask"),
        ("studio --no-browser", "studio"),
        ("bundle SWEPT --out results.zip", "reports"),
    ],
)
def test_what_is_missing_is_said_with_the_line_that_installs_it(
    line: str, extra: str, folder: Path, swept: Path, small: str
) -> None:
    done = without_extras(folder, *shlex.split(line.replace("SMALL", small).replace("SWEPT", str(swept))))
    assert done.returncode == 1
    told = rf"Error: \w+ is not installed: {re.escape(extras.install(extra))}"
    assert re.fullmatch(told, done.stderr.splitlines()[-1])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("statement", "extra"),
    [
        ("aqmlab.analyse('pi', rate='45 Mbit/s', rtt='80 ms', flows=60)", "reports"),
        ("aqmlab.compare(SMALL, 'pi').measured.frame()", "reports"),
        ("aqmlab.load_experiment(SWEPT)", "reports"),
        ("aqmlab.load_series(SWEPT)", "reports"),
        ("aqmlab.load_delays(SWEPT)", "reports"),
        ("aqmlab.sweep('e.toml', 'swept', executor='dask://localhost:1')", "dask"),
        (
            "from aqmlab.tune.plan import plan; import aqmlab.tune.result as found; "
            "found.tune(plan('pi', [SMALL], ['min link.queue_mean'], budget='10 runs'))",
            "tune",
        ),
        ("from aqmlab.gym.env import AqmEnv", "gym"),
        ("from aqmlab.gym.vector import AqmVectorEnv", "gym"),
        ("from aqmlab.studio.app import Studio", "studio"),
        ("from aqmlab.studio.serve import listen", "studio"),
    ],
)
def test_python_too_is_told_which_extra_is_missing(
    statement: str, extra: str, folder: Path, swept: Path, small: str
) -> None:
    done = python_without_extras(folder, f"SMALL, SWEPT = {small!r}, {str(swept)!r}; import aqmlab; {statement}")
    told = rf"aqmlab\.extras\.MissingExtraError: \w+ is not installed: {re.escape(extras.install(extra))}"
    assert re.fullmatch(told, done.stderr.splitlines()[-1])


BEFORE_WORK = (
    "import os\n"
    "from aqmlab import _core\n"
    "def work(*_): os.write(2, b'simulated first'); os._exit(9)\n"
    "_core.run = work\n"
)
"""Nothing is simulated that a missing package would lose."""


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("compare SMALL --aqms pi --seeds 30 --out report", "reports"),
        ("compare --study rfc7928 --aqms pie --out report", "reports"),
        ("card cubic --out report", "reports"),
        ("reproduce li2014 --table 1 --out report", "reports"),
        ("bundle li2014 --table 1", "reports"),
        ("bundle e.toml --out b.zip", "reports"),
        ("analyse pi --scenario SMALL", "reports"),
        ("tune pi --scenario SMALL --objective 'min link.queue_mean' --out tuned", "reports"),
        ("tune pi --scenario SMALL --objective 'min link.queue_mean'", "tune"),
        ("tune --tournament --out tuned", "reports"),
        ("tune --tournament", "tune"),
    ],
)
def test_what_is_missing_is_noticed_before_the_work(line: str, extra: str, folder: Path, small: str) -> None:
    before = set(folder.iterdir())
    typed = ["aqmlab", *shlex.split(line.replace("SMALL", small))]
    program = f"import sys; sys.argv = {typed!r}; from aqmlab.cli import main; main()"
    done = python_without_extras(folder, BEFORE_WORK + program)
    assert done.returncode == 1
    assert "simulated first" not in done.stderr
    assert f"is not installed: {extras.install(extra)}" in done.stderr
    assert set(folder.iterdir()) == before, "nothing half done is left"


def test_tables_are_read_without_pandas_too(folder: Path, small: str) -> None:
    program = (
        f"import aqmlab; compared = aqmlab.compare({small!r}, 'pi,red', 2); table = compared.table()\n"
        "print(table); print(compared.table(wanted=['total.goodput']))\n"
        "print(aqmlab.reproduce('li2014', tables=['1']).table())"
    )
    done = python_without_extras(folder, program)
    assert done.stderr == ""
    assert re.search(r"^aqm +pi +red$", done.stdout, re.MULTILINE)
    assert re.search(r"^bottleneck: Queue mean.* [\d.]+ ±\s[\d.]+ +[\d.]+ ±\s[\d.]+$", done.stdout, re.MULTILINE)
    assert re.search(r"^pi +[\d.]+ ±\s[\d.]+$", done.stdout, re.MULTILINE)
    assert re.search(r"^1 +pi +queue_mean +packets", done.stdout, re.MULTILINE)


def test_what_of_a_package_needs_no_extra_works_without(folder: Path) -> None:
    program = (
        "from aqmlab import gym, studio, tune\n"
        "from aqmlab.gym.policy import export\n"
        "from aqmlab.studio.lessons import lessons\n"
        "from aqmlab.tune.plan import plan\n"
        "print(lessons()[0].id)"
    )
    done = python_without_extras(folder, program)
    assert (done.stdout, done.stderr) == ("01-bufferbloat\n", "")


def test_another_missing_module_stays_a_fault() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such'$") as raised, extras.required():
        import no_such  # noqa: F401
    assert type(raised.value) is ModuleNotFoundError


def test_the_pages_list_every_extra_and_what_it_brings() -> None:
    wanted = {extra: packages for extra, packages in EXTRAS.items() if extra not in extras.FOR_DEVELOPERS}
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", (ROOT / "docs" / "install.md").read_text("utf-8"), re.MULTILINE)
    assert {extra: set(brings.split(", ")) for extra, brings in rows} == wanted


def test_absent_extras_are_those_that_lack_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=1", "typer; extra == 'here'", 'numpy>=1; extra == "half"', 'no-such; extra == "half"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: lines)
    assert extras.extras() == {"here": ["typer"], "half": ["numpy", "no-such"]}
    assert extras.absent() == {"half": ["no-such"]}
    assert extras.advice(ModuleNotFoundError(name="no-such.part")) == (
        f"{sys.executable} -m pip install 'numpy>=1' no-such"
    )
    assert extras.advice(ModuleNotFoundError(name="other")) is None


def test_the_reference_of_doctor_is_that_of_the_page() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    [packets] = re.findall(r"PI in Table 1, one core \|[^|]*\| ([\d.]+) million", page)
    assert float(packets) * 1e6 == pytest.approx(REFERENCE, rel=0.2)
