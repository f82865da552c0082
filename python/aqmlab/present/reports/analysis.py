"""The parts of an analysis: its linear models, the verdict, and the models compared with the packets."""

from collections.abc import Iterator

from aqmlab.analysis.gains import SCHEME, GainRanges
from aqmlab.analysis.maps import Axis
from aqmlab.analysis.result import Analysis
from aqmlab.present.figures.analysis import axis
from aqmlab.present.labels import footnote, label
from aqmlab.present.parts import Part, Section


def parts(found: Analysis) -> list[Part]:
    """Return the operating point and the margins of each linear model, the verdict, and what was simulated."""
    marks = footnote([label(found.scheme)])
    sections = [Section("", findings=[_setting(found), *([marks] if marks else [])])]
    if found.design is not None:
        sections.append(Section("Design", findings=[found.design.rule], code=[f"--aqm {_quoted(found.design.spec)}"]))
    models, *simulated = (Section(sheet.title, sheet=sheet) for sheet in found.sheets())
    verdict = Section("", findings=[_verdict(found), *_map(found)])
    return [Part("analysis", "", "", [*sections, models, verdict, *simulated])]


def ranges(found: GainRanges) -> list[Part]:
    """Return the coefficients, the ranges and what was simulated inside and outside of them."""
    marks = footnote([label(SCHEME)])
    setting = Section("", findings=[f"{label(SCHEME)}: {found.setting}", *([marks] if marks else [])])
    tables = [Section(sheet.title, sheet=sheet) for sheet in found.sheets()]
    gains = Section("", code=[f"--aqm {gains.spec}" for gains in found.gains])
    return [Part("ranges", "", "", [setting, *tables, gains])]


def _setting(found: Analysis) -> str:
    network = found.network
    signals = "marks" if network.ecn else "drops"
    in_bytes = "" if network.buffer_bytes is None else f" of {network.packet:g} B ({network.buffer_bytes} B)"
    return (
        f"{label(found.scheme)}: {network.flows:g} flows, {network.capacity:.6g} packets/s, "
        f"{1e3 * network.longest:.4g} ms, target {network.target:g} of {network.buffer:g} packets{in_bytes}, {signals}"
    )


def _quoted(spec: str) -> str:
    return f'"{spec}"' if " " in spec else spec


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


def _map(found: Analysis) -> Iterator[str]:
    if found.map is not None:
        yield (
            f"Map: {100 * found.map.stable:.1f} % of {found.map.known} points with an operating point are stable; "
            f"{_extent(found.map.x)}, {_extent(found.map.y)}; --out DIR draws it"
        )


def _extent(varied: Axis) -> str:
    name, factor = axis(varied)
    return f"{name} from {factor * varied.values[0]:.4g} to {factor * varied.values[-1]:.4g}"
