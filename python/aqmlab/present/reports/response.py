"""The report on a response: its tables and figures."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from aqmlab.present.figures.response import figures
from aqmlab.present.html import page
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.present.reports.comparison import version
from aqmlab.runs.executor import Progress
from aqmlab.study.response_result import ControllerResponse


def subject(law: str) -> str:
    """Return the subject of the report."""
    return f"response of {law}"


def parts(response: ControllerResponse) -> list[Part]:
    """Return its four tables."""
    title = f"Response of {label(response.law)}, shared link with {label(response.aqm)}"
    sections = [Section(sheet.title, sheet=sheet) for sheet in response.sheets()]
    return [Part("response", title, "", sections)]


def files(response: ControllerResponse, command: str, progress: Progress | None = None, size: Size = PAGE) -> Files:
    """Return report.html and the figures; `progress` receives the number of drawn figures."""
    drawings: Drawings = {}
    [part] = parts(response)
    part = replace(part, sections=list(with_figures(response, part.sections, drawings)))
    facts = {"Command": command, "Version": version(), "Runs": f"{response.runs:,}, seeds 1 to {response.seeds}"}
    if response.failures:
        facts["Failed runs"] = "; ".join(map(str, response.failures))
    return page.report(subject(response.law), part.title, [part], drawings, facts, progress, size)


def with_figures(response: ControllerResponse, sections: Sequence[Section], drawings: Drawings) -> Iterator[Section]:
    """Yield the sections with their figures, which are added to `drawings`."""
    found = figures(response)
    drawings.update({name: drawing for name, (_, drawing) in found.items()})
    stems = ("response", "rtt-fairness", "convergence", "queue-over-flows")
    for section, stem in zip(sections, stems, strict=True):
        yield replace(section, figures={found[stem][0]: stem} if stem in found else {})
