"""The files of all figures of a sweep."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from aqmlab.present.figures import words
from aqmlab.present.figures.ellipses import FEWEST_FOR_MEAN
from aqmlab.present.figures.sweep import DELAY, FIGURES, Wanted, caption, figure
from aqmlab.present.figures_tex import in_latex
from aqmlab.present.plots.data import Drawing
from aqmlab.present.plots.files import encode_all
from aqmlab.present.plots.style import Size
from aqmlab.present.tables import slug
from aqmlab.problems import InputError
from aqmlab.runs.executor import Progress
from aqmlab.runs.findings import Findings


def all_figures(
    found: Findings, aqms: Sequence[str], size: Size, progress: Progress | None = None
) -> dict[str, bytes | str]:
    """Return every figure that can be drawn in each format, and figures.tex with their captions.

    Each figure by scheme is drawn of each case, and the mean queueing delay also against each value that was varied.
    """
    ellipses = ", with the 95 % region of each mean" if len(found.seeds) >= FEWEST_FOR_MEAN else ""
    drawings: dict[str, Drawing] = {}
    captions: dict[str, str] = {}
    for stem, wanted in _wanted(found).items():
        asked = replace(wanted, aqms=tuple(aqms))
        with suppress(InputError):  # the sweep has no data for it
            drawings[stem] = figure(found, asked)
            what = FIGURES[asked.figure].partition(" (needs")[0].partition(", or --against")[0]
            what = what.replace("a measure", words.measure(DELAY)).replace("by scheme", f"by {found.head.lower()}")
            what = what.replace(", with ellipses", ellipses)
            against = asked.against and f"against {words.quantity(asked.against, found.varied)}"
            of = ", ".join(part for part in (asked.scenario, against) if part)
            captions[stem] = f"{what[0].upper()}{what[1:]}{f'; {of}' if of else ''}. {caption(found, asked)}"
    return {**encode_all(drawings, progress, size), "figures.tex": in_latex(captions, size)}


def _wanted(found: Findings) -> dict[str, Wanted]:
    """Return the figures to try by the stem of their files."""
    tried = {"ranking": Wanted("ranking")}
    for case in found.cases:
        before = f"{slug(case.name)}-" if len(found.cases) > 1 else ""
        tried |= {f"{before}{name}": Wanted(name, case.name) for name in FIGURES if name not in ("ranking", "heat")}
    return tried | {f"against-{slug(name)}": Wanted("measure", against=name) for name in found.varied}
