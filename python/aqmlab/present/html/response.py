"""The report on a response: its tables and figures."""

import json
from collections.abc import Iterator

from aqmlab.present.figures.response import figures
from aqmlab.present.html import page
from aqmlab.present.html.comparison import version
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.runs.executor import Progress
from aqmlab.study.response_result import ControllerResponse


def records(response: ControllerResponse) -> Files:
    """Return results.json."""
    return {"results.json": json.dumps(response.document(), indent=1, ensure_ascii=False) + "\n"}


def subject(law: str) -> str:
    """Return the subject of the report."""
    return f"response of {law}"


def files(response: ControllerResponse, command: str, told: Progress | None = None, size: Size = PAGE) -> Files:
    """Return report.html and the figures; `told` hears how many are drawn."""
    drawings: Drawings = {}
    shown = list(sections(response, drawings))
    facts = {"Command": command, "Version": version(), "Runs": f"{response.runs:,}, seeds 1 to {response.seeds}"}
    if response.failures:
        facts["Failed runs"] = "; ".join(map(str, response.failures))
    title = f"Response of {label(response.law)}"
    part = Part("response", title, f"Shared link: {label(response.aqm)}", shown)
    return page.report(subject(response.law), title, [part], drawings, facts, told, size)


def sections(response: ControllerResponse, drawings: Drawings) -> Iterator[Section]:
    """Yield a section per table with its figure, which is added to `drawings`."""
    found = figures(response)
    drawings.update({name: drawing for name, (_, drawing) in found.items()})
    stems = ("response", "rtt-fairness", "convergence", "queue-over-flows")
    for sheet, stem in zip(response.sheets(), stems, strict=True):
        yield Section(sheet.title, "", sheet, figures={found[stem][0]: stem} if stem in found else {})
