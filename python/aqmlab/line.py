"""A link with its queue and scheme, in virtual time that the caller owns: for the tests of transport stacks."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from aqmlab import _core
from aqmlab.problems import InputError
from aqmlab.quantities import whole

Payload = TypeVar("Payload")
Ecn = Literal["not-ect", "ect0", "ect1", "ce"]
Side = Literal["up", "down"]
LARGEST = {"seed": 2**64 - 1, "now": 2**64 - 1, "length": 2**32 - 1, "flow": 2**32 - 1, "host": 2**32 - 1, "dscp": 63}
"""The maximum of each number that a link accepts; the minimum is 0."""


@dataclass(frozen=True)
class Delivery(Generic[Payload]):
    """A packet that leaves a link."""

    payload: Payload
    """The pushed payload."""
    ecn: Ecn
    """ECN field, perhaps with a mark."""
    waited: int
    """Time in the queue, ns."""
    at: int
    """Time at which it comes out, ns."""


@dataclass(frozen=True)
class Dropped(Generic[Payload]):
    """A packet that is dropped or lost in a link."""

    payload: Payload
    """The pushed payload."""
    ecn: Ecn
    """ECN field at the end."""
    reason: str
    """"full" (no room), "evicted" (it made room for another), "lost" (on the wire), or the scheme's own word."""
    at: int
    """When, ns."""


@dataclass(frozen=True)
class LineCounters:
    """Packets since the start of a link: `pushed` is the sum of `delivered`, the four kinds of drops, and `held`."""

    pushed: int
    delivered: int
    """Taken out at the other end."""
    full: int
    """Dropped for want of room."""
    scheme: int
    """Dropped by the scheme, at arrival or later."""
    evicted: int
    """Dropped to make room for others."""
    lost: int
    """Lost on the wire."""
    marked: int
    """Marked by the queue."""
    held: int
    """Within: waiting, being sent, on the wire, or due and not taken yet."""
    waiting: int
    """Held packets in the queue."""


