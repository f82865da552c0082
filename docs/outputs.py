"""Write what the examples of the documents print below them: `python docs/outputs.py [--quick] [PAGE...]`.

In a block `console` the lines below a command are what it prints. A block `text` directly after a block `console` or
`python` is what its last command, or its program, prints. tests/test_docs.py runs every example and compares:

- `...` alone on a line replaces lines that are left out; as the only line it becomes the first lines.
- `…` replaces what varies between two runs or two machines, as MASKS says. Results do not vary.
- `<!-- output: KIND -->` before a block excuses its commands without output; KINDS says when.

The lines of a command that fails are its message. `--quick` leaves examples out that only `make nightly` runs.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
"""Without the pages in folders, which docs/generate.py writes."""

WIDTH = 94
"""Columns of an output: what a page of the site has room for."""

LONGEST, SHORTEST = 18, 8
"""Lines: a longer output is cut at a blank line between the two, if there is one."""

CUT = "..."

KINDS = {
    "varies": "depends on the machine, its network or the clock; the lines that are shown are an example",
    "text": "is long, or has no more than the text or the table next to the block",
    "like": "has the form of an output on the same page, or on the page that the text links",
    "files": "is not the purpose of the command, which writes files",
}
"""Why a block shows no output of a command."""

MASKS = {
    r"^[\d,]+ events in [\d.]+ s$": "… events in … s",
    r"^[\d,]+ runs in [\d,]+ s$": "… runs in … s",
    r"[\d.]+ s in total, [\d.]+ s in the simulator": "… s in total, … s in the simulator",
    r"\baqmlab \d+\.\d+\.\d+[^\s,;]*": "aqmlab …",
    r"(?<=  version = \{)\d+\.\d+\.\d+[^}]*": "…",
    r"(?<= files, )[\d,]+(?= bytes$)": "…",
}
"""What varies, and what replaces it: the cost of a run, the version, the size of a file; also the folder."""

PROPERTY = "printed"
"""The property of a test's report that contains an example and what it printed."""

