"""The Rust half: schemes, TCP and the simulator behind a small door."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypedDict, final

import numpy as np
from numpy.typing import NDArray

class SchemeError(RuntimeError):
    """A scheme that broke down during a run; the text names it, the simulated time and the cause."""

class Interrupted(Exception):
    """The run was cancelled through its `Watch`."""

class CommandError(Exception):
    """The command of a live run that could not be started: why, and the code that a shell would give."""

@final
class Live:
    """What a live run yielded."""
    @property
    def code(self) -> int:
        """The code of the command."""
    @property
    def warnings(self) -> list[str]:
        """What the user should know."""
    def document(self) -> dict[str, Any]:
        """The document."""
    def flows(self) -> list[tuple[str, str, int, int, int, int, int]]:
        """A row for each flow: direction, whose, packets sent, retransmitted, delivered and marked, payload (B)."""
    def series(self) -> dict[str, dict[str, NDArray[np.float64]]]:
        """Columns of every link's time series."""

def live(
    scenario: Scenario,
    command: list[str],
    *,
    aqm: str | None = None,
    seed: int = 1,
    serve: list[str] = ...,
    duration: float | None = None,
    mtu: int = 1500,
    sysctls: list[tuple[str, str]] = ...,
    outside: bool = False,
    quiet_stdout: bool = False,
    folder: str | None = None,
    watch: Callable[[float, tuple[int, int, int, int, list[float]], tuple[int, int, int, int, list[float]]], None]
    | None = None,
) -> Live:
    """Run a command behind the line of a scenario."""

def replay(
    scenario: Scenario, aqm: str | None, seed: int, direction: str, log: bytes
) -> tuple[int, int, int, tuple[str, str] | None]:
    """Put logged arrivals through the simulated link: packets, decisions, those that are the same, the first other."""

@final
class Window:
    """Window and slow start threshold of a sender, in segments; a law sets them."""

    cwnd: float
    ssthresh: float

@final
class AckFacts:
    """The facts of an ACK: counts in segments, times in seconds."""
    @property
    def acked(self) -> int:
        """Segments that it acknowledges; 0 for a duplicate ACK."""
    @property
    def byte_counting(self) -> bool:
        """The window grows by what is acknowledged (RFC 3465), not by ACKs."""
    @property
    def flight(self) -> int:
        """Segments outstanding before it."""
    @property
    def is_app_limited(self) -> bool:
        """The application has nothing more to send at present."""
    @property
    def now(self) -> float:
        """Time of its arrival, s."""
    @property
    def srtt(self) -> float:
        """Smoothed round-trip time, s; 0 before the first sample."""
    @property
    def rtt(self) -> float | None:
        """A round-trip time that it measures, s; None if none."""

def declare_law(
    cls: type,
    name: str,
    title: str,
    source: str,
    page: str,
    params: list[tuple[str, str, tuple[str, str] | None, list[str], str, str]],
    hooks: list[str],
) -> Parameters:
    """Add a class to the catalogue of laws."""

def load_law(file: str) -> str:
    """Load a law from a shared library; returns its name."""

@final
class Line:
    """A line in the caller's time; `aqmlab.Line` says more."""
    def __new__(cls, description: str, seed: int) -> Line: ...
    @staticmethod
    def pair(scenario: str, aqm: str | None = None, seed: int = 1) -> tuple[Line, Line]:
        """The lines of a scenario: up and down."""
    def push(self, now: int, length: int, payload: Any, ecn: str, flow: int, host: int, dscp: int) -> str:
        """What became of the packet: "joined", "marked", or why it was dropped."""
    def next_event(self) -> int | None:
        """When to call `pop` next, ns."""
    def pop(self, now: int) -> tuple[Any, Any, int, int] | None:
        """Payload, ECN field, time in the queue and time at which it comes out, both ns."""
    def pop_dropped(self) -> tuple[Any, Any, str, int] | None:
        """Payload, ECN field, reason and time, ns."""
    def advance(self, now: int) -> None:
        """Do all that happens until then."""
    @property
    def now(self) -> int:
        """The time of the last call, ns."""
    @property
    def aqm(self) -> str:
        """Name of the scheme."""
    @property
    def counters(self) -> list[int]:
        """Counts since the start, in the order of `LineCounters`."""
    @property
    def observables(self) -> list[tuple[str, float]]:
        """What the scheme shows, by name."""
    def copy(self) -> Line:
        """A copy, which goes its own way."""

