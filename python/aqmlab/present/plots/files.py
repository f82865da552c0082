"""Pictures as files: SVG, PNG and PDF whose bytes depend on the picture only."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from io import BytesIO
from multiprocessing import get_context
from signal import SIG_IGN, SIGINT, signal
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from aqmlab.present.plots import data, loop, paper, ranking
from aqmlab.present.plots.style import PAGE, STYLE, Print, Size, printed
from aqmlab.runs.executor import Progress

MANY = 6
"""Pictures from which on it pays to start more processes."""

UNDATED: Any = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
"""Metadata left out of each kind of file, because it would change the bytes from day to day."""

DRAWN_BY: Mapping[type, Callable[[Any], Figure]] = {
    data.OverTime: paper.over_time,
    data.Scatter: paper.scatter,
    data.Distributions: paper.distributions,
    data.Dots: paper.dots,
    data.Boxes: paper.boxes,
    data.HeatMaps: paper.heat_maps,
    data.LineChart: paper.lines,
    data.Bars: paper.bars,
    data.CriticalDifference: ranking.critical_difference,
    data.Bode: loop.bode,
    data.Nyquist: loop.nyquist,
    data.StabilityMap: loop.stability_map,
}
"""The function that draws each kind of picture."""


def draw(drawing: data.Drawing, how: Print = Print()) -> Figure:  # noqa: B008 - it cannot change
    """Return a picture as a matplotlib figure, laid out."""
    with printed(how):
        return DRAWN_BY[type(drawing)](drawing)


def encode(figure: Figure, kind: str) -> bytes:
    """Return a figure as "png" (200 dpi), "svg" or "pdf"; the same figure always gives the same bytes."""
    buffer = BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format=kind, dpi=200, metadata=UNDATED[kind])
    return _shorter(buffer.getvalue()) if kind == "svg" else buffer.getvalue()


FORMATS = ("svg", "png", "pdf")
"""The formats in which a report's pictures are written."""


def encode_all(
    drawings: Mapping[str, data.Drawing], progress: Progress | None = None, size: Size = PAGE
) -> dict[str, bytes]:
    """Return each picture in each of `FORMATS`, by file name; many pictures are drawn on all cores.

    `progress` receives the number of drawn figures, and of all.
    """

    def counted(found: Iterable[dict[str, bytes]]) -> Iterator[dict[str, bytes]]:
        for i, each in enumerate(found, 1):
            if progress:
                progress(i, len(drawings))
            yield each

    encoded = partial(_encoded, Print(size))
    if len(drawings) < MANY:
        drawn = list(counted(map(encoded, drawings.values())))
    else:
        with ProcessPoolExecutor(mp_context=get_context("spawn"), initializer=_leave_interrupts) as pool:
            try:
                drawn = list(counted(pool.map(encoded, drawings.values())))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    files = zip(drawings, drawn, strict=True)
    return {f"{stem}.{kind}": written for stem, each in files for kind, written in each.items()}


def inline(svg: bytes) -> str:
    """Return an SVG as an element for HTML, without its XML head, as wide as its place."""
    text = svg.decode("utf-8")
    head, rest = text[text.index("<svg ") :].split(">", 1)
    return re.sub(r' (width|height)="[^"]*"', "", head) + ">" + rest


def _leave_interrupts() -> None:
    """Let the process that waits handle Ctrl-C."""
    signal(SIGINT, SIG_IGN)


def _encoded(how: Print, drawing: data.Drawing) -> dict[str, bytes]:
    figure = draw(drawing, how)
    return {kind: encode(figure, kind) for kind in FORMATS}


def _shorter(svg: bytes) -> bytes:
    """Return an SVG whose lines keep two digits after the point, a fortieth of a millimetre: half the bytes."""
    return re.sub(rb"(?m)^([ML]) (-?\d+\.\d\d)\d* (-?\d+\.\d\d)\d*", rb"\1 \2 \3", svg)
