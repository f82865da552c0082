"""Who may import whom: arrows point one way, without circles, and heavy packages stay out of the way."""

import ast
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TypeGuard

import aqmlab
from conftest import COMMAND

PACKAGE = Path(aqmlab.__file__).parent

ARROWS = {
    "cli": {
        *(
            "exercise",
            "studio",
            "bundle",
            "present",
            "study",
            "advise",
            "fit",
            "tune",
            "worst",
            "analysis",
            "doctor",
            "gym",
            "runs",
            "tc",
            "kernel",
        ),
        "top",
    },
    "exercise": {"top"},
    "studio": {"exercise", "present", "study", "runs", "top"},
    "bundle": {"present", "study", "runs", "top"},
    "present": {"study", "advise", "fit", "tune", "worst", "analysis", "runs", "top"},
    "study": {"analysis", "runs", "top"},
    "advise": {"runs", "tc", "top"},
    "fit": {"runs", "top"},
    "tune": {"analysis", "runs", "top"},
    "worst": {"tune", "kernel", "runs", "top"},
    "analysis": {"runs", "top"},
    "doctor": {"runs", "kernel", "top"},
    "gym": {"top"},
    "kernel": {"top"},
    "runs": {"control", "kernel", "tc", "top"},
    "control": {"top"},
    "tc": {"top"},
    "top": set[str](),
}
"""What the files of each folder may import besides each other; "top" are the files of the package itself."""

HEAVY = {
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "plotly",
    "control",
    "jinja2",
    "pyarrow",
    "distributed",
    "gymnasium",
    "optuna",
    "torch",
    "starlette",
    "uvicorn",
}


def modules() -> dict[str, Path]:
    """The package's files by the name of their module."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: path for name, path in found.items() if name}


def folder(module: str) -> str:
    """The folder that a module is in."""
    first = "cli" if module == "__main__" else module.partition(".")[0]
    return first if (PACKAGE / first).is_dir() else "top"


def imports(path: Path, known: set[str]) -> set[str]:
    """Return the modules of the package a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "aqmlab":
            base = (node.module or "").removeprefix("aqmlab").removeprefix(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                found.add(inner if inner in known else base)
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("aqmlab.") for alias in node.names if alias.name.startswith("aqmlab.")}
    return found - {"_core", ""}


def test_arrows_point_one_way() -> None:
    known = modules()
    for module, path in known.items():
        for target in imports(path, set(known)):
            source, other = folder(module), folder(target)
            assert source == other or other in ARROWS[source], f"{module} imports {target}"


def test_files_import_each_other_in_no_circle() -> None:
    known = modules()
    arrows = {module: imports(path, set(known)) - {module} for module, path in known.items()}
    assert len(list(TopologicalSorter(arrows).static_order())) >= len(known)  # CycleError names the circle


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


LIGHT = {
    "aqmlab",
    "_core",
    "cli",
    "files",
    "names",
    "problems",
    "quantities",
    "runs",
    "scenario",
    "extras",
    "untrusted",
}
"""The modules of the package that the command line may load before it knows which command is wanted."""


def test_help_loads_the_command_line_only() -> None:
    program = (
        "import sys; from aqmlab.cli import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "reproduce" in answer.stdout
    loaded = answer.stderr.split()
    inner = {name.removeprefix("aqmlab.") for name in loaded if name.partition(".")[0] == "aqmlab"}
    assert {name for name in inner if not name.startswith("cli.")} <= LIGHT
    assert not (HEAVY | {"asyncio", "concurrent", "rich", "statistics"}) & set(loaded)


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


def test_public_classes_have_names_of_their_own() -> None:
    """One word, one thing: a name in a message or a report leads to one class."""
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in modules().items()}
    found = [(node.name, module) for module, tree in trees.items() for node in ast.walk(tree) if is_public_class(node)]
    twice = {name for name, n in Counter(name for name, _ in found).items() if n > 1}
    assert [each for each in sorted(found) if each[0] in twice] == []


def is_public_class(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef) and not node.name.startswith("_")


def test_docstrings_say_what_a_thing_is() -> None:
    """Their first word is a noun or a verb: none that asks."""
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in modules().items()}
    found = [(module, text) for module, tree in trees.items() for text in docstrings(tree)]
    asking = {"How", "What", "When", "Where", "Whether", "Which", "Whose", "Why"}
    assert [each for each in found if each[1].split()[0] in asking] == []


def docstrings(tree: ast.Module) -> list[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [text for node in ast.walk(tree) if isinstance(node, kinds) and (text := ast.get_docstring(node))]
