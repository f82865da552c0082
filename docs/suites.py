"""Measure the tables of docs/l4s.md, bbr.md, card-bbr3.md and of other studies, draw their pictures (some minutes).

`python docs/suites.py [NAME ...]` does the studies named, or all. `--check` writes nothing and fails if a page would
change, as it does when a scheme or law gives other numbers. A table stands between `<!-- its name -->` and
`<!-- end -->`, what is written and what became of it between `<!-- claims -->` and `<!-- end -->`.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aqmlab.present.card_words import as_markdown
from aqmlab.present.figures.card import pictures
from aqmlab.present.figures.draft import phases
from aqmlab.present.figures.suite import curves
from aqmlab.present.labels import footnote
from aqmlab.present.plots.data import Bars, LineChart, OverTime
from aqmlab.present.plots.files import draw, encode
from aqmlab.present.suite_words import Grid, grids
from aqmlab.present.terminal.draft import MARKS
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
    "cake-mq": 1,
    "libreqos": 3,
    "rmcat": 5,
    "rmcat-wireless": 5,
}
PICTURED = 10
"""The case of the draft whose phases are drawn."""
CARD, CARDED, CARD_PICTURE = "card-bbr3", "bbr3", "harm"
"""The page of a card, its congestion controller, and which of its pictures."""


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
    return placed(text, {wanted.title: grid(wanted) for wanted in grids(result)} | {"claims": claims(result)})


def placed(text: str, written: Mapping[str, str]) -> str:
    """Return a page with tables in the places that have their names."""
    for title, table in written.items():
        before, mark, rest = text.partition(f"<!-- {title} -->")
        if mark:
            text = f"{before}{mark}\n\n{table}\n\n{rest[rest.index('<!-- end -->') :]}"
    return text


def cases(judged: Sequence[JudgedCase]) -> str:
    """Return the verdicts on the cases of a draft."""
    counts = Counter(each.verdict for each in judged)
    rows = [["case", "asks for", "path", "verdict", "measured, and why"], ["---"] * 5]
    for each in judged:
        whose = f" ({each.whose})" if each.whose else ""
        verdict = f"{MARKS[each.verdict][0]} {each.verdict}{whose}"
        rows.append([f"{each.case.number} {each.case.title}", each.case.asks, str(each.place), verdict, each.told])
    return f"Of {len(judged)} cases {counts['holds']} hold and {counts['fails']} fail.\n\n{lines(rows)}"


def measured(name: str) -> tuple[Callable[[str], str], Callable[[], OverTime | LineChart | Bars]]:
    """Run a study; return what puts its tables into a page, and its picture."""
    if name == draft_cases.NAME:
        judged = draft_cases.compare_draft()
        pictured = next(each for each in judged if each.case.number == PICTURED)
        first = [each for each in draft_cases.compare_draft("bbr") if each.records]
        tables = {"cases": cases(judged), "cases of bbr": cases(first)}
        return lambda text: placed(text, tables), lambda: phases(pictured.records[-1])
    if name == CARD:
        found = card(CARDED)
        return lambda text: placed(text, {CARD: as_markdown(found).rstrip()}), lambda: pictures(found)[CARD_PICTURE][1]
    result = compare_suite(name, seeds=SEEDS[name])
    return lambda text: filled(text, result), lambda: curves(result)


def main() -> None:
    """Write the tables into the pages, and the pictures beside them; or say which pages would change."""
    stale = []
    for name in [name for name in sys.argv[1:] if name != "--check"] or (*SEEDS, draft_cases.NAME, CARD):
        fill, picture = measured(name)
        page = FOLDER / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        if "--check" not in sys.argv:
            page.write_text(fill(text), encoding="utf-8")
            page.with_suffix(".png").write_bytes(encode(draw(picture()), "png"))
        elif fill(text) != text:
            stale.append(page.name)
    if stale:
        sys.exit(f"{', '.join(stale)}: other numbers than measured now; run: make suites")


if __name__ == "__main__":
    main()