BLOCKS = re.compile(
    r"^(?P<mark><!-- output: (?P<kind>[\w-]+) -->\n+)?"
    r"```(?P<language>console|python)\n(?P<source>.*?)^```$"
    r"(?:\n\n```text\n(?P<below>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Example:
    """A command or a program, and what the page shows of its output."""

    code: str
    shown: str
    kind: str | None

    def updated(self, printed: str) -> str:
        """Return what the page shows after a run that printed this: the same, unless it is stale."""
        if self.kind == "varies" or (self.kind and not self.shown):
            return self.shown
        return cut(self.shown, printed)


def normalised(text: str, folder: Path) -> str:
    """Return an output in this folder as a page shows it: with single blank lines, and what varies replaced."""
    text = text.replace(str(folder), "…")
    for pattern, replacement in MASKS.items():
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    text = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", f"{text}\n") if text else ""


def cut(shown: str, printed: str) -> str:
    """Return the lines of an output that a page shows, in the form in which it shows them now."""
    lines = printed.splitlines()
    if shown in ("", f"{CUT}\n"):
        return printed if len(lines) <= LONGEST else "\n".join([*beginning(lines), CUT, ""])
    parts = [part.splitlines() for part in re.split(rf"^{re.escape(CUT)}\n", shown, flags=re.MULTILINE)]
    if len(parts) == 1:
        return printed
    first, *middle, last = parts
    found = [lines[: len(first)]]
    begin = len(first)
    for part in middle:
        begin = nearest(part, lines, begin)
        found.append(lines[begin : begin + len(part)])
        begin += len(part)
    found.append(lines[max(begin, len(lines) - len(last)) :] if last else [])
    return f"{CUT}\n".join("".join(f"{line}\n" for line in part) for part in found)


def beginning(lines: list[str]) -> list[str]:
    """Return the first lines of a long output, up to the end of a paragraph or table; not a heading of few words."""
    ends = [i for i in range(SHORTEST, LONGEST) if not lines[i] and (lines[i - 2] or len(lines[i - 1].split()) > 4)]
    return lines[: max(ends, default=LONGEST - 1)]


def nearest(part: list[str], lines: list[str], begin: int) -> int:
    """Return where the lines of a part are, or else those that resemble it most, numbers aside."""
    starts = range(begin, max(begin, len(lines) - len(part)) + 1)
    for i in starts:
        if lines[i : i + len(part)] == part:
            return i
    old = shape(part)
    return max(starts, key=lambda i: SequenceMatcher(None, old, shape(lines[i : i + len(part)]), False).ratio())


def shape(lines: Iterable[str]) -> str:
    """Return lines without their numbers and without the width of their columns."""
    return "\n".join(re.sub(r"[\d.]+", "0", re.sub(r"\s+|─+", " ", line)) for line in lines)


def examples(text: str) -> Iterator[Example]:
    """Yield the examples of a page in order."""
    for block in BLOCKS.finditer(text):
        yield from in_block(block)


def in_block(block: re.Match[str]) -> list[Example]:
    """Return the examples of a block: its commands, or its program."""
    if block["language"] == "python":
        return [Example(block["source"], block["below"] or "", block["kind"])]
    _, *parts = re.split(r"^\$ (.*)\n", block["source"], flags=re.MULTILINE)
    outputs = [f"{lines}\n" if (lines := part.rstrip("\n")) else "" for part in parts[1::2]]
    found = [Example(code, shown, block["kind"]) for code, shown in zip(parts[::2], outputs, strict=True)]
    if block["below"] is not None and found:
        found[-1] = Example(found[-1].code, block["below"], block["kind"])
    return found


def rewritten(text: str, printed: Mapping[str, str]) -> str:
    """Return a page with the outputs of these examples."""
    return BLOCKS.sub(lambda block: block_with(block, printed), text)


def block_with(block: re.Match[str], printed: Mapping[str, str]) -> str:
    """Return a block with the outputs of its examples, where they were run; a blank line ends all but the last."""
    found = in_block(block)
    shown = [each.updated(printed[each.code]) if each.code in printed else each.shown for each in found]
    apart = block["language"] == "python" or block["below"] is not None
    below = shown[-1] if apart else ""
    source = block["source"]
    if block["language"] == "console":
        within = [*shown[:-1], "" if apart else shown[-1]]
        parts = [f"$ {each.code}\n{lines}" for each, lines in zip(found, within, strict=True)]
        source = "".join(f"{part}\n" if lines else part for part, lines in zip(parts[:-1], within[:-1], strict=True))
        source += parts[-1]
    fence = f"{block['mark'] or ''}```{block['language']}\n{source}```"
    return f"{fence}\n\n```text\n{below}```" if below or block["below"] is not None else fence


class Recorder:
    """Selects the tests that run the examples of some pages, and writes what each prints when it is done."""

    def __init__(self, pages: Iterable[Path]) -> None:
        self.pages = [*pages]
        self.codes = {each.code for page in pages for each in examples(page.read_text(encoding="utf-8"))}
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Leave the tests of these pages' examples."""
        items[:] = [
            item for item in items if "record_property" in item.fixturenames and self.wants(item.callspec.params)
        ]

    def wants(self, parameters: Mapping[str, object]) -> bool:
        """Say whether a test with these parameters runs an example of the pages."""
        return parameters["command"] in self.codes if "command" in parameters else parameters["page"] in self.pages

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write what an example has printed; without any, its test has failed for another reason."""
        printed = [value for name, value in report.user_properties if name == PROPERTY]
        if report.when == "call":
            write(dict(printed))  # type: ignore[arg-type]
        if report.failed and not printed:
            self.failed.append(report.longreprtext)


def write(printed: Mapping[str, str]) -> None:
    """Write the outputs of these examples into all pages that show them."""
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        if (new := rewritten(old, printed)) != old:
            page.write_text(new, encoding="utf-8")
            print(f"\nWrote {page.relative_to(ROOT)}")


def main(arguments: list[str]) -> None:
    """Run the examples of the pages, write what they print, and end with the failures."""
    quick = arguments[:1] == ["--quick"]
    recorder = Recorder([Path(name).resolve() for name in arguments[quick:]] or PAGES)
    marks = "not nightly" if quick else "not soak"
    options = ["-q", "--tb=no", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-o", "addopts=", "-m", marks]
    pytest.main([*options, str(ROOT / "tests" / "test_docs.py")], plugins=[recorder])
    sys.exit("\n\n".join(recorder.failed) or None)


if __name__ == "__main__":
    main(sys.argv[1:])
