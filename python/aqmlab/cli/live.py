"""The command `live`."""

import json
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aqmlab import files
from aqmlab._core import CommandError, Scenario, SchemeError
from aqmlab.cli.common import Jobs, Json, Out, Settings, TracesOption, leave, print_json
from aqmlab.cli.output import Format, TableFormat, check_format, print_parts
from aqmlab.cli.virtual import VirtualOptions, compare
from aqmlab.cli.virtual import run as run_virtual
from aqmlab.problems import InputError
from aqmlab.quantities import option_value
from aqmlab.scenario import assignments, load

if TYPE_CHECKING:
    from aqmlab.present.terminal.dial import Dial
    from aqmlab.runs.live import EmulatedLine, LiveRun
    from aqmlab.runs.results import RunResult

EPILOG = "Example: aqmlab live --rate 20Mbit/s --rtt 40ms --aqm fq-codel --serve 'iperf3 -s' -- iperf3 -c server -t 10"

SETTINGS = {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}


def live(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SCENARIO] [-- COMMAND...]", help="A scenario; the command to run.", show_default=False
        ),
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE|FILE", help="Rate of both directions.")] = None,
    up: Annotated[
        str | None, typer.Option(metavar="RATE|FILE", help="Rate from the command: a rate, or a trace.")
    ] = None,
    down: Annotated[str | None, typer.Option(metavar="RATE|FILE", help="Rate to the command.")] = None,
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Round-trip propagation delay.")] = "40ms",
    buffer: Annotated[
        str, typer.Option(metavar="SIZE", help="Buffer of each direction: 250ms, '100 packets'.")
    ] = "250ms",
    aqm: Annotated[
        str | None, typer.Option(metavar="NAME[:k=v,...]", help="Scheme, or one per direction: codel@up+pie@down.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**64 - 1, help="Seed of scheme and losses.")] = 1,
    settings: Settings = None,
    traces: TracesOption = None,
    serve: Annotated[
        list[str] | None, typer.Option(metavar="COMMAND", help='Run at the far end, the host "server"; repeatable.')
    ] = None,
    outside: Annotated[
        bool, typer.Option("--outside", help="Reach your own network through the link (needs pasta, package passt).")
    ] = False,
    duration: Annotated[str | None, typer.Option(metavar="TIME", help="End the command after this time.")] = None,
    tcp: Annotated[
        str | None, typer.Option(metavar="NAME", help="The kernel's congestion controller: reno, cubic.")
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="Use ECN in the kernel's TCP.")] = False,
    mtu: Annotated[int, typer.Option(metavar="BYTES", help="Largest packet.")] = 1500,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Repeat the decisions that --out DIR has logged, in simulated time."),
    ] = None,
    view: Annotated[
        bool, typer.Option("--view", help="Show queue, rate, p and drops in the last row of the terminal.")
    ] = False,
    beside: Annotated[bool, typer.Option("--beside", help="Simulate the same link, and show both results.")] = False,
    virtual: Annotated[
        bool, typer.Option("--virtual", help="Run in virtual time on a kernel of aqmlab kernel build.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="COMMAND", help="Run at the near end next to the command, with --virtual; repeatable."),
    ] = None,
    write: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="A folder that programs may change, with --virtual; default: this one."),
    ] = None,
    syscall: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time that a system call takes, with --virtual; default: 1us.")
    ] = None,
    start_spread: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Start the command up to TIME later, drawn from the seed, with --virtual."),
    ] = None,
    twice: Annotated[
        bool, typer.Option("--twice", help="Run again under the same seed and compare the results, with --virtual.")
    ] = False,
    kernel: Annotated[
        str | None,
        typer.Option(metavar="PATH|VERSION", help="The kernel, with --virtual; default: the newest."),
    ] = None,
    aqms: Annotated[
        str | None, typer.Option(metavar="LIST", help="Several schemes side by side, with --virtual.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Run with seeds 1 to N, with --virtual.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=REGEX",
            help="A number in the command's output, with --virtual; or NAME=json:$.a.b, exit, time.",
        ),
    ] = None,
    jobs: Jobs = None,
    kind: Format = TableFormat.table,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Run a command on an emulated access link, with real traffic, without root.

    The command (default: your shell) gets a separate network, in which the far end is the host "server".
    Both directions have rate, delay, buffer and scheme. --out writes result.json, flows.csv and every packet.
    """
    from aqmlab import own
    from aqmlab.present.reports import live as report
    from aqmlab.runs import live as runs

    check_format(kind, as_json=as_json)
    if replay:
        return _replay(replay, aqm, kind, as_json)
    name, command = _split(words or [])
    inside = VirtualOptions(also, write, syscall, start_spread, twice, kernel, measure, aqms, seeds, jobs)
    inside.check(virtual=virtual, outside=outside, has_command=bool(command))
    line = _line(
        name,
        runs.EmulatedLine(up or rate, down or rate, rtt, buffer, law=tcp or "cubic", ecn=ecn),
        settings,
        rate,
        traces,
    )
    scenario = line.scenario() if isinstance(line, runs.EmulatedLine) else line
    scheme = None if aqm is None else own.spec(aqm)
    wanted = option_value("duration", duration, "s")
    if out:
        files.check_folder(out)
    sysctls = [("net.ipv4.tcp_congestion_control", tcp)] if tcp else []
    sysctls += [("net.ipv4.tcp_ecn", "1")] if ecn else []
    dial = _dial(scenario, scheme) if view and sys.stderr.isatty() else None
    if inside.is_comparison:
        _refuse_beside_seeds({"out": out, "beside": beside, "view": view, "twice": twice, "seed": seed != 1 and seed})
        return compare(
            inside, aqm, kind, as_json, scenario, command, serve=serve or [], duration=wanted, mtu=mtu, sysctls=sysctls
        )
    run = partial(run_virtual, options=inside) if virtual else partial(runs.live, outside=outside)
    try:
        done = run(
            scenario,
            command or runs.shell(),
            aqm,
            seed,
            serve=serve or [],
            duration=wanted,
            mtu=mtu,
            sysctls=sysctls,
            quiet_stdout=as_json,
            folder=out,
            watch=dial,
        )
    except CommandError as error:
        why, code = error.args
        print(f"Error: {why}", file=sys.stderr)
        raise typer.Exit(code) from None
    finally:
        if dial:
            dial.close()
    if out:
        from aqmlab.present import live_files

        leave(out, live_files.records(done))
    simulated = _simulated(done, line, scheme, seed) if beside else None
    if out:
        leave(out, live_files.pictures(done, scenario, scheme, simulated))
    for warning in done.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    if as_json:
        print_json(done.document | ({"simulated": json.loads(simulated.json())} if simulated else {}))
    else:
        print_parts(report.parts(done.document, simulated), kind)
    raise typer.Exit(done.code)


def _refuse_beside_seeds(options: dict[str, object]) -> None:
    """Refuse options of one run where there are several."""
    for option, value in options.items():
        if value:
            raise InputError(option, "is for one run; leave it out, or --aqms, --seeds and --measure")


def _dial(scenario: Scenario, aqm: str | None) -> "Dial":
    """The view of a link's directions in the terminal."""
    from aqmlab import catalogue
    from aqmlab.present.terminal.console import Plain
    from aqmlab.present.terminal.dial import Dial

    schemes = {link: catalogue.used(scenario, link, aqm) for link in scenario.links}
    return Dial(Plain(stderr=True).file, {link if link == "down" else "up": scheme for link, scheme in schemes.items()})