class Line(Generic[Payload]):
    r"""One direction: a queue under a scheme, a transmitter and a wire, in virtual time that the caller owns.

    `description` is TOML with the keys of a link in a scenario: `rate` and `buffer`, and perhaps `delay`, `aqm`, `ecn`,
    `target`, `overhead`, `loss` and the other impairments, `packet` (the size by which buffer and target are converted;
    1500 B). Times are whole nanoseconds from a start of the caller's. The behaviour depends on description, seed and
    calls alone. A payload is any object; the link keeps it until the packet leaves or is returned as dropped.
    InputError if the description is wrong.

    >>> line = Line("rate = '8 Mbit/s'\ndelay = '10 ms'\nbuffer = '100 packets'\naqm = 'fq-codel'")
    >>> line.push(0, 1000, b"a datagram", ecn="ect0")
    'joined'
    >>> line.next_event()  # 1 ms to send 1000 bytes, and 10 ms on the wire
    11000000
    >>> line.pop(11_000_000).payload
    b'a datagram'
    """

    def __init__(self, description: str, seed: int = 1) -> None:
        self._core = _core.Line(description, _checked("seed", seed))

    @classmethod
    def _of(cls, core: _core.Line) -> "Line[Payload]":
        line = cls.__new__(cls)
        line._core = core
        return line

    def push(
        self,
        now: int,
        length: int,
        payload: Payload,
        *,
        ecn: Ecn = "not-ect",
        flow: int = 0,
        host: int | None = None,
        dscp: int = 0,
    ) -> str:
        """Let a packet of `length` bytes of IP enter at `now`, ns, never before an earlier call.

        `flow` and `host` are numbers of the caller's; flow queueing hashes them (a host None is one of this flow only).
        `dscp` is 0 to 63. Returns "joined", "marked", or the reason for which the packet was
        dropped at once (`Dropped.reason`). InputError if time goes backwards or such a packet cannot be; SchemeError
        if a scheme written in Python has broken down.
        """
        host = flow if host is None else host
        try:
            return self._core.push(now, length, payload, ecn, flow, host, dscp)
        except OverflowError as error:
            raise _named(error, now=now, length=length, flow=flow, host=host, dscp=dscp) from None

    def next_event(self) -> int | None:
        """Return the time at which to call `pop` next, ns; None if the link is empty."""
        return self._core.next_event()

    def pop(self, now: int) -> Delivery[Payload] | None:
        """Take the next packet that comes out at `now` or before, ns.

        Returns None if what was due was none: the packet was dropped, or is delayed on the wire. InputError if time
        goes backwards or nothing is due; SchemeError if a scheme written in Python has broken down.
        """
        try:
            found = self._core.pop(now)
        except OverflowError as error:
            raise _named(error, now=now) from None
        return None if found is None else Delivery(*found)

    def pop_dropped(self) -> Dropped[Payload] | None:
        """Take the next packet that was dropped, in order, or None; they are kept until they are taken."""
        found = self._core.pop_dropped()
        return None if found is None else Dropped(*found)

    def advance(self, now: int) -> None:
        """Do all that happens until `now`, ns, so that counts, drops and observables are up to date.

        InputError if time goes backwards; SchemeError if a scheme written in Python has broken down.
        """
        try:
            self._core.advance(now)
        except OverflowError as error:
            raise _named(error, now=now) from None

    @property
    def now(self) -> int:
        """The time of the last call, ns."""
        return self._core.now

    @property
    def aqm(self) -> str:
        """Name of the scheme."""
        return self._core.aqm

    @property
    def counters(self) -> LineCounters:
        """Counts since the start."""
        return LineCounters(*self._core.counters)

    @property
    def observables(self) -> dict[str, float]:
        """Quantities that the scheme shows, by name, at the time of the last call."""
        return dict(self._core.observables)

    def copy(self) -> "Line[Payload]":
        """Return a copy, which goes its own way from here on. Both share the payloads that they hold."""
        return Line._of(self._core.copy())

    def __repr__(self) -> str:
        return f"<Line: {self.aqm}, {self.counters.held} packets within at {self.now} ns>"


class Path(Generic[Payload]):
    """Both directions of a scenario in one time.

    `scenario` is the TOML of one with a link `up` and a link `down`, or with one that leads up: what comes back then
    meets no queue. The flows' round-trip time is shared out to both. `aqm` is a scheme for both or for each
    ("cake@up+fq-codel@down"); the scenario's own if None. InputError if a link does not support the scenario.
    """

    def __init__(self, scenario: str, aqm: str | None = None, seed: int = 1) -> None:
        up, down = _core.Line.pair(scenario, aqm, _checked("seed", seed))
        self.up: Line[Payload] = Line._of(up)
        self.down: Line[Payload] = Line._of(down)

    def next_event(self) -> int | None:
        """Return the time at which to call `pop` next, ns; None if both lines are empty."""
        times = [time for line in (self.up, self.down) if (time := line.next_event()) is not None]
        return min(times, default=None)

    def pop(self, now: int) -> tuple[Side, Delivery[Payload]] | None:
        """Take what comes out next at `now` or before, ns, and its direction; at one instant upwards first.

        Returns None if what was due was none. InputError if time goes backwards or nothing is due.
        """
        up, down = self.up.next_event(), self.down.next_event()
        is_down = down is not None and (up is None or down < up)
        found = (self.down if is_down else self.up).pop(now)
        return None if found is None else ("down" if is_down else "up", found)

    def pop_dropped(self) -> Dropped[Payload] | None:
        """Take the next packet that was dropped, those on the way up first; None if there is none."""
        return self.up.pop_dropped() or self.down.pop_dropped()

    def copy(self) -> "Path[Payload]":
        """Return a copy, which goes its own way from here on."""
        path = Path.__new__(Path)
        path.up, path.down = self.up.copy(), self.down.copy()
        return path

    def __repr__(self) -> str:
        return f"<Path: {self.up!r} up, {self.down!r} down>"


