"""Every example of the documentation runs, and the generated pages are up to date."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import aqmlab
from conftest import forked, forked_program, live_fault, virtual_fault

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))
import outputs

ROOT = Path(__file__).parent.parent
PAGES = [*outputs.PAGES, *sorted((ROOT / "docs" / "lessons").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def commands() -> list[tuple[Path, str]]:
    """Every `$ aqmlab ...` line, with the first page that has it."""
    found: dict[str, Path] = {}
    for page in PAGES:
        for block in blocks(page, "console"):
            for line in block.splitlines():
                if line.startswith("$ "):
                    found.setdefault(line[2:], page)
    return [(page, line) for line, page in found.items()]


SHOWN = [(page, each) for page in outputs.PAGES for each in outputs.examples(page.read_text(encoding="utf-8"))]
"""Every example with its output, as often as pages have it."""

Record = Callable[[str, object], None]


def hold_to_pages(printed: Sequence[tuple[str, str]], folder: Path, record: Record) -> None:
    """Compare what examples have printed in a folder with the pages that show it, and leave it for docs/outputs.py."""
    found = [(code, outputs.normalised(text, folder)) for code, text in printed]
    for each in found:
        record(outputs.PROPERTY, each)
    for code, text in found:
        for page, example in SHOWN:
            if example.code == code:
                name = page.relative_to(ROOT)
                assert example.shown == example.updated(text), f"{name} is stale: python docs/outputs.py {name}"


LONG = {
    "advise.md",
    "artefacts.md",
    "boudi.md",
    "boudi-evidence.md",
    "jafar.md",
    "lessons",
    "li2014.md",
    "li2014-evidence.md",
    "sun2007.md",
    "tuned.md",
    "xiong2010.md",
    "xiong2010-evidence.md",
}
"""Pages and folders whose commands take long, and do what other tests do in little."""

LENGTHY = re.compile(
    r"--map|tune pi --parameters|sensitivity|compare boudi/high-10|droptail,codel,fq-codel,cake$"
    r"|20Mbit/s --rtt 50ms --flows|k_p=2e-10|plot loads all|response reno|sixty\.toml --out|LocalCluster"
    r"|(verify|bundle|reproduce) sun2007|compare li2014/table-5 --aqms rem,iapi"
    r"|--study (bbr-docsis|bbr-draft|bbr-questions|bursts|cake-mq|fq-memory|libreqos|marking|slow-start)\b"
    r"|--preset lte|leaf-spine-1k --aqm|home --down .* --out line$|--out line   # exit|slides measure --against"
)
"""What in an example takes long on pages whose other examples do not."""


def marked(page: Path, command: str) -> Any:
    """An example; those that take long run at night."""
    takes_long = {page.name, page.parent.name} & LONG or LENGTHY.search(command)
    marks = [pytest.mark.nightly] if takes_long else []
    return pytest.param(page, command, marks=[*marks, pytest.mark.soak] if "--tournament" in command else marks)


def show(folder: Path) -> Path:
    """Fill a folder with the files that the pages show: blocks whose first line names one."""
    for page in PAGES:
        for block in [*blocks(page, "toml"), *blocks(page, "python")]:
            if named := re.match(r"# (\S+\.(?:toml|py))\n", block):
                (folder / named[1]).write_text(block, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the sweep of docs/sweeps.md leaves, for the pages that go on from there."""
    folder = show(tmp_path_factory.mktemp("sweep"))
    aqmlab.sweep(folder / "gains.toml", folder / "results")
    return folder / "results"


def furnish(folder: Path, page: Path, results: Path) -> Path:
    """Fill a folder with the files that the pages show; results/ is there unless the page makes it."""
    examples = "".join([*blocks(page, "console"), *blocks(page, "python")])
    if not re.search(r"\bgains\.toml\b.*\bresults\b", examples):
        shutil.copytree(results, folder / "results")
    return show(folder)


@pytest.fixture
def folder(tmp_path: Path, page: Path, results: Path) -> Path:
    """A folder for the examples of a page."""
    return furnish(tmp_path, page, results)


