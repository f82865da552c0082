"""A run with QUIC connections, by a separate program: aqmlab-quic (crates/quic) has the simulator and quinn.

It is no part of the wheel. It reads a scenario, and writes its result.
"""

import json
import shutil
import subprocess
from contextlib import suppress
from functools import lru_cache
from tempfile import TemporaryFile

from aqmlab import _core
from aqmlab._core import Interrupted, Scenario, Watch
from aqmlab.problems import InputError, Problem
from aqmlab.runs.results import RunResult

PROGRAM = "aqmlab-quic"
INSTALL = "in a checkout of aqmlab: cargo install --locked --path crates/quic"
LOOK = 0.1
"""Seconds between two looks at whether the run is cancelled."""


def groups(scenario: Scenario) -> list[str]:
    """Return the groups of a scenario whose flows are QUIC connections."""
    return [name for name in scenario.flows if scenario.group(name).kind == "quic"]


def check(scenario: Scenario) -> None:
    """Raise InputError if a scenario has QUIC connections and the program is not there, or is of another version."""
    for name in groups(scenario)[:1]:
        _program(f"flows.{name}.kind")


def run(
    scenario: Scenario, aqm: str | None, seed: int, *, series: bool, trace: str | None, watch: Watch | None
) -> RunResult:
    """Have the program run a scenario. InputError for input that it rejects."""
    program = _program(f"flows.{groups(scenario)[0]}.kind")
    if trace is not None:
        raise InputError("trace", f'{trace}: links of a scenario with flows of kind "quic" cannot be traced')
    command = [program, "-", "--name", scenario.name, "--seed", str(seed)]
    command += ["--aqm", aqm] if aqm is not None else []
    command += [part for path, value in scenario.overrides for part in ("--set", f"{path}={value}")]
    if not series:
        return RunResult.read({"result": json.loads(_printed(command, scenario.text, watch))})
    return RunResult.read(json.loads(_printed([*command, "--series"], scenario.text, watch)))


def _printed(command: list[str], given: str, watch: Watch | None) -> str:
    """The output of a program that is given a text: as a file, because a pipe would have to be fed meanwhile."""
    pipe = subprocess.PIPE
    with TemporaryFile() as text:
        text.write(given.encode())
        text.seek(0)
        process = subprocess.Popen(command, stdin=text, stdout=pipe, stderr=pipe)
    with process:
        try:
            printed, errors = _outputs(process, watch)
        except BaseException:
            process.kill()
            raise
    if process.returncode == 0:
        return printed.decode()
    why = errors.decode(errors="replace").strip().removeprefix("Error: ")
    if process.returncode == 2:
        raise InputError(*(Problem("", line) for line in why.splitlines()))
    raise RuntimeError(f"{PROGRAM} has ended with {process.returncode}: {why}")


def _outputs(process: "subprocess.Popen[bytes]", watch: Watch | None) -> tuple[bytes, bytes]:
    while not (watch and watch.is_cancelled()):
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=LOOK)
    raise Interrupted("the run was cancelled")


def _program(field: str) -> str:
    """The path of the program."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise InputError(
            field,
            f'"quic" needs the program {PROGRAM}, which is not on the path; {INSTALL}',
        )
    ours = f"{PROGRAM} {_core.version()} (sources {_core.source()})"
    if (version := _version(found)) != ours:
        raise InputError(field, f'"quic" needs {ours}; {found} is {version}: {INSTALL}')
    return found


@lru_cache
def _version(program: str) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "something else"