class SharedPath(Generic[Payload]):
    r"""Both directions of a scenario in one time, with traffic of others: the flows of the scenario send.

    They are as in any simulation: long transfers under every congestion controller, the web, video, datagrams.
    `scenario`, `aqm` and `seed` are as of `Path`; the flows continue after the scenario's duration. InputError if a
    link does not support the scenario.

    >>> path = SharedPath(
    ...     "schema = 1\nduration = '60 s'\n[[links]]\nname = 'up'\nrate = '20 Mbit/s'\nbuffer = '200 packets'\n"
    ...     "[[flows]]\ncount = 4\nrtt = '40 ms'\ntcp = 'cubic'\n"
    ... )
    >>> path.push("up", 2_000_000_000, 1200, b"a datagram")
    'joined'
    >>> side, delivery = path.pop(3_000_000_000)
    >>> delivery.waited > 0  # the others were there before
    True
    """

    def __init__(self, scenario: str, aqm: str | None = None, seed: int = 1) -> None:
        self._core = _core.SharedPath(scenario, aqm, _checked("seed", seed))

    def push(
        self,
        side: Side,
        now: int,
        length: int,
        payload: Payload,
        *,
        ecn: Ecn = "not-ect",
        flow: int = 0,
        host: int | None = None,
        dscp: int = 0,
    ) -> str:
        """Let a packet enter a direction, as `Line.push`, after all packets that others have sent until then."""
        host = flow if host is None else host
        try:
            return self._core.push(side, now, length, payload, ecn, flow, host, dscp)
        except OverflowError as error:
            raise _named(error, now=now, length=length, flow=flow, host=host, dscp=dscp) from None

    def next_event(self) -> int | None:
        """Return when to call `pop` next, ns: nothing comes out before; None if nothing of the caller's is within.

        It is the next event of the whole network, so that most calls give nothing; `pop` may also be called later.
        """
        return self._core.next_event()

    def pop(self, now: int) -> tuple[Side, Delivery[Payload]] | None:
        """Take the next packet of the caller's that comes out at `now` or before, ns, and its direction.

        Time passes until `now`, or until that packet comes out (`Delivery.at`): a packet may be pushed at that time.
        InputError if time goes backwards, or a scheme has broken down.
        """
        try:
            found = self._core.pop(now)
        except OverflowError as error:
            raise _named(error, now=now) from None
        return None if found is None else ("up" if found[0] == "up" else "down", Delivery(*found[1]))

    def pop_dropped(self) -> Dropped[Payload] | None:
        """Take the next packet of the caller's that was dropped, in order, or None."""
        found = self._core.pop_dropped()
        return None if found is None else Dropped(*found)

    def counters(self, side: Side) -> LineCounters:
        """Return the counts of the caller's packets in a direction; `marked` and `waiting` count all packets."""
        return LineCounters(*self._core.counters(side))

    @property
    def now(self) -> int:
        """The time of the last call, or of the packet that it took, ns."""
        return self._core.now

    def copy(self) -> "SharedPath[Payload]":
        """Return a copy with all that is on it, which goes its own way from here on."""
        path = SharedPath.__new__(SharedPath)
        path._core = self._core.copy()
        return path

    def __repr__(self) -> str:
        return f"<SharedPath: {self.counters('up').held} packets within up, {self.counters('down').held} down>"


def _checked(name: str, value: int) -> int:
    return whole(name, value, 0, LARGEST[name])


def _named(error: OverflowError, **given: int) -> Exception:
    """Return the error that names what is out of range; numbers are looked at only where the engine refuses one."""
    try:
        for name, value in given.items():
            _checked(name, value)
    except InputError as named:
        return named
    return error
