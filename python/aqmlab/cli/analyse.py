"""The command `analyse`: the control loop of a scheme, its numbers in a terminal, its figures in a folder."""

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from aqmlab.cli.common import Json, Out, Settings, leave
from aqmlab.cli.output import Format, Output, TableFormat
from aqmlab.problems import InputError
from aqmlab.scenario import assignments

if TYPE_CHECKING:
    from aqmlab.analysis.result import Analysis

EPILOG = 'Example: aqmlab analyse pi --design --rate "45 Mbit/s" --rtt "80 ms" --flows 60'


class LinkOptions(TypedDict):
    """The link and its flows, as options."""

    rate: str | None
    rtt: str | None
    flows: int | None
    packet: str
    target: str | None
    ecn: bool


def analyse(
    aqm: Annotated[str, typer.Argument(metavar="NAME[:k=v,...]", help="The scheme, optionally with parameters.")],
    scenario: Annotated[
        str | None, typer.Option(metavar="SCENARIO", help="A built-in name or a TOML file; it is also simulated.")
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of the link, without a scenario.")] = None,
    rtt: Annotated[
        str | None, typer.Option(metavar="TIME", help="Round-trip propagation delay; for a design, the longest.")
    ] = None,
    flows: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of flows; for a design, the fewest.")
    ] = None,
    packet: Annotated[str, typer.Option(metavar="SIZE", help="Payload; TCP adds 40 B.")] = "1000 B",
    target: Annotated[
        str | None,
        typer.Option(metavar="QUEUE", help="Queue to hold, packets or time; default: buffer/3."),
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="Congestion signals are marks; default: drops.")] = False,
    design: Annotated[bool, typer.Option("--design", help="Use the gains of the scheme's design rule.")] = False,
    map_: Annotated[
        str | None,
        typer.Option("--map", metavar="X,Y", help="Stability over two of rate, rtt, flows, gain and parameters."),
    ] = None,
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Stable gains of npd-red, by Routh and with exact delays, and simulated.")
    ] = False,
    buffer: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Buffer, for --ranges; --rtt then includes the queue.")
    ] = None,
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="Unit for --ranges: packets, or bits as in the paper.")
    ] = "packets",
    settings: Settings = None,
    kind: Format = TableFormat.table,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Analyse the control loop: operating point, stability, margins.

    A scenario is also run as fluid and as packets, for comparison with the prediction. --out writes analysis.json and
    the figures.
    """
    from aqmlab import analysis
    from aqmlab.present.reports import analysis as report

    output = Output(kind, as_json, None, out)
    link = LinkOptions(rate=rate, rtt=rtt, flows=flows, packet=packet, target=target, ecn=ecn)
    if ranges:
        _check({"scenario": scenario, "design": design, "map": map_, "set": settings}, "not with --ranges")
        gains = analysis.gain_ranges(aqm, **link, buffer=buffer, unit=unit)
        _warn(gains.doubts)
        if out:
            leave(out, {"analysis.json": gains.json() + "\n"})
        output.show(gains.document, lambda: report.ranges(gains))
        return
    _check({"buffer": buffer, "unit": unit != "packets"}, "only with --ranges")
    found = analysis.analyse(
        aqm,
        scenario,
        **link,
        design=design,
        map=map_.split(",") if map_ else (),
        set=assignments(settings or []),
    )
    _warn(found.doubts)
    if out:
        leave(out, _contents(found))
    output.show(found.document, lambda: report.parts(found))


def _check(options: Mapping[str, object], reason: str) -> None:
    """InputError for an option that does not apply."""
    for name, value in options.items():
        if value:
            raise InputError(name, reason)


def _warn(doubts: Iterable[str]) -> None:
    for doubt in doubts:
        print(f"Warning: the model does not hold here: {doubt}", file=sys.stderr)


def _contents(found: "Analysis") -> dict[str, bytes | str]:
    from aqmlab.present.figures.analysis import figures
    from aqmlab.present.plots.files import encode_all

    return {"analysis.json": found.json() + "\n", **encode_all(figures(found))}
