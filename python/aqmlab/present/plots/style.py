"""The style of every picture: palette, letters, sizes, axes, legend."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullLocator

from aqmlab.present.labels import footnote

WIDTH = 7.2
"""Inches; two columns of a journal page."""

LETTER = 0.062
"""Inches that a letter of a name takes, about, of 8 points."""

TICKS, LEAST_WRAP = 7, 12
"""Letters that an axis takes from the width of a title, and the minimum width of a title in letters."""

PANEL, TIGHT_PANEL = 1.8, 1.7
"""Inches that a panel needs with letters of 8 points; and that it gets where panels in one column would be flat."""

FOOTNOTE_MARGIN = 0.072
"""Inches between the edge of the paper and the footnotes."""

MOST_IN_A_COLUMN = 3
"""Panels up to which a column is not too long."""


class Size(NamedTuple):
    """The width of a picture and how high it may become, in inches, and the points of its letters."""

    width: float
    highest: float
    letters: float
    serif: bool = False
    """The letters of a journal: STIX, which resembles Times."""


PAGE = Size(WIDTH, inf, 8)
SIZES = {
    "ieee1": Size(3.5, 8.8, 8, serif=True),
    "ieee2": Size(7.16, 8.8, 8, serif=True),
    "slide": Size(12, 6.4, 16),
}
"""One and two columns of an IEEE journal; a slide of 13.33 by 7.5 inches with its title and margins."""


@dataclass(frozen=True)
class Print:
    """The print of a picture: its size, which axes are logarithmic ("x", "y", "xy"), labels instead of the usual.

    `footnotes` print the meaning of marks after the names of schemes, and `about`, the facts about the runs.
    """

    size: Size = PAGE
    log: str = ""
    x: str | None = None
    y: str | None = None
    footnotes: bool = True
    about: str = ""

    @property
    def scale(self) -> float:
        """The size of letters and lines, compared with the page of a journal."""
        return self.size.letters / 8

    @property
    def rc(self) -> Any:
        """The settings of matplotlib."""
        style = STYLE | (SERIF if self.size.serif else {})
        return {name: self.scale * value if type(value) is float else value for name, value in style.items()}


_PRINT = ContextVar("_PRINT", default=Print())  # noqa: B039 - it cannot change


def wanted() -> Print:
    """Return how the picture that is being drawn is to be printed."""
    return _PRINT.get()


@contextmanager
def printed(how: Print) -> Iterator[None]:
    """Have everything drawn meanwhile so that it can be printed like this."""
    before = _PRINT.set(how)
    try:
        yield
    finally:
        _PRINT.reset(before)


LINE, PALE, TARGET = "#0072B2", "#A9D3EC", "#D55E00"
"""Blue and vermilion of the Okabe-Ito palette, which colour-blind readers can tell apart; in grey, dashes differ."""

GREY, DARK = "#888888", "#444444"
"""Lines that only guide the eye, and remarks."""

PALETTE = (LINE, TARGET, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7f7f7f")
"""The Okabe-Ito palette and grey: as many colours as the larger papers compare schemes."""

DASHES: Any = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = "os^Dv<P"
"""Dashes and markers tell lines apart in grey."""

THIRDS, QUARTERS = (1, 2, 3, 5, 10), (1, 2.5, 5, 10)
"""Possible steps of an axis, times a power of ten."""

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.4,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "lines.solid_joinstyle": "round",
    "svg.hashsalt": "aqmlab",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # TrueType: journals refuse Type 3
    "ps.fonttype": 42,
}


SERIF: Any = {"font.family": "STIXGeneral", "mathtext.fontset": "stix"}
"""The letters of a journal, which come with matplotlib."""


class Look(NamedTuple):
    """The look of one scheme in all panels of a picture."""

    colour: str
    marker: str
    dashes: Any

    @property
    def line(self) -> dict[str, Any]:
        """Colour and dashes, as arguments of `Axes.plot`."""
        return {"color": self.colour, "linestyle": self.dashes}


def look(i: int) -> Look:
    """Return the look of the i-th scheme: 56 different pairs of colour and marker."""
    turn = i // len(PALETTE)
    return Look(PALETTE[i % len(PALETTE)], MARKERS[(i + turn) % len(MARKERS)], DASHES[(i + turn) % len(DASHES)])


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of each scheme."""
    return {name: look(i) for i, name in enumerate(dict.fromkeys(names))}


