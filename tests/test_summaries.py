"""The pages that summarize accuracy and performance agree with the pages of the measurements."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
COUNT = re.compile(r"([\d,]+) of ([\d,]+) (rows|cells|sequences|scenarios|tests)\b")
MEASURED = ("benchmarks", "kernel-evidence", "gym-evidence", "studio-evidence")


def text(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def rows(page: str) -> list[str]:
    """The rows of the page's tables, without their heads."""
    return re.findall(r"^\| (?!.*---).*\d.*$", text(page), re.MULTILINE)


@pytest.mark.parametrize("row", [row for row in rows("accuracy") if COUNT.search(row)])
def test_a_count_of_accuracy_is_on_its_page(row: str) -> None:
    [count] = COUNT.findall(row)
    [page] = re.findall(r"\((validation[\w-]*)\.md", row)
    assert count in COUNT.findall(text(page))


def test_accuracy_counts_every_comparison() -> None:
    found = {page.stem for page in DOCS.glob("validation*.md")}
    assert {page for row in rows("accuracy") for page in re.findall(r"\((validation[\w-]*)\.md", row)} == found


def test_a_number_of_performance_is_measured() -> None:
    measured = "".join(text(page) for page in MEASURED)
    decimals = re.findall(r"\d+\.\d+(?= ×| million| s\b| ms\b| of real)", "\n".join(rows("performance")))
    assert len(decimals) > 15
    assert [number for number in decimals if number not in measured] == []
