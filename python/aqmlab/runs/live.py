"""Real traffic through the same schemes: a command on an emulated link, without root."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aqmlab import _core, own, untrusted
from aqmlab._core import Scenario
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError, in_words
from aqmlab.quantities import option_value, whole
from aqmlab.runs import check_seed, simulate
from aqmlab.runs.metrics import LinkResult
from aqmlab.runs.namespaces import refusal
from aqmlab.runs.results import RunResult, of_links
from aqmlab.scenario import set_values, traces

SETUP = "live.json"
"""File next to the logs with their scenario, scheme and seed."""

LARGEST_LOG = 512 * untrusted.MIB
"""Bytes of the log of a direction."""

View = tuple[int, int, int, int, list[float]]
"""A direction: packets waiting, bytes delivered, packets dropped and marked so far, and what the scheme shows."""
Watch = Callable[[float, View, View], None]
"""Called ten times per second: seconds so far, and each direction's queue, bytes, drops, marks and observables."""


LARGEST_PACKET = 1500
"""Bytes of the largest packet of a link's flows, headers included."""

FLOW_COLUMNS = ("direction", "flow", "sent", "resent", "received", "marked", "payload")
"""Of `LiveRun.flows`: packets, but payload in bytes; over TCP a retransmission is not counted."""


@dataclass(frozen=True, repr=False)
class LiveRun(Result):
    """One live run: the document that `aqmlab live --json` prints, the command's exit code and what to know."""

    document: dict[str, Any]
    code: int
    warnings: Sequence[str]
    series: dict[str, dict[str, Any]]
    flows: Sequence[tuple[str | int, ...]]

    @property
    def headline(self) -> str:
        """The end of the command, and whether the numbers are to be used."""
        ended = f"exit code {self.code}"
        return f"{ended}, valid" if self.is_valid else f"{ended}, not valid: {'; '.join(self.document['live']['why'])}"

    def sheets(self) -> Iterator[Sheet]:
        """Return the links."""
        yield of_links({name: LinkResult(**link) for name, link in self.document["links"].items()})

    @property
    def is_valid(self) -> bool:
        """True if the machine kept up with the link, and the command outlasted the warm-up."""
        return bool(self.document["live"]["valid"])


@dataclass(frozen=True)
class EmulatedLine:
    """An emulated link: a rate or a file with a trace per direction, None for a direction without delay.

    `values` replace others of its scenario: {"links.up.loss": "1%"}. The flows count in simulations only, so many of
    `law` in each direction.
    """

    up: str | None
    down: str | None
    rtt: str = "40ms"
    buffer: str = "250ms"
    values: Mapping[str, str] = field(default_factory=dict)
    flows: Mapping[str, int] = field(default_factory=lambda: {"up": 1, "down": 1})
    law: str = "cubic"
    ecn: bool = False

    def scenario(self) -> Scenario:
        """Return it as a scenario; InputError where it is none."""
        rates = {name: rate for name, rate in (("up", self.up), ("down", self.down)) if rate is not None}
        if not rates:
            raise InputError("rate", "missing; name a scenario, or a rate by --rate, --up or --down")
        option_value("rtt", self.rtt, "s")
        option = "rate" if self.up == self.down else None
        given = {name: _rate(option or name, rate, self.buffer) for name, rate in rates.items()}
        groups = [self._group(name, [other for other in rates if other != name]) for name in rates if self.flows[name]]
        line = {
            "schema": 1,
            "title": "A live link",
            "duration": "60 s",
            "sample": "100 ms",
            "links": [{"name": name, "rate": rate, "buffer": self.buffer} for name, rate in given.items()],
            "flows": groups,
            "traces": traces([*given.values(), *set_values(self.values.values())], Path()),
        }
        return Scenario.of(line, "line", list(self.values.items()))

    def _group(self, name: str, back: Sequence[str]) -> dict[str, Any]:
        """The flows of a direction; their ACKs cross the link of the other, if there is one."""
        # IPv4 and TCP with time stamps; a line has no Ethernet, which the profile counts.
        tcp = {"congestion_control": self.law, "profile": "linux", "header": "52 B", "ack": "52 B"}
        way = {"path": [name], **({"ack_path": back} if back else {}), "rtt": self.rtt}
        return {"name": name, "count": self.flows[name], **way, "packet": "1448 B", "tcp": tcp, "ecn": self.ecn}


def _rate(option: str, text: str, buffer: str) -> str | dict[str, str]:
    """A rate as a scenario has it: a quantity at which the buffer holds a packet, or the trace in a file."""
    if os.path.isfile(text) or (_core.quantity(text) is None and os.path.lexists(text)):
        return {"trace": text}
    if text[:1] in "/.~" or (_core.quantity(text) is None and Path(text).suffix[1:2].isalpha()):
        raise InputError(option, f"{text}: no such file; expected a rate such as 50Mbit/s, or a file with a trace")
    rate, size = option_value(option, text, "bit/s") or 0.0, _core.quantity(buffer)
    if size is not None and size[1] == "s" and 0 < rate * size[0] / 8 < LARGEST_PACKET:
        raise InputError(
            option,
            f"{text}: a buffer of {buffer} holds less than a packet of {LARGEST_PACKET} B then; "
            "give a higher rate, or --buffer '10 packets'",
        )
    return text


