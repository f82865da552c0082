"""The parts of a fit: its findings."""

from aqmlab.fit.result import Fit, sentences
from aqmlab.present.parts import Part, Section


def parts(found: Fit) -> list[Part]:
    """Return the findings, one sentence each."""
    return [Part("fit", "", "", [Section("", findings=list(sentences(found)))])]
