"""The tables of files in the READMEs of the crates, the Python sources and the studio, from the sources themselves."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from marks import between
from tables import table

ROOT = Path(__file__).parent.parent
UNLISTED = re.compile(r"/tests?[/.]|/bench\.rs$|/fuzz\.rs$|/cases\.rs$")
"""Files that only tests use."""
SENTENCE = re.compile(r"(?<!\bal)(?<!\bnet)\.\s+(?=[A-Z`])")
"""The end of a sentence."""


def pages() -> dict[Path, str]:
    """Return each README with a table of files, by its path."""
    found = {}
    for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")):
        crate = manifest.parent
        found[crate / "README.md"] = written(crate / "README.md", {"files": of_crate(crate)})
    python = {f"files of {folder}": of_python(ROOT / folder) for folder in python_folders()}
    found[ROOT / "python" / "README.md"] = written(ROOT / "python" / "README.md", python)
    studio = of_studio(ROOT / "studio" / "src")
    found[ROOT / "studio" / "README.md"] = written(ROOT / "studio" / "README.md", {"files": studio})
    return found


def written(path: Path, parts: dict[str, str]) -> str:
    """Return a page with these parts replaced."""
    text = path.read_text(encoding="utf-8")
    for name, content in parts.items():
        text = between(text, name, content)
    return text


def python_folders() -> list[str]:
    """Return the packages of `python/`, then the folders of programs."""
    packages = sorted(path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("python/aqmlab/**/__init__.py"))
    return [*packages, "validation", "docs", "benches"]


def of_crate(crate: Path) -> str:
    """Return the dependencies of a crate, and its modules with their first sentence."""
    declared = tomllib.loads((crate / "Cargo.toml").read_text(encoding="utf-8"))
    dependencies = ", ".join(f"`{entry.get('package', name)}`" for name, entry in sorted(entries(declared)))
    return f"It depends on {dependencies}.\n\n{files(crate, rust_files(crate / 'src'))}"


def entries(declared: dict[str, dict[str, object]]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the dependencies of a crate; those with a version alone have no other entry."""
    for name, entry in declared["dependencies"].items():
        yield name, entry if isinstance(entry, dict) else {}


def rust_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the modules that begin with a comment, and it; a scheme or controller begins with its page."""
    for path in sorted(folder.rglob("*.rs")):
        lines = path.read_text(encoding="utf-8").splitlines()
        count = next((i for i, line in enumerate(lines) if not line.startswith("//!")), len(lines))
        if count and not UNLISTED.search(path.as_posix()):
            yield path, "\n".join(line.removeprefix("//!").strip() for line in lines[:count])


def of_python(folder: Path) -> str:
    """Return the modules of a folder with the first sentence of their docstring."""
    return files(folder, ((path, docstring(path)) for path in sorted(folder.glob("*.py"))))


def docstring(path: Path) -> str:
    """Return the docstring of a module."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def of_studio(folder: Path) -> str:
    """Return the files of the studio with their first comment."""
    paths = sorted(folder.rglob("*.ts"))
    firsts = (path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("//").strip() for path in paths)
    return files(folder, zip(paths, firsts, strict=True))


def files(folder: Path, found: Iterable[tuple[Path, str]]) -> str:
    """Return a table of files with the first sentence about each."""
    rows = [(f"`{path.relative_to(folder).as_posix()}`", first_sentence(text)) for path, text in found]
    return table(("file", "contents"), rows)


def first_sentence(text: str) -> str:
    """Return the first sentence of a comment, as Markdown without links to the code."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence = SENTENCE.split(paragraph, maxsplit=1)[0].rstrip(".:")
    return re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", sentence).replace("*", r"\*") + "."