@contextmanager
def page(
    count: int,
    columns: int,
    height: float,
    *,
    names: Sequence[str] = (),
    width: float | None = None,
    sharex: bool = False,
    sharey: bool = False,
) -> Iterator[tuple[Figure, Any]]:
    """Give a figure with `count` panels, `columns` in a row of `height` inches, and the grid of its axes.

    Single panels in a row are higher. `names` are the names in the legend, which gets separate room. The figure is
    laid out once, at the end, so that every file format shows the same. All lengths except `width` are for the page of
    a journal.
    """
    how = wanted()
    width = how.size.width if width is None else width
    room = int(width / how.scale / PANEL)
    if count > MOST_IN_A_COLUMN:
        room = max(room, int(width / how.scale / TIGHT_PANEL))
    columns = max(1, min(columns, count, room))
    rows = -(-count // columns)
    if columns == 1:
        height = min(max(height, 2.6 if rows == 1 else 1.9), (0.68 if rows == 1 else 0.75) * width / how.scale)
    with mpl.rc_context(how.rc):
        layout = ConstrainedLayoutEngine(w_pad=0.1 * how.scale, h_pad=0.08 * how.scale)
        high = 0.5 + height * rows + 0.15 * _legend_rows(names)
        figure = Figure(figsize=(width, min(how.scale * high, how.size.highest)), layout=layout)
        grid = figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
        for axes in grid.flat[count:]:
            axes.set_visible(False)
        if columns > 2:
            for axes in grid.flat:
                axes.tick_params(labelsize=points(6.5))
        yield figure, grid
        adapt(figure, how)
        if how.footnotes:
            explain_marks(figure, how.about)
        layout.execute(figure)
        figure.set_layout_engine("none")


def explain_marks(figure: Figure, about: str = "") -> None:
    """Write the subject of the figure below it, and the meaning of the marks of schemes in it."""
    marks = footnote(text.get_text() for text in [*figure.findobj(Text), Text(text=about)])
    meaning = " ".join(part for part in (about, marks) if part)
    if meaning:
        scale = wanted().scale
        lines = textwrap.wrap(meaning, int(figure.get_figwidth() / scale / 0.045))
        figure.set_figheight(figure.get_figheight() + 0.12 * scale * len(lines))
        left = FOOTNOTE_MARGIN * scale / figure.get_figwidth()
        figure.supxlabel("\n".join(lines), x=left, ha="left", fontsize=points(6), color=DARK)


def points(size: float) -> float:
    """Return the size of letters that are `size` points on the page of a journal."""
    return wanted().scale * size


def adapt(figure: Figure, how: Print) -> None:
    """Give the axes the scales and labels wanted, and lines and marks the size."""
    for axes in figure.axes:
        if axes.get_label() == "<colorbar>":
            continue
        if how.x is not None and axes.get_xlabel():
            axes.set_xlabel(how.x)
        if how.y is not None and axes.get_ylabel():
            axes.set_ylabel(how.y)
        for side in how.log:
            _logarithmic(axes, side)
    owners: list[Any] = [*figure.axes, *figure.legends]
    for line in (line for owner in owners for line in owner.get_lines()):
        line.set(linewidth=how.scale * line.get_linewidth(), markersize=how.scale * line.get_markersize())
    for marks in (marks for axes in figure.axes for marks in axes.collections):
        marks.set_linewidth([how.scale * width for width in np.atleast_1d(marks.get_linewidth())])
        if isinstance(marks, PathCollection):
            marks.set_sizes(how.scale**2 * marks.get_sizes())


def _logarithmic(axes: Any, side: str) -> None:
    """Make an axis logarithmic, of three powers of ten if it began at 0, with more ticks where there are fewer."""
    axis, least = getattr(axes, f"{side}axis"), getattr(axes.dataLim, f"minpos{side}")
    low, high = axis.get_view_interval()
    axes.set(**{f"{side}scale": "log"})
    if low <= 0:
        low = max(least, high / 1000)
        axes.set(**{f"{side}lim": (low, high)})
    if high < 1000 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high > 5 * low else range(1, 10)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter("{x:g}")


def heading(axes: Any, title: str, remark: str = "") -> None:
    """Write the title of a panel on the left, in lines that fit its width, and a remark on the right."""
    columns = axes.get_subplotspec().get_gridspec().ncols
    size = points(7) if columns > 2 else None
    inches = axes.figure.get_figwidth() / wanted().scale / columns
    if not remark:
        title = "\n".join(
            textwrap.fill(line, max(LEAST_WRAP, int(inches / LETTER) - TICKS)) for line in title.split("\n")
        )
    axes.set_title(title, loc="left", fontweight="bold", fontsize=size, pad=points(3))
    axes.set_title(remark, loc="right", fontsize=points(7), color=DARK, pad=points(3))


def label(grid: Any, x: str, ys: Sequence[str]) -> None:
    """Label the axes: x under the last panel of each column; y at the first of each row, or at all if they differ."""
    columns = grid.shape[1]
    for column in range(min(columns, len(ys))):
        last = grid[(len(ys) - 1 - column) // columns, column]
        last.set_xlabel(x)
        last.tick_params(labelbottom=True)
    for i, (axes, y) in enumerate(zip(grid.flat, ys, strict=False)):
        if i % columns == 0 or len(set(ys)) > 1:
            axes.set_ylabel(y)


def legend(figure: Figure, entries: dict[str, Artist]) -> None:
    """Draw one legend for all panels, above them; a single curve needs none."""
    if len(entries) > 1:
        columns = _legend_columns(list(entries))
        figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=columns)


def entry(look: Look, *, marker: bool, line: bool) -> Line2D:
    """Return the entry of a scheme in a legend."""
    dashes: Any = look.dashes if line else ""
    return Line2D([], [], color=look.colour, marker=look.marker if marker else "", linestyle=dashes, markersize=4)


def _legend_columns(names: Sequence[str]) -> int:
    width = wanted().size.width / wanted().scale
    return max(1, min(6, len(names), int(width / (0.5 + LETTER * max(map(len, names))))))


def _legend_rows(names: Sequence[str]) -> int:
    return -(-len(names) // _legend_columns(names)) if len(names) > 1 else 0