@final
class SharedPath:
    """Both directions with traffic of others; `aqmlab.SharedPath` says more."""
    def __new__(cls, scenario: str, aqm: str | None = None, seed: int = 1) -> SharedPath: ...
    def push(
        self,
        side: str,
        now: int,
        length: int,
        payload: Any,
        ecn: str,
        flow: int,
        host: int,
        dscp: int,
    ) -> str: ...
    def next_event(self) -> int | None: ...
    def pop(self, now: int) -> tuple[str, tuple[Any, Any, int, int]] | None: ...
    def pop_dropped(self) -> tuple[Any, Any, str, int] | None: ...
    def counters(self, side: str) -> list[int]: ...
    @property
    def now(self) -> int: ...
    def copy(self) -> SharedPath: ...

@final
class Verdict:
    """What a hook wants done with the packet it was shown."""

    Pass: ClassVar[Verdict]
    Signal: ClassVar[Verdict]
    Mark: ClassVar[Verdict]
    Drop: ClassVar[Verdict]

@final
class Packet:
    """What a scheme may see of a packet."""
    @property
    def size(self) -> int:
        """Size on the wire, bytes."""
    @property
    def flow(self) -> int:
        """Number of its flow."""
    @property
    def rtt(self) -> float | None:
        """Round-trip time that its sender announces, s; None if it does not."""
    @property
    def dscp(self) -> int:
        """Its DSCP, 0 to 63."""
    @property
    def class_selector(self) -> int:
        """Class selector of its DSCP, 0 to 7: the upper three bits."""
    @property
    def enqueued_at(self) -> float:
        """When it joined the queue, s."""
    @property
    def ecn(self) -> Literal["not-ect", "ect0", "ect1", "ce"]:
        """ECN field of its header."""
    @property
    def can_mark(self) -> bool:
        """It can carry a mark, and this queue marks."""

@final
class Queue:
    """What a scheme may see of its queue; neither the packet being judged nor the one in transmission is in it."""
    @property
    def packets(self) -> int:
        """Packets waiting."""
    @property
    def bytes(self) -> int:
        """Bytes waiting."""
    @property
    def target(self) -> float:
        """Length to aim at, packets."""
    @property
    def limit(self) -> float:
        """How much may wait, packets."""
    @property
    def rate(self) -> float:
        """Rate of the link, bit/s."""
    @property
    def arrived_packets(self) -> int:
        """Packets offered so far, dropped ones and the one being judged included."""
    @property
    def arrived_bytes(self) -> int:
        """Bytes offered so far."""

class Scheme:
    """What the base class of a user's schemes has from the engine."""

    p: float
    """Probability with which an arriving packet is signalled, unless `on_enqueue` is overridden."""
    @property
    def now(self) -> float:
        """Simulated time, s."""
    def random(self) -> float:
        """A random number in [0, 1) of the scheme's own stream; there in the hooks, not in `reset`."""

@final
class Parameters:
    """The declared parameters of a user's scheme, law or controller."""
    def __init__(
        self, name: str, params: list[tuple[str, str, tuple[str, str] | None, list[str], str, str]]
    ) -> None: ...
    def read(self, pairs: list[tuple[str, str]]) -> dict[str, float | bool | str]: ...

@final
class Watch:
    """A flag shared with running simulations; any thread may raise it.

    Runs that hold more than `memory` bytes together are stopped, those first that hold no less than a `share` of them.
    """
    def __init__(self, memory: float | None = None, share: float = 0) -> None: ...
    def cancel(self) -> None: ...
    def reach(self, seconds: float) -> None: ...
    def is_cancelled(self) -> bool: ...
    @property
    def now(self) -> float: ...

class LinkOnLinux(TypedDict):
    """A link as Linux is told it: the rate in bit/s, whether it marks, bytes of a packet, whether the rate changes."""

    scheme: str
    rate: float
    buffer: str
    ecn: bool
    packet: int
    varies: bool

class OnLinux(TypedDict):
    """A scenario as Linux is told it: the schemes as a result names them, the links, and those that changes make.

    `schemes` has those of each link by its name, each with the time from which on.
    """

    name: str
    links: list[LinkOnLinux]
    schemes: list[tuple[str, list[tuple[str, str]]]]
    changed: list[LinkOnLinux]

