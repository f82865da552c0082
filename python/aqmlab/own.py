"""A user's scheme: a class in Python that can be used wherever the name of a scheme can."""

import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import CodeType
from typing import Any, ClassVar

from aqmlab import _core, catalogue, untrusted
from aqmlab._core import Packet, Parameters, Queue, Verdict
from aqmlab.names import unknown
from aqmlab.problems import InputError

PASS = Verdict.Pass
"""Let the packet pass."""
SIGNAL = Verdict.Signal
"""Mark the packet if it can carry a mark, else drop it."""
MARK = Verdict.Mark
"""Mark the packet if it can carry a mark, else let it pass."""
DROP = Verdict.Drop
"""Drop the packet."""

Answer = Verdict | bool | None
"""Values that a hook may return: a verdict, True for SIGNAL, False or None for PASS."""

HOOKS = ("on_enqueue", "on_dequeue", "on_tick", "on_empty", "on_overflow")
LARGEST_CODE = 16 * untrusted.MIB
"""Bytes of a Python file."""
RESERVED = {"__init__", "now", "p", "random"}
"""Names that a class must not define."""
TAKEN = {"reset", "name", "title", "tick", "observables", *HOOKS}
"""Names that parameters must not have either."""


class Param:
    """A declared parameter of a scheme: an attribute with a default, a range and a meaning.

    `default` and the two ends of `range` are texts with their unit ("10 ms", "300 packets", "170 Hz", "5 %") or plain
    numbers; True or False is a switch; `choices` are the words allowed. `unit` names the unit of a plain number, such
    as "1/packet". In a scheme the value is a number in s, bit/s, B, packets, Hz or as it is; a bool; or a word.
    """

    def __init__(
        self,
        default: str | float | bool,
        range: tuple[str | float, str | float] | None = None,
        *,
        choices: Sequence[str] = (),
        unit: str = "",
        doc: str = "",
    ) -> None:
        self.default, self.range, self.choices, self.unit, self.doc = default, range, choices, unit, doc

    def __repr__(self) -> str:
        return f"<Param: {self.default!r}{f', range {self.range!r}' if self.range else ''}>"

    def __get__(self, instance: object, owner: type) -> Any:
        """Return the declaration itself; an instance has the value under the same name."""
        return self


class Declared:
    """A class of a user's: it is named in a catalogue, and its parameters are declared (`Param`)."""

    name: ClassVar[str]
    _parameters: ClassVar[Parameters]

    def __init__(self, **parameters: str | float | bool) -> None:
        self._given = {name: as_text(value) for name, value in parameters.items()}
        self.__dict__.update(self._parameters.read(list(self._given.items())))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        """Return it as it is written on the command line, or in a scenario: "my-aqm:gain=2"."""
        return spelled(self.name, self._given)


