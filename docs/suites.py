"""Measure the tables of docs/l4s.md, bbr.md, card-bbr3.md and other studies, and draw their figures (some minutes).

`python docs/suites.py [NAME ...]` runs the named studies, or all. The tables of a study are on `NAME.md` and
`NAME-evidence.md`. `--check` writes nothing and fails if a page would change, for example because a scheme gives other
numbers. A table is between `<!-- its name -->` and `<!-- end -->`, the verdicts on claims between `<!-- claims -->` and
`<!-- end -->`.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aqmlab.notebook import Sheet
from aqmlab.present.figures.card import pictures
from aqmlab.present.figures.draft import phases
from aqmlab.present.figures.suite import curves
from aqmlab.present.labels import footnote
from aqmlab.present.plots.data import Bars, LineChart, OverTime
from aqmlab.present.plots.files import draw, encode
from aqmlab.present.reports.card import untitled_markdown
from aqmlab.present.reports.draft import MARKS
from aqmlab.present.suite_words import grids
from aqmlab.study import draft_cases
from aqmlab.study.card import card
from aqmlab.study.claims import VERDICTS, tally
from aqmlab.study.draft import JudgedCase
from aqmlab.study.suite_result import SuiteResult, compare_suite

FOLDER = Path(__file__).parent
SEEDS = {
    "l4s": 3,
    "bbr": 1,
    "slow-start": 1,
    "bbr-questions": 5,
    "bbr-docsis": 5,
    "cake-mq": 1,
    "libreqos": 3,
    "marking": 5,
    "fq-memory": 5,
    "bursts": 5,
    "rmcat": 5,
    "rmcat-wireless": 5,
}
PICTURED = 10
"""Number of the case of the draft whose phases are drawn."""
CARD, CARDED, CARD_PICTURE = "card-bbr3", "bbr3", "harm"
"""The page of a card, its congestion controller, and the name of its picture."""


def grid(wanted: Sheet) -> str:
    """Return a table of a suite."""
    rows = [list(wanted.heads), ["---"] * len(wanted.heads), *(list(map(str, row)) for row in wanted.rows)]
    marks = footnote(wanted.heads)
    return lines(rows) + (f"\n\n{marks}" if marks else "")


def claims(result: SuiteResult) -> str:
    """Return the claims with their verdicts."""
    counts = tally(result.claims)
    rows = [["source", "claim", "verdict", "measured values, reason"], ["---"] * 4]
    for judged in result.claims:
        verdict = f"{VERDICTS[judged.verdict].mark} {judged.verdict}"
        rows.append([judged.claim.section, judged.claim.text, verdict, judged.explanation])
    return f"{verdicts('claims', counts['claims'], counts)}\n\n{lines(rows)}"


def verdicts(what: str, count: int, counts: Mapping[str, int]) -> str:
    """Return how many claims or cases hold and fail."""
    return f"{counts['holds']} of {count} {what} hold, {counts['fails']} fail{'s' if counts['fails'] == 1 else ''}."


def lines(rows: list[list[str]]) -> str:
    """Return rows as a table of Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def filled(text: str, result: SuiteResult) -> str:
    """Return a page with the tables of a suite between their marks."""
    return placed(text, {wanted.title: grid(wanted) for wanted in grids(result)} | {"claims": claims(result)})


def placed(text: str, written: Mapping[str, str]) -> str:
    """Return a page with each table between the marks of its name."""
    for title, table in written.items():
        before, mark, rest = text.partition(f"<!-- {title} -->")
        if mark:
            text = f"{before}{mark}\n\n{table}\n\n{rest[rest.index('<!-- end -->') :]}"
    return text


def cases(judged: Sequence[JudgedCase]) -> str:
    """Return the verdicts on the cases of a draft."""
    counts = Counter(each.verdict for each in judged)
    rows = [["case", "requirement", "path", "verdict", "measured values, reason"], ["---"] * 5]
    for each in judged:
        whose = f" ({each.whose})" if each.whose else ""
        verdict = f"{MARKS[each.verdict]} {each.verdict}{whose}"
        rows.append(
            [f"{each.case.number} {each.case.title}", each.case.asks, str(each.place), verdict, each.explanation]
        )
    return f"{verdicts('cases', len(judged), counts)}\n\n{lines(rows)}"


def measured(name: str) -> tuple[Callable[[str], str], Callable[[], OverTime | LineChart | Bars]]:
    """Run a study; return a function that writes its tables into a page, and one that draws its picture."""
    if name == draft_cases.NAME:
        judged = draft_cases.compare_draft()
        pictured = next(each for each in judged if each.case.number == PICTURED)
        first = [each for each in draft_cases.compare_draft("bbr") if each.records]
        tables = {"cases": cases(judged), "cases of bbr": cases(first)}
        return lambda text: placed(text, tables), lambda: phases(pictured.records[-1])
    if name == CARD:
        found = card(CARDED)
        tables = {CARD: untitled_markdown(found).rstrip()}
        return lambda text: placed(text, tables), lambda: pictures(found)[CARD_PICTURE][1]
    result = compare_suite(name, seeds=SEEDS[name])
    return lambda text: filled(text, result), lambda: curves(result)


def pages(name: str) -> list[Path]:
    """Return the pages with tables of a study."""
    return [page for page in (FOLDER / f"{name}.md", FOLDER / f"{name}-evidence.md") if page.exists()]


def main() -> None:
    """Write the tables into the pages, and the pictures; or print the pages that would change."""
    stale = []
    for name in [name for name in sys.argv[1:] if name != "--check"] or (*SEEDS, draft_cases.NAME, CARD):
        fill, picture = measured(name)
        for page in pages(name):
            text = page.read_text(encoding="utf-8")
            if "--check" not in sys.argv:
                page.write_text(fill(text), encoding="utf-8")
            elif fill(text) != text:
                stale.append(page.name)
        if "--check" not in sys.argv:
            (FOLDER / f"{name}.png").write_bytes(encode(draw(picture()), "png"))
    if stale:
        sys.exit(f"{', '.join(stale)}: numbers differ from the measured ones; run: make suites")


if __name__ == "__main__":
    main()
