"""Pictures for a browser, by plotly: the same data as on paper, as JSON that a page draws when it is looked at."""

from typing import TYPE_CHECKING, Any

import numpy as np

from aqmlab.present.plots.data import Distributions, Dots, OverTime, Scatter
from aqmlab.present.plots.style import DARK, LINE, PALE, TARGET, Look, looks

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
"""The markers of the paper by the names that plotly has for them."""

DASH = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
"""The dashes of the paper by the names that plotly has for them; any other is a long dash."""

AXIS = {"showline": True, "linecolor": DARK, "gridcolor": "#dddddd", "zeroline": False, "ticks": "outside"}

BINS = 400
"""Stretches of a curve over time of which the lowest and the highest value are kept."""


def library() -> str:
    """Return plotly.js as text, to be put into a page."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def scatter(drawn: Scatter) -> str:
    """Return the runs as small marks, their centres as large ones, and the ellipses; a click on a name hides it."""
    [panel] = drawn.panels
    figure = _figure(drawn.x, drawn.y, len(panel.clouds))
    for name, cloud in panel.clouds.items():
        look = looks(drawn.names)[name]
        entry: Any = {"name": _shown(name), "legendgroup": name}
        _runs(figure, look, cloud.points[:, 0], cloud.points[:, 1], cloud.seeds, **entry)
        if cloud.centre is not None:
            _mark(figure, look, cloud.centre[:1], cloud.centre[1:], drawn.centre, **entry)
        if cloud.ellipse is not None:
            x, y = cloud.ellipse.T
            _line(figure, look, x, y, 1.3, **entry, showlegend=False, hoverinfo="skip")
    return _json(figure)


def dots(drawn: Dots) -> str:
    """Return a measure by scheme: the seeds as small marks, the mean with its 95 % interval."""
    figure = _figure("", drawn.label)
    for i, (name, values) in enumerate(drawn.values.items()):
        look = looks(drawn.names)[name]
        _runs(figure, look, [i - 0.12] * len(values), list(values.values()), values, name=_shown(name))
        mean, width = drawn.summaries[name].mean, drawn.summaries[name].half_width
        bar = {"type": "data", "array": [width], "visible": width is not None, "thickness": 1.3}
        _mark(figure, look, [i + 0.12], [mean], "mean", name=_shown(name), showlegend=False, error_y=bar)
    names = [_shown(name) for name in drawn.values]
    ticks = {"tickvals": list(range(len(names))), "ticktext": names, "tickangle": -45, "automargin": True}
    figure.update_xaxes(**ticks, range=[-0.5, len(names) - 0.5], showgrid=False)
    return _json(figure)


def distributions(drawn: Distributions) -> str:
    """Return a cumulative distribution, one curve per scheme."""
    [panel] = drawn.panels
    figure = _figure(drawn.x, drawn.y, len(drawn.names))
    for name, (values, shares) in panel.curves.items():
        _line(figure, looks(drawn.names)[name], values, shares, 1.6, name=_shown(name))
    figure.update_xaxes(range=panel.x_range)
    return _json(figure)


def over_time(drawn: OverTime) -> str:
    """Return panels over time, all on the same axes."""
    from plotly.subplots import make_subplots

    [frame] = drawn.frames
    rows = -(-len(drawn.panels) // drawn.columns)
    height = 90 + 150 * rows
    titles = [f"<b>{_shown(panel.title)}</b>  {_shown(panel.remark)}" for panel in drawn.panels]
    gaps = {"horizontal_spacing": 0.06, "vertical_spacing": 45 / height}
    figure = make_subplots(rows, drawn.columns, shared_xaxes="all", shared_yaxes="all", subplot_titles=titles, **gaps)
    for i, panel in enumerate(drawn.panels):
        at = {"row": i // drawn.columns + 1, "col": i % drawn.columns + 1}
        for stroke in panel.strokes(BINS):
            x, y = map(np.float32, (stroke.time, stroke.values))
            line = {"color": PALE if stroke.pale else LINE, "width": 1}
            figure.add_scatter(x=x, y=y, name=_shown(stroke.name), mode="lines", line=line, **at)
        if panel.target is not None:
            ends = {"x": [0, drawn.end], "y": [panel.target] * 2}
            line = {"color": TARGET, "width": 1.3, "dash": "dash"}
            figure.add_scatter(**ends, name=drawn.line, mode="lines", line=line, hoverinfo="skip", **at)
    _style(figure, height)
    figure.update_layout(showlegend=False, margin={"t": 40})
    figure.update_annotations(font_size=12)
    figure.update_xaxes(range=[0, drawn.end])
    figure.update_yaxes(range=frame.range)
    figure.update_xaxes(title="Time (s)", row=rows)
    figure.update_yaxes(title=frame.label, col=1)
    return _json(figure)


def _runs(figure: "go.Figure", look: Look, x: Any, y: Any, seeds: Any, **more: Any) -> None:
    """Draw a small mark for each seed."""
    small = {"color": look.colour, "symbol": SYMBOLS[look.marker], "size": 5, "opacity": 0.5}
    text = [f"seed {seed}" for seed in seeds]
    figure.add_scatter(x=x, y=y, text=text, mode="markers", marker=small, showlegend=False, **more)


def _mark(figure: "go.Figure", look: Look, x: Any, y: Any, text: str, **more: Any) -> None:
    """Draw a large mark for the mean of several seeds."""
    large = {"color": look.colour, "symbol": SYMBOLS[look.marker], "size": 8}
    figure.add_scatter(x=x, y=y, text=[text], mode="markers", marker=large, **more)


def _line(figure: "go.Figure", look: Look, x: Any, y: Any, width: float, **more: Any) -> None:
    dash = DASH.get(look.dashes, "longdash") if isinstance(look.dashes, str) else "longdash"
    line = {"color": look.colour, "dash": dash, "width": width}
    figure.add_scatter(x=np.float32(x), y=np.float32(y), mode="lines", line=line, **more)


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


def _json(figure: "go.Figure") -> str:
    """The figure as JSON that is safe in a page: without the sign that begins a tag."""
    return str(figure.to_json()).replace("<", "\\u003c")


def _shown(text: str) -> str:
    """A text as Plotly shows it letter by letter: it takes some tags for its own and leaves out all others."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