def on_linux(scenario: Scenario, aqm: str | None = None) -> OnLinux:
    """Return what Linux is told of a scenario. InputError with what a Linux cannot do."""

@final
class Scenario:
    """A parsed and checked scenario; times in seconds."""
    @staticmethod
    def parse(text: str, name: str, overrides: list[tuple[str, str]] = ..., file: str | None = None) -> Scenario: ...
    @staticmethod
    def of(values: dict[str, Any], name: str, overrides: list[tuple[str, str]] = ...) -> Scenario:
        """Read values instead of text: what a file would say."""
    def with_flows(self, group: dict[str, Any]) -> Scenario:
        """Return the scenario with another group of flows: what a file would say of it."""
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def notice(self) -> str | None: ...
    @property
    def profile_notice(self) -> str | None: ...
    @property
    def text(self) -> str:
        """The text that it was read from, traces included, without what was set."""
    @property
    def overrides(self) -> list[tuple[str, str]]:
        """What was set of it: paths and values."""
    @property
    def duration(self) -> float: ...
    @property
    def warmup(self) -> float: ...
    @property
    def sample(self) -> float: ...
    @property
    def flows(self) -> list[str]: ...
    @property
    def links(self) -> list[str]: ...
    @property
    def stations(self) -> list[str]:
        """Names of the stations of a Wi-Fi cell, those that are alike once."""
    @property
    def controllers(self) -> list[ControllerSpecs]: ...
    def link(self, name: str) -> Link: ...
    def law(self, aqm: str) -> Law:
        """Return the linear law of a scheme written `name` or `name:k=v,...`, with what the scenario sets for it."""
    def group(self, name: str) -> Group: ...
    def check_scheme(self, aqm: str) -> None:
        """Refuse a scheme that no link takes, or that some link cannot be built with: InputError."""

    def memory(self, aqm: str | None = None, series: bool = False) -> float:
        """Bytes that its simulation takes at its start and while queues stay short, within a quarter."""
    def parameters(self, aqm: str) -> dict[str, str]:
        """Every parameter of a scheme as it will run here, as text with its unit."""
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default filled in: quantities are texts with their units."""

@final
class ControllerSpecs:
    """A controller of a scenario."""
    @property
    def name(self) -> str: ...
    @property
    def law(self) -> str:
        """Its law, with parameters."""
    @property
    def pings(self) -> str:
        """The group of datagrams whose delay it sees."""
    @property
    def shapers(self) -> list[ShaperSpecs]:
        """What it sets."""

@final
class ShaperSpecs:
    """A rate that a controller sets; bit/s."""
    @property
    def link(self) -> str: ...
    @property
    def path(self) -> str:
        """What is set, as `Simulation.set` takes it."""
    @property
    def min(self) -> float: ...
    @property
    def base(self) -> float:
        """The rate at first."""
    @property
    def max(self) -> float: ...

@final
class Link:
    """A link of a scenario; s, bit/s and packets."""
    @property
    def name(self) -> str: ...
    @property
    def rate(self) -> float:
        """Rate, at first, bit/s."""
    @property
    def rate_changes(self) -> bool:
        """Whether the rate changes during a run."""
    @property
    def rates(self) -> list[float]:
        """Every rate that it has or may have, bit/s."""
    @property
    def typical_rates(self) -> list[float]:
        """The rates that it does not exceed in 5, 50 and 95 % of the seconds, bit/s."""
    @property
    def delay(self) -> float:
        """Propagation delay, one way, s."""
    @property
    def buffer(self) -> float:
        """How much may wait, packets; of mean size where the scenario has bytes."""
    @property
    def buffer_bytes(self) -> int | None:
        """The same in bytes, where the scenario has it in bytes."""
    @property
    def target(self) -> float:
        """Queue that schemes with a reference aim at, packets."""
    @property
    def packet(self) -> float:
        """Mean size on the wire of the packets that cross it, bytes."""
    @property
    def ecn(self) -> bool:
        """Whether packets are marked where others are dropped."""
    @property
    def has_layer(self) -> bool:
        """Whether packets take more on its wire than their own bytes."""
    @property
    def impairments(self) -> list[str]:
        """Keys of its wire's impairments: "policer", "loss", "jitter", "reorder", "ecn_mangling", "aggregation"."""

