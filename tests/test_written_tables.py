"""The tables that pages repeat from the code: options of commands, files of crates, of Python and of the studio."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import pytest
import typer

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module", autouse=True)
def _path() -> None:
    sys.path.insert(0, str(ROOT / "docs"))


def module(name: str) -> ModuleType:
    """A module of docs/."""
    return importlib.import_module(name)


def test_the_commands_page_has_the_options_that_are_declared() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert module("options").page(text) == text


def test_every_readme_lists_the_files_that_there_are() -> None:
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in module("source_map").pages().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "out of date: make docs"


def test_a_row_of_an_option_has_its_value_and_default() -> None:
    app = typer.Typer()

    @app.command()
    def command(
        name: Annotated[str, typer.Argument(metavar="NAME", help="A name, with *.")],
        size: Annotated[str | None, typer.Option(metavar="B", help="Size; default: all. See --to.")] = None,
        to: Annotated[str, typer.Option(help="Goal.")] = "here",
        loud: Annotated[bool, typer.Option("--loud/--quiet", help="Make noise.")] = True,
        hidden: Annotated[bool, typer.Option("--hidden", hidden=True)] = False,
    ) -> None:
        pass

    assert module("options").options(typer.main.get_command(app)).splitlines()[2:6] == [
        r"| `NAME` |  | required | A name, with \*. |",
        "| `--size` | `B` | all | Size. See `--to`. |",
        "| `--to` | `TEXT` | `here` | Goal. |",
        "| `--loud`, `--quiet` |  | `--loud` | Make noise. |",
    ]


def test_a_page_without_the_marks_of_a_table_is_an_error() -> None:
    between = module("marks").between
    marked = "a\n<!-- x: written by `make docs` -->\nold\n<!-- end of x -->\nb\n"
    assert between(marked, "x", "new") == marked.replace("old", "\nnew\n")
    for text in ("", marked.replace("end of x", "end of y"), marked.replace("x:", "y:")):
        with pytest.raises(ValueError, match="no marks"):
            between(text, "x", "new")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("The first: of two. The second.", "The first: of two."),
        ("Gains (Xiong et al. 2010)\nthat hold.\n\nMore.", "Gains (Xiong et al. 2010) that hold."),
        ("Functions of [`Line`](line::Line) and [`Path`]; no more:", "Functions of `Line` and `Path`; no more."),
    ],
)
def test_a_file_is_described_by_its_first_sentence(text: str, sentence: str) -> None:
    assert module("source_map").first_sentence(text) == sentence


def test_links_of_the_readmes_lead_somewhere() -> None:
    pages = [*ROOT.glob("crates/*/README.md"), ROOT / "python/README.md", ROOT / "studio/README.md"]
    for page in [*pages, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_paths_that_contributing_names_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:crates|docs|python|studio|tests|validation|packaging|examples)/[\w/.-]+)`", text))
    made_up = re.compile(r"NAME|my_|my-|/NN-|\bNAME\b")
    assert len(named) > 20
    assert [path for path in sorted(named) if not made_up.search(path) and not (ROOT / path).exists()] == []
