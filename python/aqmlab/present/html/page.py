"""The one way to make a page: the templates that show the parts of a report. Text is escaped."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from aqmlab.names import plain
from aqmlab.present.figures_tex import in_latex
from aqmlab.present.parts import Part, Section
from aqmlab.present.plots import files
from aqmlab.present.plots.data import Drawing
from aqmlab.present.plots.style import PAGE, Size
from aqmlab.present.text import readings
from aqmlab.runs.executor import Progress
from aqmlab.runs.metrics import definitions
from aqmlab.study.cells import VERDICTS
from aqmlab.study.claims import VERDICTS as CLAIM_VERDICTS

if TYPE_CHECKING:
    from jinja2 import Environment

Files = dict[str, bytes | str]
"""Contents to write, by file name."""

Drawings = dict[str, Drawing]
"""Figures to draw, by the name of the file without its ending."""


def report(
    subject: str,
    title: str,
    parts: Sequence[Part],
    drawings: Drawings,
    facts: Mapping[str, str],
    progress: Progress | None = None,
    size: Size = PAGE,
) -> Files:
    """Return report.html, the figures in it, and figures.tex with their captions.

    A report replaces another one on the same `subject` only. `facts` say how to repeat the work, `progress` receives
    the number of drawn figures.
    """
    drawn = files.encode_all(drawings, progress, size)
    inline = {stem: files.inline(drawn[f"{stem}.svg"]) for stem in drawings}
    text = render("report.html", subject=subject, title=title, parts=parts, drawn=inline, facts=facts)
    return {"report.html": text, **drawn, **({"figures.tex": in_latex(_captions(parts), size)} if drawn else {})}


def _captions(parts: Sequence[Part]) -> dict[str, str]:
    """Return the caption of each figure."""
    sections = [section for part in parts for section in part.sections]
    return {name: _caption(section, text) for section in sections for text, name in section.figures.items()}


def _caption(section: Section, caption: str) -> str:
    """Return the caption of a figure with its seeds."""
    about = section.subtitle or (section.sheet.about if section.sheet else "") or section.title
    return caption if "seed" in caption.lower() or not about else f"{caption} {about[0].upper()}{about[1:]}."


def render(name: str, **given: object) -> str:
    """Return a template of the package, filled; what it is given is escaped unless the template marks it safe."""
    return _environment().get_template(name).render(given)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("aqmlab.present.html")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: plain(value) if type(value) is str else value,
    )
    environment.globals |= {
        "definitions": definitions,
        "verdicts": VERDICTS,
        "claim_verdicts": CLAIM_VERDICTS,
        "readings": readings,
    }
    return environment