@final
class Group:
    """A group of flows of a scenario, in numbers."""
    @property
    def name(self) -> str: ...
    @property
    def count(self) -> int:
        """Connections, sources, sessions or hosts."""
    @property
    def rtt(self) -> float | None:
        """Round-trip propagation, s; None where it is drawn for each flow."""
    @property
    def rtt_range(self) -> tuple[float, float] | None:
        """The ends between which the round trips are uniformly distributed, s; None for any other law."""
    @property
    def kind(self) -> str:
        """Kind of its traffic, as scenarios write it."""
    @property
    def is_tcp(self) -> bool:
        """Its flows have TCP."""
    @property
    def stops(self) -> bool:
        """Some of its flows stop before the end."""
    @property
    def on_fabric(self) -> bool:
        """Its flows go between hosts of a fabric."""
    @property
    def acks_queue(self) -> bool:
        """Its ACKs queue on their way back."""
    @property
    def ecn(self) -> bool:
        """Its endpoints speak ECN."""
    @property
    def access_rate(self) -> float | None:
        """Rate of the access link of each host, bit/s; None where it takes no time to send."""
    @property
    def window(self) -> float:
        """The receivers' window, packets."""
    @property
    def delayed_ack(self) -> bool:
        """Receivers delay their ACKs."""
    @property
    def payload(self) -> int:
        """Payload of a packet, bytes."""
    @property
    def rate(self) -> float | None:
        """Rate of a source of datagrams while it sends, headers included, bit/s; None for TCP."""
    @property
    def memory(self) -> float:
        """Memory that each of its flows takes in a simulation, bytes, within a quarter."""
    @property
    def header(self) -> int:
        """Headers of a packet, bytes."""

class _Network(Protocol):
    @property
    def rate(self) -> float: ...
    @property
    def packet(self) -> float: ...
    @property
    def target(self) -> float: ...
    @property
    def buffer(self) -> float: ...
    @property
    def ecn(self) -> bool: ...

class _Point(Protocol):
    @property
    def network(self) -> _Network: ...
    @property
    def p(self) -> float: ...
    @property
    def queue(self) -> float: ...

@final
class Law:
    """The linear law of a scheme with its parameters."""
    def __init__(self, name: str, parameters: dict[str, str] = ...) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def params(self) -> dict[str, Any]:
        """Every parameter: a number in s, bit/s, B, packets, Hz or as it is; a bool; or a word."""
    def vary(self, numbers: dict[str, float]) -> Law:
        """Return the law with other numbers for some parameters, in base units; InputError for what is not legal."""
    @property
    def spacing(self) -> float:
        """Mean gap between signals times the p that the scheme shows; 1 where signals are independent."""
    def queue(self, p: float, network: _Network) -> float:
        """Return where it rests while it signals the share `p`, packets; infinite where it never does."""
    def auto(self, network: _Network) -> dict[str, float]:
        """Return the parameters that may be "auto" with the numbers that they come to in a network."""
    def at(self, point: _Point) -> Linear:
        """Return the answer to small changes at an operating point; InputError where there is none."""

_Complex = NDArray[np.complexfloating[Any, Any]]

@final
class Linear:
    """The answer to small changes: p = feed(s) q + inner(s) p, with `integrators` poles at s = 0.

    `inner` is what a scheme sees of its own signals beside the queue: drops that it counts.
    """
    def feed(self, s: _Complex, /) -> _Complex: ...
    def inner(self, s: _Complex, /) -> _Complex: ...
    @property
    def integrators(self) -> int: ...

@final
class Run:
    """What one simulation measured."""
    def json(self) -> str: ...
    def series(self) -> dict[str, dict[str, NDArray[np.float64]]]: ...
    def delays(self) -> dict[str, dict[str, NDArray[np.float64]]]: ...
    def flow_table(self) -> dict[str, NDArray[np.float64]]: ...
    def transfer_table(self) -> dict[str, NDArray[np.float64]]: ...
    def trace(self) -> Trace | None: ...

class LinkProbe(TypedDict):
    """A link since the last probe: counts of packets, bytes sent; packets waiting now; sojourn times in s."""

    arrived: int
    departed: int
    dropped: int
    marked: int
    lost: int
    bytes: int
    queue: int
    queue_delay_mean: float | None
    queue_delay_max: float | None
    utilisation: float
    observables: dict[str, float]

class GroupProbe(TypedDict):
    """A group of flows since the last probe: packets received, goodput in bit/s, packet delay in s."""

    received: int
    marked: int
    goodput: float
    packet_delay_mean: float | None
    packet_delay_max: float | None
    transfers: int