def maker(page: Path, arguments: Sequence[str], expected: int) -> str | None:
    """The command of a page that makes the file or folder that another reads, or is refused because of."""
    if arguments[0] in {"plot", "report", "verify"}:
        read = arguments[1]
    elif expected and "--out" in arguments:
        read = arguments[arguments.index("--out") + 1]
    else:
        return None
    made = re.search(rf"^\$ aqmlab (.* --out {re.escape(read)})$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return made[1] if made else None


@pytest.fixture(scope="session")
def makers(tmp_path_factory: pytest.TempPathFactory, results: Path) -> Callable[[Path, str], Path]:
    """Run a command of a page that others go on from once, in a folder that others copy."""

    @cache
    def left(page: Path, command: str) -> Path:
        folder = furnish(tmp_path_factory.mktemp("made"), page, results)
        forked(folder, *shlex.split(command))
        return folder

    return left


@pytest.mark.parametrize(
    ("page", "command"),
    [marked(*each) for each in commands()],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_commands_do_what_the_page_says(
    page: Path,
    command: str,
    folder: Path,
    makers: Callable[[Path, str], Path],
    monkeypatch: pytest.MonkeyPatch,
    record_property: Record,
) -> None:
    monkeypatch.setenv("COLUMNS", str(outputs.WIDTH))
    if command.startswith(("aqmlab live ", "aqmlab doctor")):
        missing = [program for program in ("iperf3", "ping") if program in command and not shutil.which(program)]
        if "--virtual" in command and (fault := virtual_fault()):
            pytest.skip(fault)
        if fault := live_fault() or " and ".join(f"{program} is not installed" for program in missing):
            pytest.skip(fault)
    line, _, comment = command.partition("   # ")
    expected = int(comment.removeprefix("exit code ")) if comment else 0
    program, *arguments = shlex.split(line)
    assert program == "aqmlab"
    if made := maker(page, arguments, expected):
        shutil.copytree(makers(page, made), folder, dirs_exist_ok=True)
    done = forked(folder, *arguments)
    assert done.returncode == expected, done.stderr
    assert "Traceback" not in done.stderr
    printed = done.stdout + done.stderr if expected else done.stdout
    hold_to_pages([(command, printed)], folder, record_property)


def with_programs() -> list[Any]:
    """Every page that has Python; those whose programs take long run at night."""
    found = [(page, "".join(blocks(page, "python"))) for page in PAGES]
    return [
        pytest.param(page, marks=pytest.mark.nightly if LENGTHY.search(programs) else ())
        for page, programs in found
        if programs
    ]


@pytest.mark.parametrize("page", with_programs(), ids=lambda page: page.name)
def test_python_examples_run(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    monkeypatch.setenv("COLUMNS", str(outputs.WIDTH))
    printed = []
    for block in blocks(page, "python"):
        done = forked_program(folder, block)
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        printed.append((block, done.stdout))
    hold_to_pages(printed, folder, record_property)


EXTRAS = {
    "reports": r"aqmlab (analyse|bundle|report (?!.*--format)|(compare|reproduce|tune) (?!.*--sensitivity).*--out)"
    r"|\bpandas\b|\.frame\(\)|\bload_\w+\(|aqmlab\.(analyse|bundle|gain_ranges)",
    "studio": r"aqmlab studio",
    "tune": r"aqmlab tune|aqmlab\.tune",
    "gym": r"gymnasium",
    "dask": r"distributed",
}
"""What in an example needs each extra."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_the_extras_that_its_examples_need(page: Path) -> None:
    shown = "\n".join(block for language in ("console", "sh", "bash", "python") for block in blocks(page, language))
    text = page.read_text(encoding="utf-8")
    needed = [extra for extra, pattern in EXTRAS.items() if re.search(pattern, shown)]
    said = [rf"\bextras?\b[^.]{{0,40}}`{extra}`|aqmlab[^\s\[]*\[[\w,]*{extra}" for extra in needed]
    assert [extra for extra, saying in zip(needed, said, strict=True) if not re.search(saying, text)] == []


def test_a_file_in_an_example_is_on_its_page_or_on_one_that_it_links() -> None:
    files: dict[str, list[Path]] = {}
    for page in PAGES:
        for block in [*blocks(page, "toml"), *blocks(page, "python")]:
            if named := re.match(r"# (\S+\.(?:toml|py))\n", block):
                files.setdefault(named[1], []).append(page)
                assert block in files[named[1]][0].read_text(encoding="utf-8"), f"{page.name}: another {named[1]}"
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = "\n".join(block for language in ("console", "toml", "python") for block in blocks(page, language))
        for name, homes in files.items():
            if re.search(rf"(?<![\w/.-]){re.escape(name)}(?!\w)", shown):
                near = page in homes or any(f"({home.name}" in text for home in homes)
                assert near, f"{page.name}: {name} is shown on {homes[0].name}"


def test_the_readme_counts_the_schemes_of_the_catalogue() -> None:
    [count] = re.findall(r"\b(\d+) schemes\b", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert int(count) == len(aqmlab.schemes())


def test_the_readme_counts_the_rows_of_ns2_that_agree() -> None:
    validation = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    counts = re.findall(r"(\d+) of (\d+) rows agree", validation)
    agree, rows = (sum(int(pair[i]) for pair in counts) for i in (0, 1))
    assert f"{agree} of {rows} rows agree" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_stays_short() -> None:
    text = BLOCK.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    prose = re.sub(r"^\|.*$|\]\([^)]*\)", "", text, flags=re.MULTILINE)
    assert len(re.findall(r"[\w'-]+", prose)) <= 450


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, *sorted((ROOT / "docs" / "schemes").glob("*.md")), ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
