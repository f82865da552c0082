"""A user's congestion controller: a Python class or a shared library, accepted wherever a controller's name is."""

import inspect
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Literal

from aqmlab import _core, catalogue, own, untrusted
from aqmlab._core import AckFacts, Parameters, Scenario, Window
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.scenario import Values, load

Event = Literal["loss", "echo", "timeout"]
"""A sign of congestion: fast retransmit, the echo of a mark, or an expired retransmission timer."""

HOOKS = ("on_ack", "kept", "on_congestion", "on_recovered", "on_timeout", "pacing_rate")
LIBRARIES = (".so", ".dylib", ".dll")
LARGEST_LIBRARY = 1024 * untrusted.MIB
"""Bytes of a shared library."""

ADAPTIVE = tuple(name for name in _core.media_laws() if name != "constant")
"""Rate controls of adaptive video calls."""

OF_CALLS = (*ADAPTIVE, "constant")
"""Rate controls of a call."""


class CongestionControl(own.Declared):
    """A user's congestion controller. Declare parameters (`Param`) and override hooks; each sender has an instance.

    A class has a `name` (by default the class's in lower case: MyReno is "my-reno") and a `title` for tables. A hook
    that is not overridden does as Reno's sender does. Each call of a hook takes the interpreter, so a controller in
    Python is far slower than one in Rust or C. InputError if the class cannot be used.
    """

    title: ClassVar[str]

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Add the class to the catalogue of controllers; it replaces an earlier class of the same name."""
        super().__init_subclass__(**kwargs)
        cls.name = str(cls.__dict__.get("name", own.dashed(cls.__name__)))
        cls.title = str(cls.__dict__.get("title", cls.__name__))
        cls._parameters = _declare(cls)

    def on_ack(self, window: Window, facts: AckFacts) -> None:
        """Open the window: an ACK of new data has arrived, outside fast recovery and without a new mark."""

    def kept(self, event: Event) -> float:  # noqa: ARG002
        """Return the share of the window (RFC 5681: of the data in flight) that an event leaves, 0 to 1."""
        return 0.5

    def on_congestion(self, event: Event, window: Window) -> None:
        """Note that the window is about to be reduced to that share."""

    def on_recovered(self, window: Window) -> None:
        """Set the window after fast recovery."""
        window.cwnd = window.ssthresh

    def on_timeout(self) -> None:
        """Note that a timeout has brought the window down to one segment."""

    def pacing_rate(self) -> float | None:
        """Return the segments per second at which to send; None if there is no rate yet."""
        return None


Law = str | CongestionControl | type[CongestionControl]
"""A controller as `run`, `compare` and the like take it: text as of `--cc`, a class, or an instance with parameters."""


def law_spec(law: Law) -> str:
    """Return a controller as text: "cubic:beta=0.8" unchanged, a class, an instance or a file by its name.

    A file is a shared library ("./libmine.so", see examples/c/reno.c) or Python ("mine.py", "mine.py:MyReno:gain=2").
    Both may do whatever a program may, so a file is loaded only where a command line or a program names it.
    """
    if not isinstance(law, str):
        found = law if isinstance(law, type) else type(law)
        if not issubclass(found, CongestionControl) or found is CongestionControl:
            raise InputError("law", f"{law!r}: expected a name, a file, or a subclass of aqmlab.CongestionControl")
        return found.name if isinstance(law, type) else str(law)
    file, _, rest = law.strip().partition(":")
    if file.endswith(LIBRARIES):
        if rest:
            raise InputError("law", f"{law}: a controller of a shared library takes no parameters")
        with suppress(FileNotFoundError), untrusted.opened(Path(file), LARGEST_LIBRARY, field="law"):
            pass  # the system opens it, and would wait for a pipe
        return _core.load_law(file)
    return own.in_file("law", file, rest, CongestionControl, "controller") if file.endswith(".py") else law


def select(laws: Law | Sequence[Law]) -> tuple[str, ...]:
    """Return the controllers that are given, each once and in order: "cubic,bbr3:a=1,b=2,./libmine.so", or a list.

    InputError unless there are two, and for one that does not exist.
    """
    given = laws if not isinstance(laws, CongestionControl | type) else [laws]
    names = catalogue.split(given, "ccs", "controller") if isinstance(given, str) else given
    found = tuple(dict.fromkeys(map(law_spec, names)))
    known = [law.name for law in catalogue.laws()]
    for name in found:
        if catalogue.halves(name)[0] not in known:
            raise unknown("ccs", "no congestion controller is called", name, known)
    if len(found) < 2:
        raise InputError("ccs", f"{', '.join(found) or 'none'}: expected two controllers at least, such as cubic,bbr3")
    return found


def defines(text: str) -> bool:
    """Return whether a text names a file with a controller: a shared library, or Python without a scheme."""
    file = _file(text)
    if file is None or file.endswith(LIBRARIES):
        return file is not None
    if not os.path.isfile(file):
        return False
    return own.defines("law", file, CongestionControl) and not own.defines("law", file, own.Aqm)


def load_with(
    source: str | os.PathLike[str] | Scenario,
    set: Values | None,
    law: Law | None,
    traces: str | os.PathLike[str] | None = None,
) -> Scenario:
    """Return a scenario as `load` does, whose TCP flows use a controller if one is given (see `law_spec`).

    InputError if there is no such controller, or no flow uses TCP.
    """
    if law is None:
        return load(source, set, traces=traces)
    if isinstance(source, Scenario):
        raise InputError(
            "law",
            f"{law}: a controller is set while a scenario is read; give the name or file of {source.name} instead",
        )
    name = law_spec(law)
    return load(source, {**(set or {}), **of_law(load(source, set, traces=traces), name)}, traces=traces)


def of_law(scenario: Scenario, name: str) -> dict[str, str]:
    """Return the settings that give a scenario's TCP flows that controller; InputError if no flow uses TCP."""
    groups = [group for group in scenario.flows if scenario.group(group).is_tcp]
    if not groups:
        raise InputError("law", f"{name}: no flow of {scenario.name} has TCP")
    return {f"flows.{group}.tcp.congestion_control": name for group in groups}


