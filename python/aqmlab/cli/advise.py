"""The command `advise`."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab.cli.common import CallOption, Jobs, Json, LawOption, Settings, exit_if_failed, print_json, progress
from aqmlab.problems import InputError
from aqmlab.quantities import option_value
from aqmlab.scenario import assignments, chosen, load

if TYPE_CHECKING:
    from aqmlab.advise import Advice
    from aqmlab.advise.commands import Typed
    from aqmlab.advise.tried import Check

EPILOG = "Example: aqmlab advise --down 50Mbit/s --up 10Mbit/s --rtt 30ms --for latency"

DEV_UP = "eth1"
"""The interface to the Internet in the commands for an ISP, unless named."""

Rate = Annotated[str | None, typer.Option(metavar="RATE", help="Rate of a link of one direction that many share.")]
Seeds = Annotated[int, typer.Option(metavar="N", min=2, help="Seeds of each scheme in each condition.")]


def advise(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SCENARIO...]", help="Scenarios of your own instead of a line.", show_default=False),
    ] = None,
    down: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of an access line, to you.")] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of an access line, from you.")] = None,
    rate: Rate = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Usual round-trip time (30ms).")] = None,
    buffer: Annotated[str | None, typer.Option(metavar="SIZE", help="Buffer of all links: 1000ms, '1 MB'.")] = None,
    flows: Annotated[int | None, typer.Option(metavar="N", min=1, help="Long transfers, with --rate (20).")] = None,
    law: LawOption = None,
    call: CallOption = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="All transfers speak ECN.")] = False,
    varying: Annotated[
        bool, typer.Option("--varying", help="Rates wander down to a quarter, as a radio link's do.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", metavar="KIND", help="The line is by radio: lte or 5g (aqmlab list presets); rates are means."
        ),
    ] = None,
    link_layer: Annotated[
        str | None,
        typer.Option(
            "--link-layer",
            metavar="KIND",
            help="Headers and framing on the wire, by CAKE's keywords: bridged-ptm, pppoe-ptm, pppoe-vcmux, docsis, "
            "ethernet, ...",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("--subscribers", metavar="N", min=1, help="Subscribers of an ISP's link, with --rate and --plan."),
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
        typer.Option(metavar="LIST", help="Candidates: a,b:k=v,... (default: the deployed ones, set for the line)."),
    ] = None,
    seeds: Seeds = 5,
    settings: Settings = None,
    dev: Annotated[str, typer.Option("--dev", metavar="DEV", help="The interface of the lines to type.")] = "eth0",
    dev_up: Annotated[
        str | None,
        typer.Option("--dev-up", metavar="DEV", help="The interface to the Internet, with --subscribers (eth1)."),
    ] = None,
    openwrt: Annotated[bool, typer.Option("--openwrt", help="Print settings of OpenWrt's SQM instead.")] = False,
    shape: Annotated[
        str | None,
        typer.Option("--shape", metavar="PERCENT", help="Share of an access line's rate that the shapers keep (95%)."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Try the lines on Linux itself, under load.")] = False,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Say which scheme suits a line, with which parameters, why, and what to type into Linux.

    Describe an access line by --down and --up, a link of one direction by --rate, or an ISP's link by --rate,
    --subscribers and --plan. The deployed schemes are compared in several conditions, and ranked by what matters to
    you.
    """
    from aqmlab.advise import LineSpec, commands, conditions, document, isp, needs
    from aqmlab.advise import advise as compare
    from aqmlab.laws import law_spec
    from aqmlab.present.terminal import advice as tables

    if check:
        _check_possible(openwrt)
    wanted = needs.chosen(matters)
    whole, served = None, None
    if scenarios:
        of_line = {"down": down, "up": up, "rate": rate, "rtt": rtt, "buffer": buffer, "flows": flows, "law": law}
        of_line |= {"call": call, "preset": preset, "link-layer": link_layer, "subscribers": count, "plan": plan}
        of_line |= {"dev-up": dev_up}
        of_line |= {"ecn": ecn or None, "varying": varying or None}
        _refuse(of_line, "describes a line; leave the scenarios out, or set it by --set")
        given = [load(each, assignments(settings or [])) for name in scenarios for each in chosen(name)]
    else:
        rates = {name: _rate(name, text) for name, text in (("down", down), ("up", up), ("rate", rate))}
        served = isp.subscribers(count, plan, rates["rate"])
        if not served:
            _refuse({"dev-up": dev_up}, "is for --subscribers; --dev names the interface of a single line")
        else:
            others = {"down": down, "up": up, "flows": flows, "preset": preset, "shape": shape}
            others |= {"varying": varying or None, "openwrt": openwrt or None, "check": check or None}
            _refuse(others, "has no meaning with --subscribers, which prints trees of HTB with the rates of --plan")
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
        _refuse(one_way, "shapes an access line; give --down and --up in place of --rate")
        _refuse(
            {"shape": shape} if varying or preset else {}, "is a share of a fixed rate, and that of this line varies"
        )
        values = assignments(settings or [])
        given, whole = conditions(described, values), conditions(described, values, whole=True)[0]
    by_router = commands.writer(
        for_openwrt=openwrt and not as_json, shape=commands.share(shape) if shape else commands.SHAPE
    )
    with progress("Comparing candidates") as told:
        found = compare(given, wanted, aqms, seeds, whole=whole, jobs=jobs, progress=told)
    writer = isp.writer(served, dev_up or DEV_UP) if served else by_router
    lines = commands.best(found, dev, writer, "SQM" if openwrt else "Linux")
    if not as_json:
        tables.advice(found, lines)
    tried = _try(found, lines, dev) if check else None
    if as_json:
        print_json(document.document(found, writer, dev) | ({"check": tried.document()} if tried else {}))
    elif tried:
        tables.check(tried)
    exit_if_failed(found.failures)


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Raise InputError for an option that is given, and has no meaning here."""
    for option, value in options.items():
        if value is not None:
            raise InputError(option, f"{'' if value is True else f'{value}: '}{why}")


def _check_possible(openwrt: bool) -> None:
    """Raise InputError if there is nothing to try lines on, before any work."""
    from aqmlab.kernel.images import newest

    if openwrt:
        raise InputError("check", "tries lines of tc on a kernel of its own; leave --openwrt out")
    newest()


def _try(found: "Advice", lines: "Mapping[str, Typed]", dev: str) -> "Check":
    """Try the lines on the kernel."""
    from aqmlab.advise.tried import check

    scheme, typed = next((each for each in lines.items() if each[1].commands), (found.advised, lines[found.advised]))
    with progress("Trying the lines on Linux") as told:
        return check(found, scheme, typed, dev, told)


def _rate(option: str, text: str | None) -> float | None:
    """Return a rate in bit/s; of a file, which only a scenario takes, the error says how."""
    if text and os.path.isfile(text):
        link = "link" if option == "rate" else option
        trace = f"--set 'links.{link}.rate={{ trace = \"{text}\" }}'"
        raise InputError(option, f"{text}: is a file; give the mean rate here, and the trace by {trace}")
    return option_value(option, text, "bit/s")
