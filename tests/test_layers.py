"""Who may import whom: arrows point one way, and heavy packages stay out of the way."""

import ast
import subprocess
import sys
from pathlib import Path

import aqmlab
from conftest import COMMAND

PACKAGE = Path(aqmlab.__file__).parent

LAYERS = [
    {"_core"},
    {"names", "metrics", "statistics", "files", "lock", "columns"},
    {"catalogue", "scenario", "study", "results", "stability", "traces", "store", "grid"},
    {"batch", "own", "suite"},
    {"comparison", "executors"},
    {"experiments", "measured"},
    {"charts", "claims", "plan", "dispatch", "suite_result"},
    {"warmup"},
    {"reproduction", "suite_text", "suite_trace", "sweeps"},
    {"plots", "findings"},
    {"analysis", "sweep_figures", "sweep_tables", "pages"},
    {"sweep_plots"},
    {"interactive"},
    {"terminal", "report", "sweep_report", "suite_plots"},
    {"analyse_command", "cli_stored", "suite_report", "suite_terminal"},
    {"cli"},
]
"""From the bottom up; a module imports only from the layers below its own."""

HEAVY = {"numpy", "scipy", "pandas", "matplotlib", "plotly", "control", "jinja2", "pyarrow", "distributed"}


def imports(path: Path) -> set[str]:
    """Return the modules of the package a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "aqmlab":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aqmlab."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("aqmlab.")}
    return found


def files() -> dict[Path, str]:
    """The package's files, with the module each belongs to: a package within is one module."""
    own = {path: path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    return own | {path: path.parent.name for path in PACKAGE.glob("*/*.py")}


def test_every_module_has_a_layer() -> None:
    modules = set(files().values())
    assert modules == set().union(*LAYERS) - {"_core"}


def test_arrows_point_down() -> None:
    level = {module: number for number, layer in enumerate(LAYERS) for module in layer}
    for path, module in files().items():
        for target in imports(path) - ({module} if path.parent != PACKAGE else set()):
            assert level[target] < level[module], f"{module} imports {target}"


def test_a_run_loads_no_heavy_package(small: str) -> None:
    program = (
        "import sys; from aqmlab.cli import app\n"
        f"app(['run', {small!r}, '--aqm', 'pi', '--json'], standalone_mode=False)\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert answer.stderr.strip() == "[]"


def test_a_run_is_small(small: str) -> None:
    program = (
        "import resource, subprocess\n"
        f"command = [{str(COMMAND)!r}, 'run', {small!r}, '--aqm', 'pi']\n"
        "subprocess.run(command, check=True, capture_output=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    kilobytes = int(answer.stdout) // (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 50_000


def test_importing_the_package_loads_nothing() -> None:
    program = "import aqmlab, sys; print([name for name in sys.modules if name.startswith('aqmlab.')])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
