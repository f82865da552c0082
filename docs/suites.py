"""Measure the tables of docs/l4s.md and docs/bbr.md and draw their pictures (some minutes).

`python docs/suites.py [NAME ...]` does the studies named, or both. `--check` writes nothing and fails if a page would
change, as it does when a scheme or law gives other numbers. A table stands between `<!-- its name -->` and
`<!-- end -->`, what is written and what became of it between `<!-- claims -->` and `<!-- end -->`.
"""

import sys
from pathlib import Path

from aqmlab.present.figures.suite import curves
from aqmlab.present.labels import footnote
from aqmlab.present.plots.files import draw, encode
from aqmlab.present.suite_words import Grid, grids
from aqmlab.study.claims import VERDICTS, tally
from aqmlab.study.suite_result import SuiteResult, compare_suite

FOLDER = Path(__file__).parent
SEEDS = {"l4s": 3, "bbr": 1}


def grid(wanted: Grid) -> str:
    """Return a table of a suite."""
    rows = [["", *wanted.heads], ["---"] * (1 + len(wanted.heads)), *([row, *of] for row, of in wanted.rows.items())]
    marks = footnote(wanted.heads)
    return lines(rows) + (f"\n\n{marks}" if marks else "")


def claims(result: SuiteResult) -> str:
    """Return what is written, and what became of it."""
    counts = tally(result.claims)
    rows = [["source", "sentence", "verdict", "measured, and why"], ["---"] * 4]
    for judged in result.claims:
        verdict = f"{VERDICTS[judged.verdict].mark} {judged.verdict}"
        rows.append([judged.claim.section, judged.claim.text, verdict, judged.told])
    return f"Of {counts['claims']} sentences {counts['holds']} hold and {counts['fails']} fail.\n\n{lines(rows)}"


def lines(rows: list[list[str]]) -> str:
    """Return rows as a table of Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def filled(text: str, result: SuiteResult) -> str:
    """Return a page with the tables of a suite in their places."""
    written = {wanted.title: grid(wanted) for wanted in grids(result)} | {"claims": claims(result)}
    for title, table in written.items():
        before, mark, rest = text.partition(f"<!-- {title} -->")
        if mark:
            text = f"{before}{mark}\n\n{table}\n\n{rest[rest.index('<!-- end -->') :]}"
    return text


def main() -> None:
    """Write the tables into the pages, and the pictures beside them; or say which pages would change."""
    stale = []
    for name in [name for name in sys.argv[1:] if name != "--check"] or ("l4s", "bbr"):
        result = compare_suite(name, seeds=SEEDS[name])
        page = FOLDER / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        if "--check" not in sys.argv:
            page.write_text(filled(text, result), encoding="utf-8")
            page.with_suffix(".png").write_bytes(encode(draw(curves(result)), "png"))
        elif filled(text, result) != text:
            stale.append(page.name)
    if stale:
        sys.exit(f"{', '.join(stale)}: other numbers than measured now; run: make suites")


if __name__ == "__main__":
    main()
