"""The report on the test cases of a draft: the verdicts, then each case with its findings and phases."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from aqmlab.notebook import Item, Row, Sheet
from aqmlab.present.figures.draft import phases_of_all
from aqmlab.present.html import page
from aqmlab.present.html.page import Files
from aqmlab.present.parts import Part, Section
from aqmlab.present.reports.comparison import version
from aqmlab.runs.executor import Progress
from aqmlab.study.draft import JudgedCase
from aqmlab.study.draft_cases import NAME, SOURCE, TITLE

MARKS = {"holds": "✓", "fails": "✗", "not applicable": "∅", "skipped": "–"}
"""The signs of the verdicts."""


def parts(judged: Sequence[JudgedCase]) -> list[Part]:
    """Return a row per case, and the number of each verdict."""
    rows: list[Row] = [
        [
            f"{each.case.number} {each.case.title}",
            each.case.asks,
            str(each.place),
            Item(_verdict(each), each.verdict),
            each.explanation,
        ]
        for each in judged
    ]
    counts = Counter(each.verdict for each in judged)
    about = ", ".join(f"{counts[verdict]} {verdict}" for verdict in MARKS if counts[verdict])
    heads = ["Case", "Requirement", "Path", "Verdict", "Measured values, reason"]
    return [Part(NAME, TITLE, SOURCE, [Section("", sheet=Sheet(TITLE, heads, rows, about=about, words=True))])]


def files(judged: Sequence[JudgedCase], command: str, progress: Progress | None = None) -> Files:
    """Return report.html and a figure of each case that ran; `progress` receives the number of drawn figures."""
    drawings = phases_of_all(judged)
    [part] = parts(judged)
    [verdicts] = part.sections
    sections = [replace(verdicts, title="Verdicts"), *(_case(each, [*drawings]) for each in judged)]
    part = replace(part, sections=sections)
    facts = {"Congestion controller": judged[0].law, "Command": command, "Version": version()}
    return page.report(NAME, TITLE, [part], {**drawings}, facts, progress)


def _verdict(judged: JudgedCase) -> str:
    whose = f" ({judged.whose})" if judged.whose else ""
    return f"{MARKS[judged.verdict]} {judged.verdict}{whose}"


def _case(judged: JudgedCase, drawn: Sequence[str]) -> Section:
    name = f"case-{judged.case.number:02}"
    return Section(
        f"{judged.case.number} {judged.case.title}: {_verdict(judged)}",
        f"{judged.case.asks}; {judged.place}.",
        findings=[f"{'✓' if each.holds else '✗'} {each.asks or 'also'}: {each.measured}" for each in judged.findings],
        warnings=[judged.reason] if judged.reason else [],
        figures={CAPTION: name} if name in drawn else {},
    )


CAPTION = (
    "The phases of the sender; segments in flight, window and queue; pacing rate, bandwidth estimate and link rate."
)
