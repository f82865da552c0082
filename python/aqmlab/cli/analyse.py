"""The command `analyse`: the control loop of a scheme, its numbers in a terminal, its figures in a folder."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab import files
from aqmlab.cli.common import Json, Out, Settings, leave
from aqmlab.scenario import assignments

if TYPE_CHECKING:
    from rich.table import Table

    from aqmlab.analysis.maps import Axis
    from aqmlab.analysis.result import Analysis, Model

EPILOG = 'Example: aqmlab analyse pi --design --rate "45 Mbit/s" --rtt "80 ms" --flows 60'


def analyse(
    aqm: Annotated[str, typer.Argument(metavar="NAME[:k=v,...]", help="The scheme, with parameters if wanted.")],
    scenario: Annotated[
        str | None, typer.Option(metavar="SCENARIO", help="A built-in name or a TOML file; it is simulated, too.")
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Without scenario: rate of the link.")] = None,
    rtt: Annotated[
        str | None, typer.Option(metavar="TIME", help="Round-trip propagation, longest of a design.")
    ] = None,
    flows: Annotated[int | None, typer.Option(metavar="N", min=1, help="Flows; the fewest, for a design.")] = None,
    packet: Annotated[str, typer.Option(metavar="SIZE", help="Payload; TCP adds 40 B.")] = "1000 B",
    target: Annotated[
        str | None,
        typer.Option(metavar="QUEUE", help="Queue to hold, packets or time; default: buffer/3."),
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="Signals are marks; default: drops.")] = False,
    design: Annotated[bool, typer.Option("--design", help="Take the gains of the scheme's design rule.")] = False,
    map_: Annotated[
        str | None,
        typer.Option("--map", metavar="X,Y", help="Stability over two of rate, rtt, flows, gain and parameters."),
    ] = None,
    settings: Settings = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Analyse the control loop: operating point, stability, margins.

    With a scenario, fluid model and packets stand beside the prediction. --out leaves analysis.json and the figures.
    """
    from aqmlab import analysis

    if out:
        files.check_folder(out)
    found = analysis.analyse(
        aqm,
        scenario,
        rate=rate,
        rtt=rtt,
        flows=flows,
        packet=packet,
        target=target,
        ecn=ecn,
        design=design,
        map=map_.split(",") if map_ else (),
        set=assignments(settings or []),
    )
    for doubt in found.doubts:
        print(f"Warning: the model does not hold here: {doubt}", file=sys.stderr)
    if as_json:
        print(found.json())
    else:
        _tell(found)
    if out:
        leave(out, _contents(found))


def _contents(found: "Analysis") -> dict[str, bytes | str]:
    from aqmlab.present import plots
    from aqmlab.present.analysis import figures

    left: dict[str, bytes | str] = {"analysis.json": found.json() + "\n"}
    for name, figure in figures(found).items():
        left |= {f"{name}.{kind}": plots.encode(figure, kind) for kind in ("png", "svg")}
    return left


def _tell(found: "Analysis") -> None:
    from aqmlab.present import terminal

    console = terminal.console()
    network = found.network
    signals = "marks" if network.ecn else "drops"
    in_bytes = "" if network.buffer_bytes is None else f" of {network.packet:g} B ({network.buffer_bytes} B)"
    console.print(
        f"{found.scheme}: {network.flows:g} flows, {network.capacity:.6g} packets/s, {1e3 * network.longest:.4g} ms, "
        f"target {network.target:g} of {network.buffer:g} packets{in_bytes}, {signals}"
    )
    if found.design is not None:
        console.print(f"Design: --aqm {_quoted(found.design.spec)}\n({found.design.rule})", soft_wrap=True)
    console.print(_models(found))
    console.print(_verdict(found))
    if found.map is not None:
        x, y, known = found.map.x, found.map.y, found.map.known
        console.print(
            f"Map: {100 * found.map.stable:.1f} % of {known} points with an operating point are stable; "
            f"{_extent(x)}, {_extent(y)}; --out DIR draws it"
        )
    if found.beside is not None:
        console.print(_beside(found))


def _quoted(spec: str) -> str:
    return f'"{spec}"' if " " in spec else spec


def _extent(axis: "Axis") -> str:
    from aqmlab.present.analysis import shown

    name, factor = shown(axis)
    return f"{name} from {factor * axis.values[0]:.4g} to {factor * axis.values[-1]:.4g}"


def _models(found: "Analysis") -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from aqmlab.analysis.result import MODELS

    table = Table(box=SIMPLE_HEAD)
    table.add_column("linear model")
    for name in ("p (%)", "window", "queue", "R (ms)", "gain margin", "phase (°)", "delay (ms)", "at (rad/s)", "loop"):
        table.add_column(name, justify="right")
    for name, model in found.models.items():
        table.add_row(MODELS[name], *_row(model))
    return table


def _row(model: "Model") -> list[str]:
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


def _verdict(found: "Analysis") -> str:
    gain = found.models["exact"].margins.gain
    if found.doubts:
        return f"No prediction: the model does not hold here, {'; '.join(found.doubts)}"
    if found.stable:
        room = "for any gain" if gain is None else f"up to {gain:.3g} times the gain"
        return f"Predicted: stable, {room}"
    slower = "" if gain is None else f"; stable below {gain:.3g} times the gain"
    return f"Predicted: unstable, the queue oscillates{slower}"


def _beside(found: "Analysis") -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    assert found.beside is not None
    table = Table(box=SIMPLE_HEAD)
    table.add_column(f"from {found.beside.since:g} s")
    for name in ("operating point", "fluid, classic", "fluid, refined", "packets", "refined : packets"):
        table.add_column(name, justify="right")
    for name, unit, values in found.beside.rows():
        fluid, packets = values[-2:]
        ratio = "-" if fluid is None or not packets or fluid < packets / 10 else f"{100 * (fluid / packets - 1):+.1f} %"
        table.add_row(f"{name} ({unit})", *("-" if v is None else f"{v:.4g}" for v in values), ratio)
    return table
