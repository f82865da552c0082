"""The figures of a sweep for a browser: plotly figures as JSON, which the page draws when they are looked at."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from aqmlab.present.plots import LINE, TARGET, Multiples, envelope
from aqmlab.present.sweep.figures import Dots, Scatter, Stored
from aqmlab.present.sweep.plots import looks, steps
from aqmlab.runs.findings import Case, Findings, label

if TYPE_CHECKING:
    import plotly.graph_objects as go

SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "<": "triangle-left",
    "P": "cross",
}
"""plotly's names of the marks on paper."""

DASH = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
"""plotly's names of the dashes on paper; any other is long."""

AXIS = {"showline": True, "linecolor": "#444444", "gridcolor": "#dddddd", "zeroline": False, "ticks": "outside"}

BINS = 400
"""Stretches of a curve over time of which the lowest and the highest value are kept."""


def library() -> str:
    """Return plotly.js as text, to be put into a page."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def scatter(found: Findings, drawn: Scatter) -> str:
    """Return the runs as small marks, their means as large ones, and the ellipses; a click on a name hides a scheme."""
    figure = _figure(drawn.x.heading, drawn.y.heading, len(drawn.clouds))
    for scheme, cloud in drawn.clouds.items():
        colour, marker, dashes = looks(found)[scheme]
        name, symbol = label(scheme), SYMBOLS[marker]
        own = {"name": name, "legendgroup": scheme}
        marks = {"color": colour, "symbol": symbol}
        x, y = cloud.points.T
        text = [f"seed {seed}" for seed in cloud.seeds]
        small = {**marks, "size": 5, "opacity": 0.5}
        figure.add_scatter(**own, x=x, y=y, text=text, mode="markers", marker=small, showlegend=False)
        mean = {"x": cloud.mean[:1], "y": cloud.mean[1:], "text": ["mean"]}
        large = {**marks, "size": 8}
        figure.add_scatter(**own, **mean, mode="markers", marker=large)
        if cloud.ellipse is not None:
            x, y = map(np.float32, cloud.ellipse.T)
            line = {"color": colour, "dash": _dash(dashes), "width": 1.3}
            figure.add_scatter(**own, x=x, y=y, mode="lines", line=line, showlegend=False, hoverinfo="skip")
    return _json(figure)


def dots(found: Findings, drawn: Dots) -> str:
    """Return a measure by scheme: the seeds as small marks, the mean with its 95 % interval."""
    figure = _figure("", drawn.metric.heading)
    for i, (scheme, values) in enumerate(drawn.values.items()):
        colour, marker, _ = looks(found)[scheme]
        marks = {"color": colour, "symbol": SYMBOLS[marker]}
        own = {"name": label(scheme), "mode": "markers", "showlegend": False}
        text = [f"seed {seed}" for seed in values]
        small = {**marks, "size": 5, "opacity": 0.5}
        figure.add_scatter(**own, x=[i - 0.12] * len(values), y=list(values.values()), text=text, marker=small)
        mean, width = drawn.summaries[scheme].mean, drawn.summaries[scheme].half_width
        bar = {"type": "data", "array": [width], "visible": width is not None, "thickness": 1.3}
        large = {**marks, "size": 8}
        figure.add_scatter(**own, x=[i + 0.12], y=[mean], text=["mean"], marker=large, error_y=bar)
    names = [label(scheme) for scheme in drawn.values]
    ticks = {"tickvals": list(range(len(names))), "ticktext": names, "tickangle": -45, "automargin": True}
    figure.update_xaxes(**ticks, range=[-0.5, len(names) - 0.5], showgrid=False)
    return _json(figure)


def cdf(found: Findings, case: Case, delays: Mapping[tuple[Case, str], Stored]) -> str:
    """Return the share of packets that waited at most so long, a line for each scheme."""
    figure = _figure("Queue delay (ms)", "Share of packets", len(found.schemes))
    for scheme, (colour, _, dashes) in looks(found).items():
        if run := delays.get((case, scheme)):
            x, y = map(np.float32, steps(run))
            line = {"color": colour, "dash": _dash(dashes), "width": 1.6}
            figure.add_scatter(x=x, y=y, name=label(scheme), mode="lines", line=line)
    figure.update_xaxes(rangemode="tozero")
    return _json(figure)


def queue(drawn: Multiples) -> str:
    """Return the packets waiting against time, a panel for each scheme, all on the same axes."""
    from plotly.subplots import make_subplots

    rows = -(-len(drawn.panels) // drawn.columns)
    height = 90 + 150 * rows
    titles = [f"<b>{panel.title}</b>  {panel.remark}" for panel in drawn.panels]
    gaps = {"horizontal_spacing": 0.06, "vertical_spacing": 45 / height}
    figure = make_subplots(rows, drawn.columns, shared_xaxes="all", shared_yaxes="all", subplot_titles=titles, **gaps)
    for i, panel in enumerate(drawn.panels):
        at = {"row": i // drawn.columns + 1, "col": i % drawn.columns + 1}
        [curve] = panel.curves
        x, y = map(np.float32, envelope(curve.time, curve.values, BINS))
        figure.add_scatter(x=x, y=y, name=curve.name, mode="lines", line={"color": LINE, "width": 1}, **at)
        if panel.target is not None:
            ends = {"x": [0, drawn.frame.end], "y": [panel.target] * 2}
            line = {"color": TARGET, "width": 1.3, "dash": "dash"}
            figure.add_scatter(**ends, name="target", mode="lines", line=line, hoverinfo="skip", **at)
    _style(figure, height)
    figure.update_layout(showlegend=False, margin={"t": 40})
    figure.update_annotations(font_size=12)
    figure.update_xaxes(range=[0, drawn.frame.end])
    figure.update_yaxes(range=[0, 1.05 * drawn.frame.top])
    figure.update_xaxes(title="Time (s)", row=rows)
    figure.update_yaxes(title=drawn.frame.label, col=1)
    return _json(figure)


def _figure(x: str, y: str, names: int = 0) -> "go.Figure":
    """Return an empty figure, high enough for a legend of so many names."""
    import plotly.graph_objects as go

    figure = go.Figure()
    _style(figure, max(420, 110 + 20 * names))
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y)
    return figure


def _style(figure: "go.Figure", height: int) -> None:
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 60, "r": 20, "t": 20, "b": 60},
        font={"family": "system-ui, sans-serif", "size": 12, "color": "#1b1f24"},
        paper_bgcolor="white",
        hovermode="closest",
    )
    figure.update_xaxes(**AXIS)
    figure.update_yaxes(**AXIS)


def _dash(dashes: Any) -> str:
    return DASH.get(dashes, "longdash") if isinstance(dashes, str) else "longdash"


def _json(figure: "go.Figure") -> str:
    """The figure as JSON that may stand in a page: without the sign that begins a tag."""
    return str(figure.to_json()).replace("<", "\\u003c")