def of_call(scenario: Scenario, name: str) -> dict[str, str]:
    """Return the settings that give a scenario's calls that rate control; nothing without calls.

    InputError for an unknown rate control.
    """
    if name not in OF_CALLS:
        raise unknown("call", "no rate control", name, OF_CALLS)
    return {f"flows.{group}.law": name for group in calls(scenario)}


def calls(scenario: Scenario) -> list[str]:
    """Return the groups of flows that are adaptive video calls."""
    return [group for group in scenario.flows if scenario.group(group).kind == "media"]


def digest(law: Law) -> str | None:
    """Return the SHA-256 of the code of a user's controller, a file or a class's source; None if it is built in."""
    if not isinstance(law, str):
        return sha256(inspect.getsource(law if isinstance(law, type) else type(law)).encode()).hexdigest()
    return sha256(Path(file).read_bytes()).hexdigest() if (file := _file(law)) else None


def _file(law: str) -> str | None:
    """The file that a text names, a shared library or Python."""
    file = law.strip().partition(":")[0]
    return file if file.endswith((*LIBRARIES, ".py")) else None


def _declare(cls: type[CongestionControl]) -> Parameters:
    params = own.params_of(cls)
    for name, item in cls.__dict__.items():
        if name.startswith("on_") and name not in HOOKS and callable(item):
            raise unknown(f"{cls.name}.{name}", "no hook is called", name, HOOKS)
    return _core.declare_law(
        cls,
        cls.name,
        cls.title,
        f"{cls.__module__}.{cls.__qualname__}",
        inspect.cleandoc(cls.__doc__ or "") or cls.title,
        [own.declared(name, param) for name, param in params.items()],
        [hook for hook in HOOKS if getattr(cls, hook) is not getattr(CongestionControl, hook)],
    )
