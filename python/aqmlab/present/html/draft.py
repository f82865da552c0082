"""The report on the test cases of a draft: the verdicts, then each case with its findings and phases."""

import json
from collections.abc import Sequence

from aqmlab.notebook import Sheet
from aqmlab.present.figures.draft import phases_of_all
from aqmlab.present.html import page
from aqmlab.present.html.comparison import version
from aqmlab.present.html.page import Files
from aqmlab.present.parts import Part, Section
from aqmlab.present.terminal.draft import MARKS
from aqmlab.runs.executor import Progress
from aqmlab.study.draft import JudgedCase
from aqmlab.study.draft_cases import NAME, SOURCE, TITLE, document


def records(judged: Sequence[JudgedCase]) -> Files:
    """Return results.json."""
    return {"results.json": json.dumps(document(judged), indent=1, ensure_ascii=False) + "\n"}


def files(judged: Sequence[JudgedCase], command: str, told: Progress | None = None) -> Files:
    """Return report.html and a figure of each case that ran; `told` gets the number of drawn figures."""
    drawings = phases_of_all(judged)
    sections = [_verdicts(judged), *(_case(each, [*drawings]) for each in judged)]
    part = Part(NAME, TITLE, SOURCE, sections)
    facts = {"Congestion controller": judged[0].law, "Command": command, "Version": version()}
    return page.report(NAME, TITLE, [part], {**drawings}, facts, told)


def _verdicts(judged: Sequence[JudgedCase]) -> Section:
    rows = [[f"{each.case.number} {each.case.title}", str(each.place), _verdict(each), each.told] for each in judged]
    return Section("Verdicts", "", Sheet("", ["Case", "Path", "Verdict", "Measured values, reason"], rows, words=True))


def _verdict(judged: JudgedCase) -> str:
    whose = f" ({judged.whose})" if judged.whose else ""
    return f"{MARKS[judged.verdict][0]} {judged.verdict}{whose}"


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
