"""The command `advise`."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab.cli.common import CallOption, Jobs, Json, LawOption, Settings, exit_if_failed, print_json, progress
from aqmlab.cli.output import Format, TableFormat, check_format, print_parts
from aqmlab.problems import InputError
from aqmlab.quantities import option_value, written
from aqmlab.scenario import assignments, chosen, load

if TYPE_CHECKING:
    from aqmlab.advise import Advice
    from aqmlab.advise.commands import Typed
    from aqmlab.advise.tried import Check
    from aqmlab.fit.line import MeasuredLine

EPILOG = "Example: aqmlab advise --down 50Mbit/s --up 10Mbit/s --rtt 30ms --for latency"

DEV_UP = "eth1"
"""The interface to the Internet in the commands for an ISP, unless named."""

Rate = Annotated[str | None, typer.Option(metavar="RATE", help="Rate of a shared link with one direction.")]
Seeds = Annotated[int, typer.Option(metavar="N", min=2, help="Seeds per scheme and condition.")]


def advise(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO...]", help="Your scenarios, instead of an access link.", show_default=False),
    ] = None,
    down: Annotated[str | None, typer.Option(metavar="RATE", help="Downlink rate of an access link.")] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Uplink rate of an access link.")] = None,
    rate: Rate = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help="Take the access link from the twin of aqmlab fit --out, or a measurement."
        ),
    ] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Typical round-trip time; default: 30ms.")] = None,
    buffer: Annotated[str | None, typer.Option(metavar="SIZE", help="Buffer of all links: 1000ms, '1 MB'.")] = None,
    flows: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Long transfers, with --rate; default: 20.")
    ] = None,
    law: LawOption = None,
    call: CallOption = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="All transfers use ECN.")] = False,
    varying: Annotated[
        bool, typer.Option("--varying", help="Rates vary between 25 and 100 %, as on a radio link.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", metavar="KIND", help="Radio link: lte or 5g (aqmlab list presets); the rates are means."
        ),
    ] = None,
    link_layer: Annotated[
        str | None,
        typer.Option(
            "--link-layer",
            metavar="KIND",
            help="Link-layer overhead as a CAKE keyword: bridged-ptm, pppoe-ptm, pppoe-vcmux, docsis, ethernet, ...",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--subscribers", metavar="N", min=1, help="Number of subscribers on an ISP's link, with --rate and --plan."
        ),
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="DOWN/UP", help="Rates of each subscriber: 100/20Mbit/s.")
    ] = None,
    matters: Annotated[
        str,
        typer.Option("--for", metavar="LIST", help="latency, transfers, throughput, fairness, or everything."),
    ] = "everything",
    aqms: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Candidates: a,b:k=v,...; default: the deployed AQMs, configured for the link."
        ),
    ] = None,
    seeds: Seeds = 5,
    settings: Settings = None,
    dev: Annotated[str, typer.Option("--dev", metavar="DEV", help="Interface in the printed commands.")] = "eth0",
    dev_up: Annotated[
        str | None,
        typer.Option("--dev-up", metavar="DEV", help="Interface to the Internet, with --subscribers; default: eth1."),
    ] = None,
    openwrt: Annotated[bool, typer.Option("--openwrt", help="Print settings for OpenWrt's SQM instead.")] = False,
    shape: Annotated[
        str | None,
        typer.Option(
            "--shape", metavar="PERCENT", help="Shaper rate as a share of the access link's rate; default: 95%."
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Test the commands on a Linux kernel under load.")] = False,
    jobs: Jobs = None,
    kind: Format = TableFormat.table,
    as_json: Json = False,
) -> None:
    """Recommend an AQM for an access link and print the commands to configure it.

    Describe an access link by --down and --up, a link with one direction by --rate, or an ISP's link by --rate,
    --subscribers and --plan. aqmlab compares the deployed AQMs in several conditions, and ranks them by your needs.
    """
    from aqmlab.advise import LineSpec, commands, conditions, document, isp, needs
    from aqmlab.advise import advise as compare
    from aqmlab.laws import law_spec
    from aqmlab.present.reports import advice as report

    check_format(kind, as_json=as_json)
    if check:
        _check_possible(openwrt)
    wanted = needs.chosen(matters)
    whole, served = None, None
    if scenarios:
        of_line = {"down": down, "up": up, "rate": rate, "rtt": rtt, "buffer": buffer, "flows": flows, "law": law}
        of_line |= {"call": call, "preset": preset, "link-layer": link_layer, "subscribers": count, "plan": plan}
        of_line |= {"dev-up": dev_up}
        of_line |= {"ecn": ecn or None, "varying": varying or None, "from": source}
        _refuse(of_line, "describes an access link; leave the scenarios out, or use --set")
        given = [load(each, assignments(settings or [])) for name in scenarios for each in chosen(name)]
    else:
        rates = {name: _rate(name, text) for name, text in (("down", down), ("up", up), ("rate", rate))}
        values = assignments(settings or [])
        if source:
            texts = {"down": down, "up": up, "rate": rate, "rtt": rtt, "buffer": buffer, "preset": preset}
            line = _measured(source, {**texts, "subscribers": count, "varying": varying or None})
            rates |= {"down": line.down, "up": line.up}
            rtt, values = written(line.rtt, "time"), line.settings | values
        served = isp.subscribers(count, plan, rates["rate"])
        if not served:
            _refuse({"dev-up": dev_up}, "requires --subscribers; for a single link use --dev")
        else:
            others = {"down": down, "up": up, "flows": flows, "preset": preset, "shape": shape}
            others |= {"varying": varying or None, "openwrt": openwrt or None, "check": check or None}
            _refuse(others, "cannot be used with --subscribers, which prints HTB trees with the rates of --plan")
            rates = {"down": served.down, "up": served.up}
        described = LineSpec(
            **rates,
            rtt=option_value("rtt", rtt, "s") or 0.030,
            buffer=buffer,
            flows=flows,
            law=None if law is None else law_spec(law),
            call=call,
            ecn=ecn,
            varying=varying,
            preset=preset,
            link_layer=link_layer,
        )
        one_way = {"shape": shape, "openwrt": openwrt or None} if described.rate else {}
        _refuse(one_way, "shapes an access link; use --down and --up instead of --rate")
        _refuse(
            {"shape": shape} if varying or preset else {},
            "is a share of a fixed rate, but the rate of this link varies",
        )
        given, whole = conditions(described, values), conditions(described, values, whole=True)[0]
    writer = (
        isp.writer(served, dev_up or DEV_UP)
        if served
        else commands.writer(
            for_openwrt=openwrt and not as_json, shape=commands.share(shape) if shape else commands.SHAPE
        )
    )
    with progress("Comparing candidates") as advance:
        found = compare(given, wanted, aqms, seeds, whole=whole, jobs=jobs, progress=advance)
    lines = commands.best(found, dev, writer, "SQM" if openwrt else "Linux")
    if not as_json:
        print_parts(report.parts(found, lines), kind)
    tried = _try(found, lines, dev) if check else None
    if as_json:
        print_json(document.document(found, writer, dev) | ({"check": tried.document()} if tried else {}))
    elif tried:
        print_parts(report.check(tried), kind)
    exit_if_failed(found.failures)


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Raise InputError for an option that is given but does not apply."""
    for option, value in options.items():
        if value is not None:
            raise InputError(option, f"{'' if value is True else f'{value}: '}{why}")