def _simulated(done: "LiveRun", line: "EmulatedLine | Scenario", scheme: str | None, seed: int) -> "RunResult | None":
    """The simulation of a live run; None with a warning if it fails, because the live run counts."""
    from aqmlab.runs.live import beside

    try:
        return beside(done, line, scheme, seed)
    except (InputError, SchemeError) as error:
        print(f"Warning: not simulated: {error}", file=sys.stderr)
        return None


def _replay(folder: Path, aqm: str | None, kind: TableFormat, as_json: bool) -> None:
    """Print how the decisions of a live run compare with those in simulated time; exit with 1 if they differ."""
    from aqmlab.present.reports import live as report
    from aqmlab.runs.live import replay

    found = replay(folder, aqm)
    if as_json:
        print_json({name: asdict(direction) for name, direction in found.items()})
    else:
        print_parts(report.replay(found), kind)
    if not all(direction.is_identical for direction in found.values()):
        raise typer.Exit(1)


def _split(words: list[str]) -> tuple[str | None, list[str]]:
    """Scenario and command: the words before and after `--`, which the parser has removed."""
    if "--" not in sys.argv:
        if len(words) > 1:
            raise InputError("command", f"{words[1]}: write the command after --, as in: aqmlab live -- {words[1]}")
        return (words[0] if words else None), []
    after = len(sys.argv) - sys.argv.index("--") - 1
    before, command = words[: len(words) - after], words[len(words) - after :]
    if len(before) > 1:
        raise InputError("scenario", f"{before[1]}: one scenario, and the command after --")
    return (before[0] if before else None), command


def _line(
    name: str | None, line: "EmulatedLine", settings: list[str] | None, rate: str | None, traces: Path | None
) -> "EmulatedLine | Scenario":
    """The link that the options describe, or the named scenario."""
    values = assignments(settings or [])
    if name is None:
        return replace(line, values=values)
    for option, value in (("rate", rate), ("up", line.up), ("down", line.down)):
        if value is not None:
            raise InputError(option, f"{value}: describes a link; give no scenario, or set it with --set")
    return load(name, values, traces=traces)
