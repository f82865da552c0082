"""The Rust half: schemes, TCP and the simulator behind a small door."""

from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

class InputError(ValueError):
    """A scenario, scheme or parameter that cannot be used; the text names each problem on its own line."""

class SchemeError(RuntimeError):
    """A scheme that broke down during a run; the text names it, the simulated time and the cause."""

class Interrupted(Exception):
    """The run was cancelled through its `Watch`."""

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
    def class_selector(self) -> int:
        """Class selector of its DSCP, 0 to 7."""
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
    """The declared parameters of a user's scheme."""
    def read(self, pairs: list[tuple[str, str]]) -> dict[str, float | bool | str]: ...

@final
class Watch:
    """A flag shared with running simulations; any thread may raise it."""
    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    def is_cancelled(self) -> bool: ...
    @property
    def now(self) -> float: ...

@final
class Scenario:
    """A parsed and checked scenario; times in seconds."""
    @staticmethod
    def parse(text: str, name: str, overrides: list[tuple[str, str]] = ...) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
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
    def link(self, name: str) -> Link: ...
    def group(self, name: str) -> Group: ...
    def parameters(self, aqm: str) -> dict[str, str]:
        """Every parameter of a scheme as it will run here, as text with its unit."""
    def resolved(self) -> dict[str, Any]:
        """The scenario with every default filled in: quantities are texts with their units."""
    def resolved_json(self) -> str: ...
    def scheme(self, aqm: str) -> str: ...

@final
class Link:
    """A queueing link of a scenario, in numbers."""
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
    def delay(self) -> float:
        """Propagation delay, one way, s."""
    @property
    def buffer(self) -> float:
        """How much may wait, packets; of mean size where the scenario has bytes."""
    @property
    def target(self) -> float:
        """Queue that schemes with a reference aim at, packets."""
    @property
    def ecn(self) -> bool:
        """Whether packets are marked where others are dropped."""

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
    def payload(self) -> int:
        """Payload of a packet, bytes."""
    @property
    def header(self) -> int:
        """Headers of a packet, bytes."""

@final
class Run:
    """What one simulation measured."""
    def json(self) -> str: ...
    def result(self) -> dict[str, Any]:
        """The same as objects; links and groups of flows in the order of the scenario."""
    def series(self) -> dict[str, dict[str, NDArray[np.float64]]]: ...
    def delays(self) -> dict[str, dict[str, NDArray[np.float64]]]: ...
    def flow_table(self) -> dict[str, NDArray[np.float64]]: ...
    def transfer_table(self) -> dict[str, NDArray[np.float64]]: ...
    def trace(self) -> Trace | None: ...

@final
class Trace:
    """What happened to each packet at a link."""
    def columns(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, list[str]]]:
        """Columns of equal length, and the labels of those that hold codes, which count from 0; -1 is none."""
    def write_pcap(self, path: str) -> None:
        """Write the packets that left the queue as pcapng."""

@final
class Fluid:
    """A trajectory of the fluid model."""
    def json(self) -> str:
        """The model and the summary of its trajectory."""
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
def run(
    scenario: Scenario,
    aqm: str | None = None,
    seed: int = 1,
    series: bool = False,
    watch: Watch | None = None,
    trace: str | None = None,
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
    /,
) -> Parameters: ...
def check(aqm: str) -> list[tuple[str, str | None]]: ...
def version() -> str: ...
def source() -> str: ...
def commit() -> str: ...
def quantity(text: str) -> tuple[float, str] | None: ...
def build_profile() -> str: ...
def catalogue() -> list[dict[str, Any]]: ...
def scheme(name: str) -> dict[str, Any]: ...
def tcp() -> list[dict[str, Any]]: ...