@final
class Probe:
    """What a simulation shows at one instant, and what has happened since the last probe."""
    @property
    def now(self) -> float:
        """When it was taken, s."""
    @property
    def span(self) -> float:
        """Time since the probe before, s."""
    @property
    def links(self) -> dict[str, LinkProbe]:
        """Each link by name."""
    @property
    def flows(self) -> dict[str, GroupProbe]:
        """Each group of flows by name."""

@final
class Simulation:
    """A scenario at one instant; see `aqmlab.Simulation`."""
    def __init__(
        self,
        scenario: Scenario,
        aqm: str | None = None,
        seed: int = 1,
        *,
        series: bool = False,
        trace: str | None = None,
        watch: Watch | None = None,
        controlled: bool = False,
    ) -> None:
        """Set up a scenario; who steps one with controllers runs them, and says so by `controlled`."""
    @property
    def now(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def held(self) -> int:
        """Bytes that it holds."""
    def step_until(self, seconds: float) -> None: ...
    def sample_until(
        self, seconds: float, every: float, flows: Sequence[tuple[str, int]] = ...
    ) -> NDArray[np.float32]: ...
    def sample_columns(self, flows: Sequence[tuple[str, int]] = ...) -> list[tuple[str, str, int | None, str, str]]: ...
    def so_far(self) -> Run | None: ...
    def count(self, group: str) -> int: ...
    def probe(self) -> Probe: ...
    def set(self, path: str, value: str) -> None: ...
    def flow(self, group: str, i: int = 0) -> dict[str, Any]: ...
    def content(self, link: str) -> dict[str, int]: ...
    def clone(self) -> Simulation: ...
    def to_toml(self) -> str: ...
    def finish(self, wall: float = 0.0) -> Run:
        """Go on to the end. `wall` is what the caller's clock has measured, s: it becomes `engine.wall`."""

@final
class StudioSession:
    """A session of the studio; times are seconds of a clock that does not go back."""
    def __init__(self, scenario: Callable[[str], str], hold: Callable[[float, float], None], watch: Watch) -> None:
        """`scenario` returns the text of a scenario by its name.

        `hold` gets the bytes that the session holds and those that it is about to take; InputError refuses them.
        """
    def handle(self, text: str, now: float) -> list[tuple[str, Any]]:
        """Answer a request."""
    def step(self, now: float) -> list[tuple[str, Any]]:
        """Continue for about 30 ms, or show measures."""
    def due(self, now: float) -> tuple[float | None, bool]:
        """Return the time of the next step, None while nothing plays; and whether a request waits for its end."""
    def close(self) -> None:
        """Drop lanes and marks."""

@final
class StudioExport:
    """A request for a file."""
    @property
    def what(self) -> str: ...
    @property
    def recording(self) -> tuple[str, int, list[str | None], str]:
        """Name and seed of the scenario, the scheme of each lane, and the first lane's scenario with its changes."""
    @property
    def is_one(self) -> bool: ...
    @property
    def runs(self) -> bool: ...
    @property
    def id(self) -> Any: ...
    def file(self, watch: Watch) -> tuple[str, str, str]:
        """Return name, media type and content."""
    def answer(self, file: tuple[str, str, str]) -> str: ...

def studio_check(request: str) -> str: ...
def studio_limits() -> dict[str, int]: ...
def columns_of(paths: Sequence[Sequence[int]], links: int) -> list[int]: ...

@final
class Environments:
    """Environments side by side; see `aqmlab.gym`."""
    def __init__(
        self,
        count: int,
        link: str,
        aqm: str,
        moved: list[tuple[str, tuple[float, float] | None, str | None, float | None]],
        every: float,
        observe: list[str],
        threads: int = 1,
    ) -> None: ...
    @property
    def observations(self) -> NDArray[np.float32]:
        """What the agents observe: a row for each, between -1 and 1; overwritten by each step."""
    @property
    def readings(self) -> NDArray[np.float32]:
        """What the gauges read: a row for each environment; overwritten by each step."""
    @property
    def taken(self) -> NDArray[np.bool_]:
        """Whether each scheme took the last action."""
    def reset(self, index: int, scenario: Scenario, seed: int) -> None:
        """Begin another episode."""
    def step(self, actions: NDArray[np.float32], skip: NDArray[np.bool_]) -> bool:
        """Act and let an interval pass in every environment but those to skip; whether all schemes took it."""

def gauges() -> list[tuple[str, str, str, str | None, bool]]:
    """Return what an agent may observe: name, unit, meaning, reference (None of a ratio), whether it may be below 0."""

@final
class Trace:
    """What happened to each packet at a link."""
    def columns(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, list[str]]]:
        """Columns of equal length, and the labels of those that hold codes, which count from 0; -1 is none."""
    def write_pcap(self, path: str) -> None:
        """Write the packets that left the queue as pcapng."""

