"""The command `tc`."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab import untrusted
from aqmlab.cli.common import Json, print_json
from aqmlab.problems import InputError
from aqmlab.quantities import option_value, written

if TYPE_CHECKING:
    from aqmlab.tc import Lines, Reading, Tree

LARGEST = 1_000_000
"""Maximum number of bytes read from standard input."""
EPILOG = "Example: aqmlab tc fq-codel:target=8ms --rate 50Mbit/s --dev eth0"

Scheme = Annotated[
    str | None, typer.Argument(metavar="[AQM]", help="An AQM that Linux supports: NAME or NAME:k=v,..., such as codel.")
]
Rate = Annotated[str | None, typer.Option("--rate", metavar="RATE", help="Rate of the link, which a shaper enforces.")]
Buffer = Annotated[str | None, typer.Option("--buffer", metavar="SIZE", help="Limit of the queue: 600packets or 1MB.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="LINES", help="Parse tc commands, or the output of tc -d qdisc show; - is stdin."),
]


def tc(
    scheme: Scheme = None,
    rate: Rate = None,
    buffer: Buffer = None,
    ecn: Annotated[
        bool, typer.Option("--ecn/--no-ecn", help="Mark ECN-capable packets instead of dropping them.")
    ] = True,
    dev: Annotated[str, typer.Option("--dev", metavar="DEV", help="Network interface.")] = "eth0",
    shaper: Annotated[
        bool,
        typer.Option(
            "--shaper/--no-shaper", help="Shape to --rate; without a shaper the interface has that rate itself."
        ),
    ] = True,
    packet: Annotated[
        int,
        typer.Option(
            "--packet", metavar="B", min=1, help="Size of a full packet in bytes, with its link-layer header."
        ),
    ] = 1514,
    lines: From = None,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="SCENARIO",
            help="Print the HTB commands for the classes of the first link that has any.",
        ),
    ] = None,
    openwrt: Annotated[bool, typer.Option("--openwrt", help="Print settings for OpenWrt's SQM instead.")] = False,
    down: Annotated[str | None, typer.Option("--down", metavar="RATE", help="For SQM: download rate.")] = None,
    nat: Annotated[
        bool,
        typer.Option("--nat/--no-nat", help="For SQM: the router is a NAT, and CAKE looks up the internal hosts."),
    ] = True,
    as_json: Json = False,
) -> None:
    """Print the tc commands that configure an AQM in Linux, or convert tc commands into a scenario's link."""
    from aqmlab import own, scenario, tc
    from aqmlab.tc import tree
    from aqmlab.tc.openwrt import sqm

    if sum(each is not None for each in (scheme, lines, classes)) != 1:
        raise InputError("tc", "give a scheme or --classes SCENARIO to print commands, or --from LINES to parse some")
    if lines is not None:
        text = _text(lines)
        if tree.is_tree(text):
            _show_tree(tree.read_tree(text, packet), as_json)
        else:
            _show(tc.read(text, packet), as_json)
        return
    if classes is not None:
        loaded = scenario.load(classes)
        links = [link["name"] for link in loaded.resolved()["links"] if link.get("classes")]
        _print(tc.write_tree(loaded, links[0] if links else loaded.links[0], dev, packet), as_json)
        return
    link = tc.Link(option_value("rate", rate, "bit/s"), buffer, ecn, packet)
    setting = tc.Setting(own.spec(scheme or ""), link, shaper and rate is not None, dev)
    if down and not openwrt:
        raise InputError("down", "only SQM shapes both directions; add --openwrt")
    if not nat and not openwrt:
        raise InputError("nat", "applies to SQM only; add --openwrt")
    _print(sqm(setting, option_value("down", down, "bit/s"), nat=nat) if openwrt else tc.write(setting), as_json)


def _print(found: "Lines", as_json: bool) -> None:
    """Print commands or SQM settings, with the notes first."""
    if as_json:
        print_json(asdict(found))
        return
    for note in found.notes:
        print(f"# {note}")
    for command in found.commands:
        print(command)


def _text(lines: str) -> str:
    if lines == "-":
        if sys.stdin is None:
            raise InputError("from", "standard input: is closed; expected tc commands")
        data = untrusted.read_stream(sys.stdin.buffer, LARGEST, "standard input", "from")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError("from", "standard input: not UTF-8 text; expected tc commands") from error
    return lines


def _show_tree(found: "Tree", as_json: bool) -> None:
    """Print keys of [[links]] in a scenario, and its classes."""
    if as_json:
        print_json(asdict(found))
        return
    for note in found.notes:
        print(f"# {note}")
    print(found.toml(), end="")


def _show(reading: "Reading", as_json: bool) -> None:
    """Print keys of [[links]] in a scenario."""
    link = reading.setting.link
    keys: dict[str, str | bool | None] = {
        "rate": written(link.rate, "bit/s") if link.rate else None,
        "buffer": link.buffer or reading.least or None,
        "ecn": link.ecn,
        **link.layer.keys(),
        "aqm": reading.setting.scheme,
    }
    notes = list(reading.notes)
    if not link.buffer:
        notes.append(f"buffer: the kernel's default, {reading.least}")
    if as_json:
        print_json(keys | {"dev": reading.setting.dev, "shaper": reading.setting.shaper, "notes": notes})
        return
    for note in notes:
        print(f"# {note}")
    for name, value in keys.items():
        if value is not None:
            print(f"{name} = {json.dumps(value)}")
