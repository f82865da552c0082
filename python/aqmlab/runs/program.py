"""A program of the user's as a run: a command on an emulated link in virtual time, and the numbers that it prints."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from aqmlab._core import CommandError, Scenario, Watch
from aqmlab.problems import InputError
from aqmlab.quantities import option_value
from aqmlab.runs import virtual
from aqmlab.runs.live import LiveRun
from aqmlab.runs.metric import of
from aqmlab.runs.own_measure import TIME, OwnMeasure, own_measures
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import RunError

GROUPS = ("up", "down")
"""The groups of flows of such a run: from the command, and to it."""


@dataclass(frozen=True)
class Program:
    """A command with its measures; `options` are arguments of `run_virtual`."""

    command: tuple[str, ...]
    measures: tuple[OwnMeasure, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def check(self, specs: Sequence[str]) -> None:
        """Refuse schemes that cannot run inside a kernel. InputError also without a kernel that runs programs."""
        virtual.check(self.options.get("kernel"))
        for spec in specs:
            virtual.built_in(spec)

    def content(self) -> list[Any]:
        """Return all that decides the result, except scenario, scheme, seed and kernel, as far as it can be known.

        Files that the command names are part of it, other files that the program reads are not.
        """
        folder = Path(self.options.get("directory") or ".")
        files = [path for word in self.command if (path := folder / word).is_file()]
        digests = [sha256(path.read_bytes()).hexdigest() for path in files]
        options = {name: value for name, value in self.options.items() if name != "directory"}
        return [self.command, [[each.name, each.source] for each in self.measures], options, digests]

    def command_lines(self) -> list[str]:
        """Return its commands, the first as a shell reads it, the others as they were given."""
        return [shlex.join(self.command), *self.options.get("serve", ()), *self.options.get("also", ())]

    def run(self, scenario: Scenario, aqm: str | None, seed: int, watch: Watch | None = None) -> RunResult:
        """Run it, and return the measures of the links, of the flows by `GROUPS`, and the program's own.

        Raises the errors of `run_virtual`, and RunError if the command cannot be started or the result is not valid.
        """
        out, err = BytesIO(), BytesIO()
        ends = watch.is_cancelled if watch else bool
        started = time.perf_counter()
        try:
            run = virtual.run_virtual(
                scenario, self.command, aqm, seed, output=(out, err), is_cancelled=ends, **self.options
            )
        except CommandError as error:
            raise RunError(error.args[0]) from None
        wall = time.perf_counter() - started
        if not run.is_valid:
            raise RunError("; ".join(run.document["live"]["why"]))
        return RunResult.read({"result": self._document(scenario, run, out.getvalue().decode(errors="replace"), wall)})

    def _document(self, scenario: Scenario, run: LiveRun, printed: str, wall: float) -> dict[str, Any]:
        found, live = run.document, run.document["live"]
        seconds = scenario.warmup + live["duration"] - live["start"]
        return {
            **{name: found[name] for name in ("scenario", "aqm", "seed", "links")},
            "engine": {"name": "linux", "version": live["engine"]["version"], "events": None, "wall": wall},
            "flows": {name: _of_flows(found["flows"][name]) for name in GROUPS},
            "total": _of_flows(found["total"]),
            "program": {each.name: each.read(printed, run.code, seconds) for each in self.measures},
        }


def _of_flows(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group with the measures of simulations; None where only its ends know."""
    return {metric.name: group.get(metric.name) for metric in of("FlowResult")}


KEYS = ("serve", "also", "measure", "start_spread")
"""The keys of an experiment file that belong to a command."""


def read_program(data: Mapping[str, Any], folder: Path) -> Program | None:
    """Return the program of an experiment file in a folder, None without a command. InputError for a mistake."""
    if "command" not in data:
        for key in KEYS:
            if key in data:
                raise InputError(f"experiment.{key}", 'belongs to a command; add command = ["PROGRAM", "ARGUMENT"]')
        return None
    command = _texts("command", data["command"])
    if not command:
        raise InputError("experiment.command", "[]: expected a program and its arguments")
    measures = data.get("measure", {TIME: TIME})
    if not isinstance(measures, dict):
        raise InputError("experiment.measure", f'{measures!r}: expected a table such as {{ load = "LOAD=([0-9.]+)" }}')
    for name, source in measures.items():
        if not isinstance(source, str):
            raise InputError(f"experiment.measure.{name}", f'{source!r}: expected a text such as "LOAD=([0-9.]+)"')
    spread = data.get("start_spread")
    if spread is not None and not isinstance(spread, str):
        raise InputError("experiment.start_spread", f'{spread!r}: expected a time, such as "500 ms"')
    options = {
        "serve": _texts("serve", data.get("serve", [])),
        "also": _texts("also", data.get("also", [])),
        "start_spread": option_value("experiment.start_spread", spread, "s") or 0.0,
        "directory": folder.resolve(),
        "writable": [],  # a run must not find the files of another one
    }
    return Program(
        tuple(command), tuple(own_measures([f"{name}={source}" for name, source in measures.items()])), options
    )


def _texts(key: str, given: Any) -> list[str]:
    texts = [given] if isinstance(given, str) and key != "command" else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"experiment.{key}", f'{given!r}: expected a list of texts, such as ["ping", "server"]')
    return texts
