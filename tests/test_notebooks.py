"""The notebooks: stored without results, and what they do works; each cell shows something short."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))
PAGE = Path(__file__).parent.parent / "docs" / "simulation.md"
MOST_SHOWN = 30_000
"""Characters that a cell may show, pictures aside."""

RUNNER = """
import ast, json, sys

names = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] != "code":
        continue
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, cell["id"], "exec"), names)
    if last:
        value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
        html = getattr(value, "_repr_html_", None)
        print("SHOWN", json.dumps([cell["id"], len(repr(value)), len(html() or "") if html else 0]))
"""
"""What a notebook's kernel does, without one: the cells in order, and the value of the last line of each is shown."""


def cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return found


def test_the_page_lists_the_notebooks() -> None:
    assert NOTEBOOKS
    for notebook in NOTEBOOKS:
        assert f"`{notebook.name}`" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_results(notebook: Path) -> None:
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    code = [cell for cell in cells(notebook) if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    names = [cell["id"] for cell in cells(notebook)]
    assert len(set(names)) == len(names)


@pytest.mark.nightly
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_little(notebook: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, notebook],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    shown = [json.loads(line.removeprefix("SHOWN ")) for line in done.stdout.splitlines() if line.startswith("SHOWN ")]
    assert shown
    for cell, text, html in shown:
        assert text < MOST_SHOWN, f"{cell}: {text} characters of text"
        assert html < MOST_SHOWN, f"{cell}: {html} characters of HTML"