def _check_possible(openwrt: bool) -> None:
    """Raise InputError, before any work, if no kernel can test the commands."""
    from aqmlab.kernel.images import newest

    if openwrt:
        raise InputError("check", "tests tc commands on a Linux kernel; leave out --openwrt")
    newest()


def _try(found: "Advice", lines: "Mapping[str, Typed]", dev: str) -> "Check":
    """Test the commands on the kernel."""
    from aqmlab.advise.tried import check

    scheme, typed = next((each for each in lines.items() if each[1].commands), (found.advised, lines[found.advised]))
    with progress("Testing the commands on Linux") as advance:
        return check(found, scheme, typed, dev, advance)


def _measured(source: str, others: Mapping[str, object]) -> "MeasuredLine":
    """Return the link of a file; a measurement is fitted first. InputError if other options describe the link too."""
    _refuse(others, "describes the link, which --from takes from a file; leave out one of the two")
    from aqmlab.fit.line import measured_line

    with progress("Fitting the link") as advance:
        return measured_line(source, advance)


def _rate(option: str, text: str | None) -> float | None:
    """Return a rate in bit/s; of a file, which only a scenario takes, the error says how."""
    if text and os.path.isfile(text):
        link = "link" if option == "rate" else option
        trace = f"--set 'links.{link}.rate={{ trace = \"{text}\" }}'"
        raise InputError(option, f"{text}: is a file; give the mean rate here, and the trace with {trace}")
    return option_value(option, text, "bit/s")
