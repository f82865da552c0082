"""A control loop: its linear models, the verdict, and the models compared with the packets."""

from rich.table import Table

from aqmlab.analysis.beside import Beside
from aqmlab.analysis.gains import SCHEME, GainRanges
from aqmlab.analysis.maps import Axis
from aqmlab.analysis.result import MODELS, Analysis, Model
from aqmlab.present.figures.analysis import axis
from aqmlab.present.labels import label
from aqmlab.present.terminal.console import console, marks, table
from aqmlab.present.terminal.parts import as_table


def analysis(found: Analysis) -> None:
    """Print the operating point and the margins of each linear model, the verdict, and what was simulated."""
    out = console()
    network = found.network
    signals = "marks" if network.ecn else "drops"
    in_bytes = "" if network.buffer_bytes is None else f" of {network.packet:g} B ({network.buffer_bytes} B)"
    out.print(
        f"{label(found.scheme)}: {network.flows:g} flows, {network.capacity:.6g} packets/s, "
        f"{1e3 * network.longest:.4g} ms, target {network.target:g} of {network.buffer:g} packets{in_bytes}, {signals}"
    )
    out.print(*marks([label(found.scheme)]))
    if found.design is not None:
        out.print(f"Design: --aqm {_quoted(found.design.spec)}\n({found.design.rule})", soft_wrap=True)
    out.print(_models(found))
    out.print(_verdict(found))
    if found.map is not None:
        x, y, known = found.map.x, found.map.y, found.map.known
        out.print(
            f"Map: {100 * found.map.stable:.1f} % of {known} points with an operating point are stable; "
            f"{_extent(x)}, {_extent(y)}; --out DIR draws it"
        )
    if found.beside is not None:
        out.print(_beside(found.beside))


def ranges(found: GainRanges) -> None:
    """Print the coefficients, the ranges and what was simulated inside and outside of them."""
    out = console()
    out.print(f"{label(SCHEME)}: {found.setting}")
    out.print(*marks([label(SCHEME)]))
    for sheet in found.sheets():
        out.print(as_table(sheet, sheet.title))
    for gains in found.gains:
        out.print(f"--aqm {gains.spec}", soft_wrap=True)


def _quoted(spec: str) -> str:
    return f'"{spec}"' if " " in spec else spec


def _extent(varied: Axis) -> str:
    name, factor = axis(varied)
    return f"{name} from {factor * varied.values[0]:.4g} to {factor * varied.values[-1]:.4g}"


def _models(found: Analysis) -> Table:
    heads = ("p (%)", "window", "queue", "R (ms)", "gain margin", "phase (°)", "delay (ms)", "at (rad/s)", "loop")
    shown = table("", "linear model", numbers=heads)
    for name, model in found.models.items():
        shown.add_row(MODELS[name], *_row(model))
    return shown


def _row(model: Model) -> list[str]:
    point, margins = model.point, model.margins
    return [
        f"{100 * point.p:.3g}",
        f"{point.window:.3g}",
        f"{point.queue:.4g}",
        f"{1e3 * point.rtt:.4g}",
        "-" if margins.gain is None else f"{margins.gain:.3g}",
        _number(margins.phase, 1),
        _number(None if margins.delay is None else 1e3 * margins.delay, 0),
        _number(margins.gain_crossover or margins.phase_crossover, 2),
        "stable" if model.verdict.stable else "unstable",
    ]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _verdict(found: Analysis) -> str:
    gain = found.models["exact"].margins.gain
    if found.doubts:
        return f"No prediction: the model does not hold here, {'; '.join(found.doubts)}"
    if found.disputed:
        first, second = ("stable", "unstable") if found.stable else ("unstable", "stable")
        turns = "" if gain is None else f" (the boundary is at {gain:.3g} times the gain)"
        return f"No clear prediction: {first} as linearised exactly{turns}, {second} with refined windows"
    if found.stable:
        room = "for any gain" if gain is None else f"up to {gain:.3g} times the gain"
        return f"Predicted: stable, {room}"
    slower = "" if gain is None else f"; stable below {gain:.3g} times the gain"
    return f"Predicted: unstable, the queue oscillates{slower}"


def _beside(found: Beside) -> Table:
    heads = ("operating point", "fluid, classic", "fluid, refined", "packets", "refined vs packets")
    shown = table("", f"from {found.since:g} s", numbers=heads)
    for name, unit, values in found.rows():
        fluid, packets = values[-2:]
        ratio = "-" if fluid is None or not packets or fluid < packets / 10 else f"{100 * (fluid / packets - 1):+.1f} %"
        shown.add_row(f"{name} ({unit})", *("-" if v is None else f"{v:.4g}" for v in values), ratio)
    return shown