def live(
    scenario: Scenario,
    command: Sequence[str],
    aqm: own.Scheme | None = None,
    seed: int = 1,
    *,
    serve: Sequence[str] = (),
    duration: float | None = None,
    mtu: int = 1500,
    sysctls: Sequence[tuple[str, str]] = (),
    outside: bool = False,
    quiet_stdout: bool = False,
    folder: Path | None = None,
    watch: Watch | None = None,
) -> LiveRun:
    """Run a command in a separate network namespace on the scenario's link, and return the measurements.

    `serve` are lines for a shell that run at the far end, which the command finds as the host "server". `sysctls` are
    settings of both ends ("net.ipv4.tcp_ecn", "1"). `outside` connects the far end to the machine's network. If
    `folder` is given, each packet is recorded there. Raises InputError for wrong input, OSError if the machine does not
    allow it, CommandError if the command cannot be started, and SchemeError if a scheme fails.
    """
    check_seed(seed)
    whole("mtu", mtu, 68, 65535)
    if not command:
        raise InputError("command", "missing; write it after --")
    if not hasattr(_core, "live"):
        raise OSError("live runs need Linux")
    scheme = None if aqm is None else own.spec(aqm)
    if folder is not None:
        # a file is named by its path, which a replay reads again
        write_setup(folder, scenario, aqm if isinstance(aqm, str) else scheme, seed)
    try:
        found = _core.live(
            scenario,
            list(command),
            aqm=scheme,
            seed=seed,
            serve=list(serve),
            duration=duration,
            mtu=mtu,
            sysctls=list(sysctls),
            outside=outside,
            quiet_stdout=quiet_stdout,
            folder=None if folder is None else str(folder),
            watch=watch,
        )
    except OSError as error:
        refused = refusal()
        if refused is None:
            raise
        raise OSError("{}; user namespaces: {}; to fix it: {}".format(in_words(error), *refused)) from error
    return LiveRun(found.document(), found.code, found.warnings, found.series(), found.flows())


def write_setup(folder: Path, scenario: Scenario, aqm: str | None, seed: int) -> None:
    """Write what a replay needs next to the logs that are to come."""
    folder.mkdir(parents=True, exist_ok=True)
    setup = {"name": scenario.name, "text": scenario.text, "overrides": scenario.overrides, "seed": seed}
    (folder / SETUP).write_text(json.dumps({**setup, "aqm": aqm}), encoding="utf-8")


@dataclass(frozen=True)
class Replay:
    """One direction of a live run, decided once more: packets, decisions, those that are the same, the first other."""

    arrived: int
    decisions: int
    same: int
    first_difference: tuple[str, str] | None

    @property
    def is_identical(self) -> bool:
        """True if every packet met the same fate at the same time."""
        return self.first_difference is None


def replay(folder: Path, aqm: own.Scheme | None = None) -> dict[str, Replay]:
    """Put the arrivals that a live run has logged in `folder` through the simulated links, by direction.

    Scheme and seed are taken from the live run. A Python file among the schemes is code, and the folder may be a
    stranger's: `aqm` must then say the same. Raises InputError if it does not, and for any other folder.
    """
    try:
        setup = untrusted.read_json(folder / SETUP, within=folder, field="replay")
        overrides = [(path, value) for path, value in setup["overrides"]]
        scenario = Scenario.parse(setup["text"], setup["name"], overrides)
        stored, seed = setup["aqm"], setup["seed"]
        check_seed(seed)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_run(folder, error) from None
    given = aqm if aqm is None or isinstance(aqm, str) else own.spec(aqm)
    if (given is not None and given != stored) or (given is None and ".py" in str(stored)):
        raise InputError("aqm", f"the live run used {stored}; to run it on this machine, give --aqm {stored}")
    scheme = None if stored is None else own.spec(str(stored))
    return {name: _replayed(scenario, scheme, seed, name, folder) for name in ("up", "down")}


def _replayed(scenario: Scenario, scheme: str | None, seed: int, direction: str, folder: Path) -> Replay:
    path = folder / f"{direction}.log"
    try:
        log = untrusted.read(path, LARGEST_LOG, within=folder, field="replay")
        return Replay(*_core.replay(scenario, scheme, seed, direction, log))
    except OSError as error:
        raise _no_run(folder, error) from None
    except InputError as error:
        if error.problems[0].path != "log":
            raise
        raise InputError(f"replay: {path}", error.problems[0].reason) from None


def _no_run(folder: Path, error: Exception) -> InputError:
    return InputError("replay", f"{folder}: is not a folder of aqmlab live --out: {_why(error, folder)}")


def _why(error: Exception, folder: Path) -> str:
    """Return what is wrong with the folder of a live run."""
    if isinstance(error, FileNotFoundError):
        return f"{error.filename}: no such file"
    if isinstance(error, InputError | OSError):
        return in_words(error).removeprefix("replay: ")
    return f"{folder / SETUP}: does not contain a valid name, text, overrides, aqm and seed"


def beside(run: LiveRun, of: EmulatedLine | Scenario, aqm: own.Scheme | None = None, seed: int = 1) -> RunResult:
    """Simulate what has been run live, as long as that took, and return the result with its series.

    A link has as many long flows in each direction as the live run had. Raises InputError if there were none.
    """
    if isinstance(of, EmulatedLine):
        lasting = {name: int(run.document["flows"][name]["lasting"]) for name in ("up", "down")}
        flows = {name: count for name, count in lasting.items() if getattr(of, name) is not None}
        if not any(flows.values()):
            raise InputError("beside", "no flow was long enough, so there is nothing to simulate")
        of = replace(of, flows=flows).scenario()
    duration = run.document["live"]["duration"] + of.warmup
    scenario = Scenario.parse(of.text, of.name, [*of.overrides, ("duration", f"'{duration} s'")])
    return simulate.run(scenario, aqm, seed, series=True)


def shell() -> list[str]:
    """Return the user's shell, which a live run starts by default."""
    return [os.environ.get("SHELL") or shutil.which("sh") or "/bin/sh"]
