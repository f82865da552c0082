"""The command `compare`."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aqmlab.cli.common import (
    SPREAD,
    CallOption,
    Engine,
    Engines,
    Jitter,
    Jobs,
    Json,
    LawOption,
    Measures,
    Memory,
    Out,
    Seeds,
    Settings,
    TracesOption,
    command,
    exit_if_failed,
    progress,
    results,
    tell_time,
)
from aqmlab.cli.output import Format, Output, SizeOption, TableFormat, print_parts
from aqmlab.problems import InputError
from aqmlab.scenario import assignments, chosen, load, read

if TYPE_CHECKING:
    from aqmlab._core import Scenario
    from aqmlab.present.html.page import Files
    from aqmlab.present.plots.style import Size
    from aqmlab.runs.comparison import Comparison
    from aqmlab.runs.engines import EngineComparison
    from aqmlab.runs.executor import Progress
    from aqmlab.runs.task import Failure

EPILOG = "Example: aqmlab compare li2014/table-1 --aqms ared,rem,pi --seeds 5 --out report"

LINE = {"down": "links.down.rate", "up": "links.up.rate", "rtt": "flows.*.rtt", "buffer": "links.*.buffer"}
"""The options that describe an access line, and what they set."""


def compare(
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCENARIO...",
            help="Built-in names (li2014/table-1; home: all of them) or TOML files.",
            show_default=False,
        ),
    ] = None,
    aqms: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="a,b:k=v,a@up+b@down,... | deployed (default) | seed-papers (default in a paper's scenarios) | all; "
            "FILE.py[:Class]: your own. A study has its own.",
        ),
    ] = None,
    seeds: Seeds = 1,
    settings: Settings = None,
    traces: TracesOption = None,
    law: LawOption = None,
    ccs: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Controllers side by side under each scheme: cubic,bbr3,./libmine.so; the first one is the reference.",
        ),
    ] = None,
    call: CallOption = None,
    measures: Measures = None,
    jitter: Jitter = False,
    down: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of the link called down.")] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of the link called up, or upwards.")] = None,
    buffer: Annotated[str | None, typer.Option(metavar="SIZE", help="Buffer of all links: 1000ms, '1 MB'.")] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--study",
            metavar="NAME",
            help="Every experiment of a suite instead: rfc7928, l4s, bbr, ...: aqmlab list studies.",
        ),
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of your link, with --study.")] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Round-trip time of all flows.")] = None,
    flows: Annotated[
        int | None, typer.Option(metavar="N", help="Long flows where the RFC has a few, with --study.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="These sections or scenarios of a suite, with *: 8.2.*,9.1-mix."),
    ] = None,
    engine: Engine = "sim",
    engines: Engines = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the definition of each column.")] = False,
    jobs: Jobs = None,
    memory: Memory = None,  # noqa: ARG001
    kind: Format = TableFormat.table,
    as_json: Json = False,
    size: SizeOption = None,
    out: Out = None,
) -> None:
    """Simulate schemes or congestion controllers side by side, in scenarios or in every experiment of a suite.

    --down, --up, --rtt and --buffer describe your access link, for scenarios such as home/call. --study rfc7928 runs
    the experiments of RFC 7928, scaled to your link by --rate, --up, --rtt, --buffer and --flows. --only selects some
    of them, and --cc replaces NewReno. Other studies (aqmlab list studies) compare published statements about L4S, BBR
    and slow start with the simulator, on their own links or on yours. The study bbr-draft runs the test cases of the
    draft of BBR (--cc bbr3 or bbr): --rate, --rtt, --only 1,9,14. --engines sim,linux also runs each scenario on a
    Linux kernel and prints the differences.
    --ccs compares congestion controllers under each scheme. --out writes report.html, results.json, and the figures
    as PDF, SVG and PNG with their captions in figures.tex.
    """
    from aqmlab.study.paper import DRAFTS

    output = Output(kind, as_json, size, out)
    if (scenarios is None) == (name is None):
        raise InputError("scenario", "give one or more scenarios, or --study rfc7928 for every experiment of a suite")
    wanted = CompareRequest(aqms, seeds, _engines(engine, engines), jobs, law, call, explain, traces, ccs, output)
    if name in DRAFTS:
        others: dict[str, Any] = {
            "explain": explain or None,
            "aqms": aqms,
            "down": down,
            "up": up,
            "buffer": buffer,
            "set": settings,
            "measure": measures,
            "traces": traces,
        }
        others |= {
            "jitter": jitter or None,
            "call": call,
            "flows": flows,
            "engines": engines,
        }
        others |= {"engine": engine if engine != "sim" else None, "seeds": seeds if seeds != 1 else None, "ccs": ccs}
        others |= {"size": size and size.value}
        _refuse(
            _given(others), f"cannot be used with --study {name}, whose cases define everything except --rate and --rtt"
        )
        _in_draft(_given({"rate": rate, "rtt": rtt, "only": only, "law": law, "jobs": jobs}), output)
        return
    line = _given({"down": down, "up": up, "rtt": rtt, "buffer": buffer})
    link = _given({"rate": rate, "flows": flows, "only": only})
    if scenarios is not None:
        _refuse(link, "describes a suite; use it with --study, such as --study rfc7928")
        spread = ["=".join(SPREAD)] if jitter else []
        names = scenarios_for(scenarios, wanted.engines, traces)
        if ccs is not None:
            one = {"law": law, "engines": engines}
            _refuse(one, "cannot be combined with --ccs; leave out one of the two")
        subject = ", ".join(read(each)[0] for each in names)
        output.check(f"controllers in {subject}" if ccs is not None else subject)
        compared = _in_scenarios if ccs is None else _between_controllers
        failures: Sequence[Failure | str] = compared(
            scenarios, names, line, [*spread, *(settings or [])], measures or [], wanted
        )
    else:
        of_scenarios: dict[str, Any] = {"down": down, "set": settings, "measure": measures, "jitter": jitter or None}
        of_scenarios |= {
            "explain": explain or None,
            "ccs": ccs,
            "call": call,
            "engine": engine if engine != "sim" else None,
            "engines": engines,
            "traces": traces,
        }
        _refuse(_given(of_scenarios), "is for scenarios; leave out --study")
        output.check(name or "")
        failures = _in_suite(name or "", {**link, **line}, wanted)
    exit_if_failed(failures)


def _engines(engine: str, engines: str | None) -> tuple[str, ...]:
    """Return the engines that are asked for, one of them or several."""
    from aqmlab.runs.engines import check_engines

    if engines is None:
        return (engine,)
    if engine != "sim":
        raise InputError("engine", f"{engine}: cannot be combined with --engines; leave out one of the two")
    names = tuple(name.strip() for name in engines.split(","))
    check_engines(names)
    return names


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {option: value for option, value in options.items() if value is not None}


def _refuse(options: Mapping[str, Any], why: str) -> None:
    """Raise InputError for an option that has no meaning here."""
    for option, value in _given(options).items():
        raise InputError(option, f"{value[0] if isinstance(value, list) else value}: {why}")


@dataclass(frozen=True)
class CompareRequest:
    """The options of a comparison that are the same in every scenario."""

    aqms: str | None
    seeds: int
    engines: tuple[str, ...]
    jobs: int | None
    law: str | None
    call: str | None
    explain: bool
    traces: Path | None
    ccs: str | None
    output: Output

    def command(self, *where: str) -> str:
        """Return the command line that repeats the comparison."""
        aqms = ["--aqms", self.aqms] if self.aqms is not None else []
        several = ["--engines", ",".join(self.engines)] if len(self.engines) > 1 else []
        engines = several or (["--engine", *self.engines] if self.engines != ("sim",) else [])
        laws = ["--cc", self.law] if self.law is not None else []
        laws += ["--ccs", self.ccs] if self.ccs is not None else []
        calls = ["--call", self.call] if self.call is not None else []
        traces = ["--traces", str(self.traces)] if self.traces is not None else []
        options = [*aqms, *laws, *calls, *traces, *engines, "--seeds", str(self.seeds), *self.output.options]
        return command("compare", *where, *options)


def _in_scenarios(
    given: Sequence[str],
    names: Sequence[str],
    line: Mapping[str, str],
    settings: Sequence[str],
    measures: Sequence[str],
    wanted: CompareRequest,
) -> "Sequence[Failure | str]":
    from aqmlab import laws, own
    from aqmlab.catalogue import usual
    from aqmlab.present.reports import comparison, engines
    from aqmlab.runs import simulate
    from aqmlab.runs.comparison import document

    changes = [*(f"{LINE[key]}={value}" for key, value in line.items()), *settings]
    given_aqms = None if wanted.aqms is None else own.select(wanted.aqms)  # first: a scenario may set their parameters
    values = assignments(changes)
    of_calls = _of_calls(names, values, wanted)
    scenarios = [
        laws.load_with(each, values | call, wanted.law, wanted.traces)
        for each, call in zip(names, of_calls, strict=True)
    ]
    _tell_time([(each, given_aqms or usual(each.name)) for each in scenarios], wanted)
    place = scenarios[0].name if len(scenarios) == 1 else f"{len(scenarios)} scenarios"
    with progress(f"Comparing in {place}") as advance:
        found = simulate.compare_engines(
            scenarios,
            given_aqms,
            wanted.seeds,
            engines=wanted.engines,
            measures=measures,
            jobs=wanted.jobs,
            progress=advance,
        )
    alone = [each.first for each in found] if len(wanted.engines) == 1 else []
    if wanted.output.out:
        _write_report(wanted.output, found, alone, wanted.command(*given, *_options(line, settings, measures)))
    if wanted.output.as_json:
        print(document(alone or found))
    else:
        parts = comparison.parts(alone) if alone else engines.parts(found)
        print_parts(parts, wanted.output.kind, explain=wanted.explain)
    return [failure for each in alone or found for failure in each.failures]


def _options(line: Mapping[str, str], settings: Sequence[str], measures: Sequence[str]) -> list[str]:
    """Return the options of a command line that set values and choose measures."""
    options = [part for option, value in line.items() for part in (f"--{option}", value)]
    options += [part for setting in settings for part in ("--set", setting)]
    return [*options, *(part for measure in measures for part in ("--measure", measure))]


def _between_controllers(
    given: Sequence[str],
    names: Sequence[str],
    line: Mapping[str, str],
    settings: Sequence[str],
    measures: Sequence[str],
    wanted: CompareRequest,
) -> Sequence[str]:
    from aqmlab.present.reports import controllers as report
    from aqmlab.runs.controllers import compare_ccs

    values = assignments([*(f"{LINE[key]}={value}" for key, value in line.items()), *settings])
    with progress(f"Comparing controllers in {', '.join(names)}") as advance:
        found = compare_ccs(
            names,
            wanted.ccs or "",
            wanted.aqms,
            wanted.seeds,
            set=[values | call for call in _of_calls(names, values, wanted)],
            measures=measures,
            jobs=wanted.jobs,
            engine=wanted.engines[0],
            traces=wanted.traces,
            progress=advance,
        )
    repeated = wanted.command(*given, *_options(line, settings, measures))
    wanted.output.write(
        lambda: results(found.document()), lambda advance, size: report.files(found, repeated, advance, size)
    )
    wanted.output.show(found.document, lambda: report.parts(found), explain=wanted.explain)
    return found.failures


def scenarios_for(given: Sequence[str], engines: Sequence[str], traces: Path | None = None) -> list[str]:
    """Return the scenarios that are given, by folder or one by one.

    On Linux, scenarios of a folder with adaptive calls are left out, with a note: Linux cannot send them.
    """
    from aqmlab.laws import calls
    from aqmlab.runs.task import is_linux

    names = []
    for name in given:
        of_name = chosen(name)
        on_linux = any(map(is_linux, engines))
        idle = [each for each in of_name if len(of_name) > 1 and on_linux and calls(load(each, traces=traces))]
        names += [each for each in of_name if each not in idle]
        for each in idle:
            print(f"{each} is left out: its calls run in the simulator only", file=sys.stderr)
    return names


def _of_calls(names: Sequence[str], values: Mapping[str, str], wanted: CompareRequest) -> list[dict[str, str]]:
    """Return the settings of each scenario with its rate control of calls; InputError if no scenario has such calls."""
    from aqmlab.laws import of_call

    if wanted.call is None:
        return [{} for _ in names]
    found = [of_call(load(name, values, traces=wanted.traces), wanted.call) for name in names]
    if not any(found):
        raise InputError(
            "call", f"{wanted.call}: no flow of {', '.join(names)} is an adaptive video call, as in home/meeting"
        )
    return found


def _tell_time(grid: "Sequence[tuple[Scenario, Sequence[str]]]", wanted: CompareRequest) -> None:
    """Say how long Linux takes, once it is known that it can do what is asked for."""
    from aqmlab.runs.checks import check_engine, check_schemes
    from aqmlab.runs.task import is_linux

    kernels = list(filter(is_linux, wanted.engines))
    for engine in kernels:
        for scenario, specs in grid:
            check_schemes(scenario, specs)
            check_engine(engine, scenario, specs)
    tell_time([(scenario, len(kernels) * len(specs) * wanted.seeds) for scenario, specs in grid], wanted.jobs)


def _write_report(
    output: Output, found: "Sequence[EngineComparison]", alone: "Sequence[Comparison]", command: str
) -> None:
    """Write the report on the comparisons by one engine if there are any `alone`, or by several."""
    from aqmlab.present.reports import comparison, engines

    def report(advance: "Progress", size: "Size") -> "Files":
        return (
            comparison.files(alone, command, advance, size) if alone else engines.files(found, command, advance, size)
        )

    output.write(lambda: comparison.records(alone or found), report)


def _in_suite(name: str, link: dict[str, Any], wanted: CompareRequest) -> "list[Failure]":
    from aqmlab.present.reports import suite as report
    from aqmlab.study import suite_result

    with progress(f"Comparing in {name}") as advance:
        compared = suite_result.compare_suite(
            name, wanted.aqms, law=wanted.law, seeds=wanted.seeds, jobs=wanted.jobs, progress=advance, **link
        )
    options = [part for option, value in link.items() for part in (f"--{option}", str(value))]
    repeated = wanted.command("--study", name, *options)
    wanted.output.write(
        lambda: results(compared.document()), lambda advance, size: report.files(compared, repeated, advance, size)
    )
    wanted.output.show(compared.document, lambda: report.parts(compared))
    return compared.failures


def _in_draft(asked: dict[str, Any], output: Output) -> None:
    from aqmlab.present.reports import draft as report
    from aqmlab.study import draft_cases

    output.check(draft_cases.NAME)
    with progress(f"Judging the cases of {draft_cases.NAME}") as advance:
        judged = draft_cases.compare_draft(**asked, progress=advance)
    options = [part for option, value in asked.items() for part in (f"--{option}", str(value))]
    repeated = command("compare", "--study", draft_cases.NAME, *options)
    output.write(
        lambda: results(draft_cases.document(judged)), lambda advance, _: report.files(judged, repeated, advance)
    )
    output.show(lambda: draft_cases.document(judged), lambda: report.parts(judged))
