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
    {"names", "metrics", "statistics", "files", "sweeps.lock", "sweeps.columns"},
    {"catalogue", "scenario", "study", "results", "stability", "traces", "sweeps.store", "sweeps.grid"},
    {"batch", "own", "suite"},
    {"comparison", "sweeps.executors"},
    {"experiments", "measured"},
    {"charts", "claims", "sweeps.plan", "sweeps.dispatch", "suite.result"},
    {"sweeps.warmup"},
    {"reproduction", "suite.text", "suite.trace", "sweeps"},
    {"plots", "sweeps.findings"},
    {"analysis", "sweeps.figures", "sweeps.tables", "pages"},
    {"sweeps.plots"},
    {"sweeps.interactive"},
    {"terminal", "report", "sweeps.report", "suite.plots"},
    {"cli_analysis", "cli_stored", "suite.report", "suite.terminal"},
    {"cli"},
]
"""From the bottom up; a module imports only from the layers below its own."""

HEAVY = {"numpy", "scipy", "pandas", "matplotlib", "plotly", "control", "jinja2", "pyarrow", "distributed"}


WHOLE = {"analysis"}
"""Packages that are one module here."""


def module_of(name: str) -> str:
    """Return the module that "aqmlab.X.Y" is in: X.Y if that is a file of a package, else X."""
    parts = name.split(".")[1:3]
    inner = len(parts) == 2 and parts[0] not in WHOLE and PACKAGE.joinpath(*parts).with_suffix(".py").exists()
    return ".".join(parts) if inner else parts[0]


def imports(path: Path) -> set[str]:
    """Return the modules of the package a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "aqmlab":
            found |= {module_of(f"{node.module}.{alias.name}") for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {module_of(alias.name) for alias in node.names if alias.name.startswith("aqmlab.")}
    return found


def files() -> dict[Path, str]:
    """The package's files, with the module that each is or belongs to."""
    paths = [*PACKAGE.glob("*.py"), *PACKAGE.glob("*/*.py")]
    names = {path: ".".join(["aqmlab", *path.relative_to(PACKAGE).with_suffix("").parts]) for path in paths}
    return {path: module_of(name) for path, name in names.items() if path.parent != PACKAGE or path.stem != "__init__"}


def test_every_module_has_a_layer() -> None:
    modules = {module.removesuffix(".__init__") for module in files().values()}
    assert modules == set().union(*LAYERS) - {"_core"}


def test_arrows_point_down() -> None:
    level = {module: number for number, layer in enumerate(LAYERS) for module in layer}
    for path, module in files().items():
        own = module.removesuffix(".__init__")
        for target in imports(path) - {own}:
            assert level[target] < level[own], f"{own} imports {target}"


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