class Aqm(Declared, _core.Scheme):
    """A user's scheme. Declare parameters, override hooks; only hooks that are overridden are called.

    A class has a `name` (by default its own, in small letters: MyAqm is "my-aqm"), a `title` for tables, a `tick` (the
    period of `on_tick`: "1 ms", "170 Hz" or seconds; `reset` may set it) and `observables`, the attributes that are
    recorded as time series, with their units.

    Without `on_enqueue`, each arriving packet is signalled with the probability `self.p`, at the speed of a built-in
    scheme. `self.now` is the simulated time in s, `self.random()` a random number in [0, 1). Views of packets and
    queues are valid during the call only. Each run has its own instance. InputError if the class cannot be used.
    """

    title: ClassVar[str]
    tick: str | float | None = None
    observables: ClassVar[Mapping[str, str]] = {"p": "ratio"}

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Add the class to the catalogue, where it replaces an earlier class of the same name."""
        super().__init_subclass__(**kwargs)
        cls.name = str(cls.__dict__.get("name", dashed(cls.__name__)))
        cls.title = str(cls.__dict__.get("title", cls.__name__))
        cls._parameters = _declare(cls)
        _CLASSES[cls.name] = cls

    def __init__(self, **parameters: str | float | bool) -> None:
        if type(self) is Aqm:
            raise TypeError("aqmlab.Aqm is not a scheme itself; write a subclass")
        super().__init__(**parameters)

    def reset(self, queue: Queue) -> None:
        """Prepare for a queue like this one, before the first packet. ValueError refuses the parameters."""

    def on_enqueue(self, packet: Packet, queue: Queue) -> Answer:
        """Judge a packet that asks to join the tail."""

    def on_dequeue(self, packet: Packet, queue: Queue) -> Answer:
        """Judge a packet that is about to leave from the head; after a drop the next one is shown."""

    def on_tick(self, queue: Queue) -> None:
        """Update every `tick`, the first time at the start, whether packets arrive or not."""

    def on_empty(self) -> None:
        """Note that the link has found no packet to send."""

    def on_overflow(self, queue: Queue) -> None:
        """Note that a packet found the queue full; `on_enqueue` was not asked."""


_CLASSES: dict[str, type[Aqm]] = {}
"""The class of each name."""

Scheme = str | Aqm | type[Aqm]
"""A scheme as `run` and `compare` take it."""


@dataclass(frozen=True)
class Clause:
    """A clause of the contract: its requirement, and the value that was found if it is broken.

    `excepted` is the reason why it is not asked of this scheme, as the scheme declares it.
    """

    text: str
    broken: str | None
    excepted: str | None = None

    def __str__(self) -> str:
        if self.excepted:
            return f"- {self.text}: not required: {self.excepted}"
        return f"✗ {self.text}: {self.broken}" if self.broken else f"✓ {self.text}"


class Clauses(tuple[Clause, ...]):
    """The clauses of the contract, and whether a scheme satisfies each; prints one per line."""

    __slots__ = ()

    @property
    def kept(self) -> bool:
        """True if the scheme satisfies every clause that is asked of it."""
        return not any(clause.broken for clause in self)

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def check_aqm(aqm: Scheme, *, strict: bool = False) -> Clauses:
    """Check a scheme against the contract of the built-in schemes, and return what was found clause by clause.

    A built-in scheme that cannot satisfy a clause declares so, with the reason.

    `strict` raises SchemeError if a clause is broken. Raises InputError for a scheme that cannot be built.
    """
    found = Clauses(Clause(*found) for found in _core.check(spec(aqm)))
    if strict and not found.kept:
        raise _core.SchemeError(f"{spec(aqm)} breaks its contract:\n{found}")
    return found


def spec(aqm: Scheme) -> str:
    """Return a scheme as text: "pi:w=85Hz" unchanged, a class or an instance by name and parameters.

    A file, as in "my_scheme.py", "my_scheme.py:MyAqm" or "my_scheme.py:MyAqm:gain=2", is read first.
    Links may have a scheme each, "cake@up+codel:target=8ms@down"; the others keep the scenario's.
    """
    if isinstance(aqm, str):
        if at := catalogue.by_link(aqm):
            return "+".join(f"{spec(each)}@{link}" for link, each in at.items())
        file, _, rest = aqm.strip().partition(":")
        return in_file("aqm", file, rest, Aqm, "scheme") if file.endswith(".py") else aqm
    found = aqm if isinstance(aqm, type) else type(aqm)
    if not issubclass(found, Aqm) or found is Aqm:
        raise InputError(
            "aqm", f"{aqm!r} is not a scheme; expected a name, a subclass of aqmlab.Aqm or an instance of one"
        )
    if _CLASSES[found.name] is not found:
        raise InputError("aqm", f"{aqm!r}: a later class uses the name {found.name!r}; use that one")
    return found.name if isinstance(aqm, type) else str(aqm)


def is_own(aqm: str) -> bool:
    """Return whether a scheme as text, or one of its links, is a class of the user's."""
    at = catalogue.by_link(aqm) or {"": aqm}
    return any(each.partition(":")[0] in _CLASSES for each in at.values())


def select(aqms: Scheme | Sequence[Scheme]) -> tuple[str, ...]:
    """Return the schemes meant by `aqms` as texts; see `catalogue.select` for the format."""
    if isinstance(aqms, Aqm | type):
        return (spec(aqms),)
    if not isinstance(aqms, Iterable) or not (given := catalogue.select(aqms) if isinstance(aqms, str) else [*aqms]):
        raise InputError("aqms", f'{aqms!r}: expected one scheme at least, such as ["pi", "codel"]')
    return tuple(dict.fromkeys(map(spec, given)))


def _declare(cls: type[Aqm]) -> Parameters:
    namesake = _CLASSES.get(cls.name)
    if namesake and namesake.__module__ != cls.__module__:
        raise InputError(f"{cls.name}.name", f"a class of {namesake.__module__} has this name already; set another one")
    for base in cls.__mro__[: cls.__mro__.index(Aqm)]:
        for name in RESERVED & base.__dict__.keys():
            raise InputError(
                f"{cls.name}.{name}", "is reserved for the engine; prepare in reset, set self.p in the hooks"
            )
        for name, item in base.__dict__.items():
            if name.startswith("on_") and name not in HOOKS and callable(item):
                raise unknown(f"{cls.name}.{name}", "no hook is called", name, HOOKS)
    params = params_of(cls)
    for name in params.keys() & TAKEN:
        raise InputError(f"{cls.name}.{name}", "is not a possible name of a parameter")
    return _core.declare(
        cls,
        cls.name,
        cls.title,
        f"{cls.__module__}.{cls.__qualname__}",
        inspect.cleandoc(cls.__doc__ or "") or cls.title,
        [declared(name, param) for name, param in params.items()],
        [(name, unit, f"self.{name}") for name, unit in _observables(cls).items()],
        [hook for hook in HOOKS if getattr(cls, hook) is not getattr(Aqm, hook)],
        "target" not in params and _reads_target(cls),
    )


