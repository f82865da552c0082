"""The critical-difference diagram: mean ranks on an axis, and which differences are significant (Demšar 2006)."""

import textwrap
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from aqmlab.present.labels import footnote
from aqmlab.present.plots.data import CriticalDifference
from aqmlab.present.plots.style import DARK, FOOTNOTE_MARGIN, LETTER, adapt, points, wanted
from aqmlab.problems import InputError

ROW, BAR = 0.19, 0.11
"""Inches from a name to the next, and from a bar to the next."""

ABOVE = 0.62
"""Inches above the axis."""


def critical_difference(drawn: CriticalDifference) -> Figure:
    """Draw a critical-difference diagram; the best rank is on the right.

    Names hang from an axis of mean ranks. A bar joins schemes whose difference is not significant (Nemenyi test, 5 %).
    """
    order, ranks = drawn.order, drawn.ranking.ranks
    how = wanted()
    width = how.size.width / how.scale  # lengths are those of the page of a journal
    below = 0.16 + BAR * len(drawn.cliques)  # inches from the axis to the first name
    caption = " ".join(part for part in (how.about, footnote(drawn.names.values())) if part) if how.footnotes else ""
    marks = textwrap.wrap(caption, int(width / 0.045))
    foot = FOOTNOTE_MARGIN + 0.12 * len(marks) if marks else 0.0
    height = 0.75 + below + ROW * ((len(order) + 1) // 2) + foot
    margin = 0.15 + LETTER * max(len(drawn.names[scheme]) for scheme in order)
    if 2 * margin > 0.7 * width:
        raise InputError(
            "size", f"{width:g} in: the names of the schemes leave no room for the ranks; choose a wider one"
        )
    with mpl.rc_context(how.rc):
        figure = Figure(figsize=(how.size.width, how.scale * height))
        axes = figure.add_axes((margin / width, foot / height, 1 - 2 * margin / width, 1 - (ABOVE + foot) / height))
        axes.set_xlim(len(order), 1)
        axes.set_ylim(ABOVE + foot - height, 0)  # inches
        axes.set_axis_off()
        _scale(axes, len(order), drawn.ranking.critical)
        for i, clique in enumerate(drawn.cliques):
            ends = [ranks[clique[0]] - 0.04, ranks[clique[-1]] + 0.04]
            axes.plot(ends, [-0.12 - BAR * i] * 2, color="black", linewidth=2.6, solid_capstyle="butt")
        at = FOOTNOTE_MARGIN / width, FOOTNOTE_MARGIN / height
        figure.text(*at, "\n".join(marks), va="bottom", fontsize=points(6), color=DARK)
        _names(axes, drawn, below)
        adapt(figure, how)
    return figure


def _names(axes: Any, drawn: CriticalDifference, below: float) -> None:
    """Hang the names under the axis, the better half on the right."""
    order = drawn.order
    half = (len(order) + 1) // 2
    for i, scheme in enumerate(order):
        best = i < half
        y = -below - ROW * ((i if best else len(order) - 1 - i) + 0.5)
        edge, side = (1, "left") if best else (len(order), "right")
        x = drawn.ranking.ranks[scheme]
        axes.plot([x, x, edge], [0, y, y], color="black", linewidth=0.6, clip_on=False)
        _write(axes, drawn.names[scheme], (edge, y), (5 if best else -5, 0), ha=side, va="center", fontsize=points(7.5))


def _scale(axes: Any, last: int, critical: float) -> None:
    """Draw the axis of mean ranks, and the critical difference above it."""
    axes.plot([1, last], [0, 0], color="black", linewidth=0.8, clip_on=False)
    every = -(-last // 20)
    for rank in range(1, last + 1):
        axes.plot([rank, rank], [0, 0.06], color="black", linewidth=0.8, clip_on=False)
        if (rank - 1) % every == 0:
            _write(axes, f"{rank}", (rank, 0.06), (0, 2), ha="center")
    width = min(critical, last - 1)
    y = 0.33
    axes.plot([last, last - width], [y, y], color="black", linewidth=1.4, clip_on=False)
    for x in (last, last - width):
        axes.plot([x, x], [y - 0.04, y + 0.04], color="black", linewidth=1.0, clip_on=False)
    beyond = "" if critical < last - 1 else ", more than all ranks"
    _write(axes, f"critical difference {critical:.2f}{beyond}", (last, y), (0, 5))


def _write(axes: Any, text: str, at: tuple[float, float], offset: tuple[float, float], **more: Any) -> None:
    """Write a text so many points from a place, also outside the axes."""
    scaled = (points(offset[0]), points(offset[1]))
    axes.annotate(text, at, scaled, textcoords="offset points", annotation_clip=False, **more)
