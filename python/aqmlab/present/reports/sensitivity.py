"""The origin of each failure of a sentence."""

from collections.abc import Sequence

from aqmlab.notebook import Sheet
from aqmlab.present.parts import Part, Section
from aqmlab.present.text import READINGS, readings
from aqmlab.study.sensitivity import WHOSE, Sensitivity


def parts(several: Sequence[Sensitivity]) -> list[Part]:
    """Return for each study the failing sentences with their variations, and the number of failures by origin."""
    return [_part(found) for found in several]


def _part(found: Sensitivity) -> Part:
    rows = [[each.section, each.text, readings(each.explanation)] for each in found.varied]
    sheet = Sheet("", ["Section", "Sentence", "Other readings"], rows, words=True)
    title = f"{found.study.title}: {len(found.varied)} sentences fail"
    counts = [f"{READINGS[whose]}: {found.counts[whose]}. {meaning}" for whose, meaning in WHOSE.items()]
    return Part(found.study.name, "", "", [Section(title, sheet=sheet)], about=counts)
