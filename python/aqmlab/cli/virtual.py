"""The part of `live` that runs in virtual time."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from aqmlab.cli.common import exit_if_failed, progress
from aqmlab.cli.output import TableFormat, print_parts
from aqmlab.problems import InputError
from aqmlab.quantities import option_value

if TYPE_CHECKING:
    from aqmlab._core import Scenario
    from aqmlab.runs.live import LiveRun


@dataclass(frozen=True)
class VirtualOptions:
    """The options of `live` that only virtual time has."""

    also: list[str] | None
    write: list[Path] | None
    syscall: str | None
    start_spread: str | None
    twice: bool
    kernel: str | None
    measure: list[str] | None
    aqms: str | None
    seeds: int | None
    jobs: int | None

    def check(self, *, virtual: bool, outside: bool, has_command: bool) -> None:
        """Refuse options of the other clock, and a shell."""
        if not virtual:
            for option, value in vars(self).items():
                if value:
                    raise InputError(option.replace("_", "-"), "works in virtual time only; add --virtual")
            return
        if outside:
            raise InputError("outside", "your network does not follow virtual time; leave out --outside or --virtual")
        if not has_command:
            raise InputError("command", "missing; write it after --: nobody can type in virtual time")

    @property
    def is_comparison(self) -> bool:
        """True if several runs are asked for."""
        return bool(self.aqms or self.seeds or self.measure)

    def of_runs(self) -> dict[str, Any]:
        """Return the arguments of `run_virtual` that they set."""
        from aqmlab.runs.virtual import SYSCALL

        given = 0.0 if self.syscall == "0" else option_value("syscall", self.syscall, "s")
        return {
            "also": self.also or [],
            "writable": self.write,
            "syscall": SYSCALL if given is None else given,
            "start_spread": option_value("start-spread", self.start_spread, "s") or 0.0,
            "kernel": self.kernel,
        }


def run(
    scenario: "Scenario",
    command: Sequence[str],
    aqm: str | None,
    seed: int,
    *,
    options: VirtualOptions,
    **given: Any,
) -> "LiveRun":
    """Run in virtual time what `runs.live` runs in real time."""
    from aqmlab.kernel.machine import StuckError
    from aqmlab.runs.repeat import run_twice
    from aqmlab.runs.virtual import run_virtual

    run_it = run_twice if options.twice else run_virtual
    try:
        return run_it(scenario, command, aqm, seed, **options.of_runs(), **given)
    except StuckError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def compare(
    options: VirtualOptions,
    aqm: str | None,
    kind: TableFormat,
    as_json: bool,
    scenario: "Scenario",
    command: Sequence[str],
    **given: Any,
) -> None:
    """Run a command under several schemes or seeds, and print its measures."""
    from aqmlab import catalogue
    from aqmlab.cli.common import print_json
    from aqmlab.present.parts import Part, Section
    from aqmlab.runs.own_measure import own_measures
    from aqmlab.runs.virtual import check
    from aqmlab.runs.virtual_comparison import compare_virtual

    if aqm and options.aqms:
        raise InputError("aqm", f"{aqm}: cannot be combined with --aqms; leave out one of the two")
    measures = own_measures(options.measure or [])
    check(options.kernel)
    aqms = options.aqms or aqm or catalogue.used(scenario, scenario.links[0], None)
    with progress("Running in virtual time") as advance:
        found = compare_virtual(
            scenario,
            command,
            aqms,
            options.seeds or 1,
            measures,
            jobs=options.jobs,
            progress=advance,
            **options.of_runs(),
            **given,
        )
    if as_json:
        print_json(found.document())
    else:
        sections = [Section(sheet.title, sheet=sheet) for sheet in found.sheets()]
        print_parts([Part("virtual", " ".join(command), scenario.name, sections)], kind)
    exit_if_failed(found.failures)
