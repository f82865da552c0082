"""Plain English: no text for users contains words or sentences of the patterns that hide a fact.

The patterns look for words in unusual roles ("has" for is, "what" as a noun), for private terms, and for sentences of
more than 35 words or four numbers. Code, links' targets and tables of numbers are no text.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

ROOT = Path(__file__).parent.parent

PATTERNS = {
    name: re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for name, pattern in {
        "has": r"\b(?:linux|ours|it|here|the page) (?:has|had)\b|CODE has\b",
        "what": r"\b(?:of|from|by|for|in|with|to) what\b|^what [^?\n]*[.:]$",
        "ours": r"\b(?:ours|theirs)\b|\bof (?:yours|its own|your own)\b",
        "beside": r"\bbeside\b",
        "behind": r"\bbehind\b(?! a nat)",
        "line": r"\b(?:a|the|your|my) line\b(?! of code)",
        "law": r"(?<!control )\blaws?\b(?! of large)",
        "that of": r"\b(?:that|those) of\b",
        "opening": r"(?:^|\. )(?:Where|With) ",
        "per": r"\beach \d|\b(?:packets|runs|times) an? (?:second|core|minute|flow)\b",
        "told": r"\b(?:told|tells)\b|\basks? for\b|\b(?:knows|sees|makes) no\b",
        "least": r"(?<!at )\b(?:least|greatest)\b",
        "stands": r"\b(?:lies|lie|stands?|goes on|go on|held against|laid beside)\b",
        "rare": r"\b(?:whoever|anew|mends?|mended|for ever|in the mean|manieth|run down|its like|sent again)\b",
    }.items()
}
REPLACED = re.compile(
    r"(?<!control )\blaws?\b(?! ?[=\]])|\b(?:sent again|Left in|beside|needless|whoever|for ever|at hand|told apart"
    r"|knows no|called so|goes? on|ours|theirs)\b"
)
"""Private terms in messages of the engine and the studio; a key of a file before `=` is none."""

WORDS, NUMBERS = 35, 4
"""Of a sentence, at most."""


def prose(markdown: str) -> str:
    """The text of a page: without code, tables, comments, targets of links; inline code is one word."""
    code = r"^```.*?^```|^\s*>>> .*?(?:\n\s*\n|\Z)"
    text = re.sub(rf"{code}|<!--.*?-->|^\|[^\n]*$|^<[^\n]*>$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]+`", "CODE", text)
    return re.sub(r"\]\([^)]*\)|\{[^}]*\}", "]", text)


def hits(text: str) -> Counter[str]:
    """The number of hits of each pattern; "long" are sentences with too many words or numbers."""
    found = Counter({name: len(pattern.findall(text)) for name, pattern in PATTERNS.items()})
    for sentence in re.split(r"(?<=[.!?:])\s|\n\s*\n|\n[-#]", text):
        numbers = re.findall(r"\b\d[\d.,]*", sentence)
        found["long"] += len(sentence.split()) > WORDS or len(numbers) > NUMBERS
    return +found


def texts() -> Iterator[tuple[str, str]]:
    """Every file with text for users: pages, and the docstrings and helps of the package; ledgers quote papers."""
    roots = ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")
    pages = [*(ROOT / f"{name}.md" for name in roots), *(ROOT / "docs").rglob("*.md")]
    pages += [*(ROOT / "crates").glob("*/README.md"), ROOT / "python" / "README.md", ROOT / "studio" / "README.md"]
    for page in pages:
        if page.parent.name != "ledgers":
            yield page.relative_to(ROOT).as_posix(), prose(page.read_text(encoding="utf-8"))
    for module in (ROOT / "python").rglob("*.py"):
        nodes = [*ast.walk(ast.parse(module.read_text(encoding="utf-8")))]
        shown = [each.value for each in nodes if isinstance(each, ast.Expr) or is_help(each)]
        strings = [each.value for each in shown if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        yield module.relative_to(ROOT).as_posix(), prose("\n\n".join(strings))


def messages() -> Iterator[tuple[str, str]]:
    """Every text in a string of the Rust crates and the studio, without tests and the names of placeholders."""
    comment, string = r"^\s*(?://|\*|/\*).*$", r'"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`'
    for source in [*(ROOT / "crates").glob("*/src/**/*.rs"), *(ROOT / "studio/src").rglob("*.ts")]:
        if source.stem != "tests" and "tests" not in source.parts:
            code, _, _ = source.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod ")
            for found in re.finditer(string, re.sub(comment, "", code, flags=re.MULTILINE), re.DOTALL):
                text = re.sub(r"\$?\{[^}]*\}", "X", found[1] or found[2] or "")
                if " " in text.strip():
                    yield source.relative_to(ROOT).as_posix(), text


def is_help(node: ast.AST) -> TypeGuard[ast.keyword]:
    """Say whether a node is the help of an option."""
    return isinstance(node, ast.keyword) and node.arg == "help"


def counted() -> dict[str, int]:
    """The number of hits in each file that has any."""
    return {name: total for name, text in sorted(texts()) if (total := hits(text).total())}


def test_text_has_none() -> None:
    assert counted() == {}, "number of hits by file"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("TCP as Linux has it.", "has"),
        ("A list of what is missing.", "what"),
        ("ns-2 gives 91.2 %, ours 90.1.", "ours"),
        ("Shape your line to 95 %.", "line"),
        ("Every other law does.", "law"),
        ("Five of 1, 2, 3, 4 and 5 packets.", "long"),
    ],
)
def test_a_pattern_finds_its_kind(text: str, name: str) -> None:
    assert hits(prose(text)) == {name: 1}


def test_code_is_no_text() -> None:
    assert hits(prose(">>> push('the line')\n1\n\n`the line`\n\n```sh\nbeside what\n```\n\n[a](beside.md)")) == {}