def _reads_target(cls: type[Aqm]) -> bool:
    """Return whether a method of the class, or of one of its bases, reads an attribute `target`: the queue's."""
    own = cls.__mro__[: cls.__mro__.index(Aqm)]
    methods = [item for base in own for item in base.__dict__.values() if inspect.isfunction(item)]
    return any("target" in code.co_names for method in methods for code in _codes(method.__code__))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _observables(cls: type[Aqm]) -> Mapping[str, str]:
    """The observables of the class; `p` where it is used and nothing is declared."""
    if cls.observables is Aqm.observables and cls.on_enqueue is not Aqm.on_enqueue:
        return {}
    return cls.observables


def params_of(cls: type) -> Mapping[str, Param]:
    """Return the parameters of a class and its bases by name, bases first."""
    named = dict.fromkeys(name for base in reversed(cls.__mro__) for name in base.__dict__)
    return {name: param for name in named if isinstance(param := getattr(cls, name, None), Param)}


def declared(name: str, param: Param) -> tuple[str, str, tuple[str, str] | None, list[str], str, str]:
    """Return a parameter as the engine takes its declaration."""
    limits = (as_text(param.range[0]), as_text(param.range[1])) if param.range else None
    return name, as_text(param.default), limits, list(param.choices), param.unit, param.doc


def spelled(name: str, given: Mapping[str, str]) -> str:
    """Return a scheme or a controller with parameters as it is written on the command line."""
    return f"{name}:{','.join(f'{key}={text}' for key, text in given.items())}" if given else name


def as_text(value: str | float | bool) -> str:
    """Return a value as the command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def dashed(name: str) -> str:
    """MyAqm as my-aqm, PI2 as pi2."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).replace("_", "-").lower()


LISTED = {"aqm": "aqms", "law": "ccs"}
"""The topic of `aqmlab list` with the names that a field takes."""


def in_file(field: str, file: str, rest: str, base: type[Declared], what: str) -> str:
    """Return the name, with its parameters, of a `base` that a Python file defines; `rest` is [Class][:k=v,...].

    InputError about `field` if there is none, or no single one; `what` says in a word what is looked for.
    """
    named, _, parameters = ("", "", rest) if "=" in rest.partition(":")[0] else rest.partition(":")
    classes = _classes(field, file, base)
    if not classes:
        raise InputError(field, f"{file}: no {what} in it; write a class that is a subclass of aqmlab.{base.__name__}")
    if not named and len(classes) > 1:
        first = next(iter(classes))
        raise InputError(field, f"{file}: has several {what}s; write {file}:{first}; it has " + ", ".join(classes))
    if named and named not in classes:
        raise unknown(field, f"{file} has no {what}", named, classes)
    name = classes[named or next(iter(classes))].name
    return f"{name}:{parameters}" if parameters else name


def defines(field: str, file: str, base: type[Declared]) -> bool:
    """Return whether a Python file defines a class of that kind. InputError about `field` if it cannot be read."""
    return bool(_classes(field, file, base))


def _classes(field: str, file: str, base: type[Declared]) -> dict[str, type[Declared]]:
    """The classes of one kind that a file defines, by name."""
    path, expected = Path(file), f"a name (aqmlab list {LISTED[field]}) or a Python file"
    try:
        with untrusted.opened(path, LARGEST_CODE, field=field, expected=expected) as opened:
            time = os.fstat(opened.fileno()).st_mtime_ns
    except FileNotFoundError:
        raise InputError(field, f"{file}: no such file; expected {expected}") from None
    defined = _defined((path.resolve(), time), field)
    return {name: item for name, item in defined.items() if issubclass(item, base)}


@cache
def _defined(file: tuple[Path, int], field: str) -> dict[str, type]:
    """The classes that a file defines, by name; a changed file has another time and is read again."""
    path = file[0]
    found = spec_from_file_location(str(path.with_suffix("")), path)
    if found is None or found.loader is None:
        raise InputError(field, f"{path.name}: cannot be read as Python")
    module = sys.modules[found.name] = module_from_spec(found)
    try:
        with redirect_stdout(sys.stderr):
            code = compile(path.read_bytes(), str(path), "exec")  # not what Python keeps compiled, by the second
            exec(code, vars(module))
    except (Exception, SystemExit) as error:
        raise InputError(field, f"{path.name}: {_cause(error, path)}") from error
    return {
        name: item for name, item in vars(module).items() if isinstance(item, type) and item.__module__ == found.name
    }


def _cause(error: BaseException, path: Path) -> str:
    """Return the fault in a user's file, in one line."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, SyntaxError):
        said, lines = error.msg, [error.lineno]
    else:
        said = str(error)
        lines = [at.lineno for at in extract_tb(error.__traceback__) if at.filename == str(path)]
    return f"{type(error).__name__}: {said}" + (f" (line {lines[-1]})" if lines and lines[-1] else "")