@final
class Windows:
    """How a mean window moves: "classic" or "refined"; packets."""
    def __init__(self, name: str) -> None: ...
    @property
    def name(self) -> str: ...
    def growth(self, w: float) -> float:
        """Return by how much a window grows in a round trip."""
    def cut(self, w: float) -> float:
        """Return by how much a signal shortens a window."""
    def slopes(self, w: float) -> tuple[float, float]:
        """Return the derivatives of growth and cut."""
    def at(self, p: float) -> float:
        """Return the window at which growth and signals balance: cut(W) p W = growth(W)."""

@final
class Fluid:
    """A trajectory of the fluid model."""
    def document(self) -> dict[str, Any]:
        """The model and the summary of its trajectory, in numbers."""
    def series(self) -> dict[str, NDArray[np.float64]]:
        """Columns `time`, `queue`, `queue_delay`, `p`, and for each class a row of `window` and `rate`."""

def fluid(
    scenario: Scenario,
    aqm: str | None = None,
    *,
    duration: float | None = None,
    step: float | None = None,
    series: bool = False,
    windows: str = "classic",
    check: bool = False,
) -> Fluid: ...

Column = tuple[NDArray[np.float64], NDArray[np.bool_], bool] | list[list[Any] | None]

def columns(texts: Sequence[str | None]) -> dict[str, Column]:
    """Read what results have in common by path: numbers, which are known, whether they are whole; or lists."""

def run(
    scenario: Scenario,
    aqm: str | None = None,
    seed: int = 1,
    series: bool = False,
    watch: Watch | None = None,
    trace: str | None = None,
    threads: int = 1,
    most_events: int | None = None,
) -> Run: ...
def declare(
    class_: type[Scheme],
    name: str,
    title: str,
    source: str,
    page: str,
    params: list[tuple[str, str, tuple[str, str] | None, list[str], str, str]],
    observables: list[tuple[str, str, str]],
    hooks: list[str],
    reads_target: bool,
    /,
) -> Parameters: ...
def check(aqm: str) -> list[tuple[str, str | None, str | None]]: ...
def buffer_packets(text: str, rate: float, rtt: float, packet: float) -> float:
    """Return a buffer as a scenario writes it, in packets of so many bytes, at a rate (bit/s) and an RTT (s)."""

def scheme_values(aqm: str) -> dict[str, str]:
    """Return every parameter of a scheme, which may set some, with its value as text."""

def hint(given: str, known: list[str]) -> str:
    """Return what helps where an unknown name is given: the nearest one, those that are known if they are few."""

def nearest(given: str, known: list[str]) -> str | None:
    """Return the name that was meant, if one is near."""

def read_toml(text: str, name: str) -> dict[str, Any]: ...
def location(text: str, file: str, path: str, is_key: bool) -> tuple[str, int, int, int] | None: ...
def version() -> str: ...
def home() -> str | None: ...
def source() -> str: ...
def commit() -> str: ...
def quantity(text: str) -> tuple[float, str] | None: ...
def exercise(request: str) -> str: ...
def schema(of: str) -> str:
    """Return the JSON Schema of scenarios or exercises, as JSON; InputError for any other kind of file."""

def fuzzy_terms(input: float) -> list[float]: ...
def fuzzy_answer(error: float, change: float) -> float: ...
def build_profile() -> str: ...
def catalogue() -> list[dict[str, Any]]: ...
def scheme(name: str) -> dict[str, Any]: ...
def cost(name: str) -> dict[str, Any]: ...
def laws() -> list[dict[str, Any]]: ...
def measures() -> dict[str, Any]: ...
def media_laws() -> list[str]: ...
def presets() -> list[tuple[str, str]]: ...
def wire_keys() -> list[str]: ...
def changeable_keys() -> list[list[str]]:
    """Return the keys of a link, and of a group of flows, that can change during a run."""

def tcp() -> list[dict[str, Any]]: ...
