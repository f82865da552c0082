"""The command `tc`."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab.cli.common import Json, print_json
from aqmlab.problems import InputError
from aqmlab.quantities import option_value, written

if TYPE_CHECKING:
    from aqmlab.tc import Reading

EPILOG = "Example: aqmlab tc fq-codel:target=8ms --rate 50Mbit/s --dev eth0"

Scheme = Annotated[
    str | None, typer.Argument(metavar="[AQM]", help="A scheme that Linux has: NAME or NAME:k=v,..., such as codel.")
]
Rate = Annotated[str | None, typer.Option("--rate", metavar="RATE", help="Rate of the link, or that a shaper keeps.")]
Buffer = Annotated[str | None, typer.Option("--buffer", metavar="SIZE", help="How much may wait: 600packets or 1MB.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="LINES", help="Read these lines, or what tc -d qdisc show printed; - is stdin."),
]


def tc_(
    scheme: Scheme = None,
    rate: Rate = None,
    buffer: Buffer = None,
    ecn: Annotated[bool, typer.Option("--ecn/--no-ecn", help="Mark packets that can carry a mark.")] = True,
    dev: Annotated[str, typer.Option("--dev", metavar="DEV", help="The interface.")] = "eth0",
    shaper: Annotated[
        bool, typer.Option("--shaper/--no-shaper", help="Keep the rate; without, it is the interface's own.")
    ] = True,
    packet: Annotated[
        int, typer.Option("--packet", metavar="B", min=1, help="Bytes of a full packet with its link header.")
    ] = 1514,
    lines: From = None,
    openwrt: Annotated[bool, typer.Option("--openwrt", help="Print settings of OpenWrt's SQM instead.")] = False,
    down: Annotated[str | None, typer.Option("--down", metavar="RATE", help="For SQM: rate of what comes in.")] = None,
    as_json: Json = False,
) -> None:
    """Print the lines of Linux's tc that set a scheme, or read such lines into a scheme and its link."""
    from aqmlab import own, tc
    from aqmlab.tc.openwrt import sqm

    if (scheme is None) == (lines is None):
        raise InputError("tc", "give a scheme to print its lines, or --from and lines to read")
    if lines is not None:
        _show(tc.read(_text(lines), packet), as_json)
        return
    link = tc.Link(option_value("rate", rate, "bit/s"), buffer, ecn, packet)
    setting = tc.Setting(own.spec(scheme or ""), link, shaper and rate is not None, dev)
    if down and not openwrt:
        raise InputError("down", "only SQM shapes both directions; add --openwrt")
    found = sqm(setting, option_value("down", down, "bit/s")) if openwrt else tc.write(setting)
    if as_json:
        print_json(asdict(found))
        return
    for note in found.notes:
        print(f"# {note}")
    for command in found.commands:
        print(command)


def _text(lines: str) -> str:
    if lines == "-":
        return sys.stdin.read()
    return lines


def _show(reading: "Reading", as_json: bool) -> None:
    """Print keys of [[links]] in a scenario."""
    link = reading.setting.link
    keys: dict[str, str | bool | None] = {
        "rate": written(link.rate, "bit/s") if link.rate else None,
        "buffer": link.buffer or reading.least or None,
        "ecn": link.ecn,
        "aqm": reading.setting.scheme,
    }
    notes = list(reading.notes)
    if not link.buffer:
        notes.append(f"buffer: the kernel's, as the line has none: {reading.least}")
    if as_json:
        print_json(keys | {"dev": reading.setting.dev, "shaper": reading.setting.shaper, "notes": notes})
        return
    for note in notes:
        print(f"# {note}")
    for name, value in keys.items():
        if value is not None:
            print(f"{name} = {json.dumps(value)}")
