"""Results from packets: distributions and phases of delay and goodput, loss patterns (RFC 7928, 2, 8.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from aqmlab._core import Scenario, Trace
from aqmlab.runs.executor import run_many
from aqmlab.runs.task import Failure, Task
from aqmlab.scenario import load
from aqmlab.study.suite import PACKET, LinkSetting, Phases
from aqmlab.study.suite_result import SuiteResult, Trial

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

WINDOW = 120
"""Maximum traced time after the warm-up, in seconds."""

MOST_PACKETS = 2_000_000
"""Maximum number of packets of a traced run; larger experiments are omitted."""

TOGETHER = 8
"""Number of traces in memory at the same time."""

POINTS = 400
"""Number of points of a distribution."""

K = 10
"""Goodput is sampled every K round-trip times (RFC 7928, section 2.7, recommends at least 10)."""


EVENT = 2
"""Duration of a loss event in round-trip times, for propagation and a full buffer: until a sender slows down."""


@dataclass(frozen=True)
class Losses:
    """The pattern of losses at a link: RFC 7928, sections 2.3 and 2.4.

    `gap` is the mean time between two losses (s), None below two. `synchronisation` is the mean share of the flows
    that lose a packet in the same loss event. None without a loss or with a single flow.
    """

    lost: int
    gap: float | None
    synchronisation: float | None


@dataclass(frozen=True)
class Phase:
    """One phase over all its rounds: goodput (bit/s), and the mean queueing delay (s), None without a packet."""

    goodput: float
    delay: float | None


@dataclass(frozen=True)
class Traced:
    """One traced run at its first link: quantiles of queueing delay (s) and of goodput (bit/s, every K RTTs), losses.

    `phases` are the phases of the experiment, in order.
    """

    delay: "Array"
    goodput: "Array"
    losses: Losses
    phases: Sequence[Phase]


def traces(result: SuiteResult) -> dict[tuple[str, str], Traced]:
    """Return the trace of seed 1 of every experiment, by scenario and scheme."""
    wanted = [
        (trial, _short(trial, result.link), spec)
        for trial in result.trials
        if is_small(trial)
        for spec in result.schemes
    ]
    found: dict[tuple[str, str], Traced] = {}
    for i in range(0, len(wanted), TOGETHER):
        chunk = wanted[i : i + TOGETHER]
        outcomes = run_many([Task(scenario, spec, 1, trace=scenario.links[0]) for _, scenario, spec in chunk])
        for (trial, scenario, spec), outcome in zip(chunk, outcomes, strict=True):
            if not isinstance(outcome, Failure) and isinstance(outcome.trace, Trace):
                found[trial.experiment.scenario, spec] = _read(outcome.trace, trial, scenario, result.link)
    return found


def is_small(trial: Trial) -> bool:
    """Return whether the trace of a run is small enough."""
    rates = trial.scenario.link(trial.scenario.links[0]).rates
    return fmean(rates) / 8 / PACKET * (trial.scenario.warmup + WINDOW) <= MOST_PACKETS


def _short(trial: Trial, link: LinkSetting) -> Scenario:
    """Return the scenario of an experiment, cut to the traced time."""
    end = min(trial.scenario.duration, trial.scenario.warmup + WINDOW)
    return load(trial.experiment.scenario, trial.experiment.changes(link) | {"duration": f"{end} s"})


def _read(trace: Trace, trial: Trial, scenario: Scenario, link: LinkSetting) -> Traced:
    import numpy as np

    found, labels = trace.columns()
    columns: Mapping[str, Any] = found
    data = (columns["time"] >= scenario.warmup) & (columns["kind"] == labels["kind"].index("data"))
    left = data & (columns["event"] == labels["event"].index("dequeue"))
    dropped = data & (columns["event"] == labels["event"].index("drop"))
    of_delay = left & _of_group(columns, labels, trial.experiment.delay)
    new = left & _of_group(columns, labels, trial.experiment.goodput) & _first_time(columns, left)
    edges = np.arange(scenario.warmup, scenario.duration, K * link.rtt)
    bits = 8.0 * np.maximum(columns["size"][new].astype(float) - _headers(scenario)[columns["group"][new]], 0)
    sent = columns["time"][new]
    sampled = np.histogram(sent, edges, weights=bits)[0] / (K * link.rtt)
    flows = len(np.unique(columns["flow"][data]))
    losses = loss_pattern(columns["time"][dropped], columns["flow"][dropped], flows, EVENT * link.rtt)
    waited = columns["time"][of_delay], columns["sojourn"][of_delay]
    asked = trial.experiment.phases
    phases = by_phase(asked, (sent, bits), waited, scenario.duration - scenario.warmup) if asked else []
    return Traced(_quantiles(columns["sojourn"][of_delay]), _quantiles(sampled), losses, phases)


def by_phase(phases: Phases, sent: Any, waited: Any, measured: float) -> list[Phase]:
    """Return the results by phase, from the times (s) and bits `sent`, and the times and delays (s) `waited`.

    `measured` (s) is a whole number of rounds.
    """
    import numpy as np

    of_bits, of_delays = ((times // phases.each).astype(int) % len(phases.names) for times, _ in (sent, waited))
    lasting = measured / len(phases.names)
    found = []
    for i in range(len(phases.names)):
        delays = waited[1][of_delays == i]
        mean = float(np.mean(delays)) if len(delays) else None
        found.append(Phase(float(sent[1][of_bits == i].sum()) / lasting, mean))
    return found


def _of_group(columns: Mapping[str, Any], labels: Mapping[str, Sequence[str]], group: str) -> Any:
    return columns["group"] == labels["group"].index(group) if group else columns["group"] >= 0


def _first_time(columns: Mapping[str, Any], left: Any) -> Any:
    """Return for each packet whether its data leaves for the first time; datagrams have no number and always do."""
    import numpy as np

    rows = np.flatnonzero(left)
    keys = np.stack([columns[name][rows].astype(np.int64) for name in ("flow", "transfer", "seq")])
    _, firsts = np.unique(keys, axis=1, return_index=True)
    new = np.zeros(len(left), dtype=bool)
    new[rows[firsts]] = True
    numbered = np.bincount(columns["flow"][rows], columns["seq"][rows]) > 0
    new[rows[~numbered[columns["flow"][rows]]]] = True
    return new


def _headers(scenario: Scenario) -> Any:
    """Return the header bytes of a packet, by group."""
    import numpy as np

    return np.array([float(scenario.group(name).header) for name in scenario.flows])


def _quantiles(values: Any) -> "Array":
    import numpy as np

    return np.quantile(values, np.linspace(0, 1, POINTS)) if len(values) else np.array([])


def loss_pattern(times: "Array", flows: Any, count: int, event: float) -> Losses:
    """Return the pattern of losses at `times` (s, ascending) of `flows`, `count` in all; an event lasts `event` (s)."""
    import numpy as np

    if not len(times):
        return Losses(0, None, None)
    gap = float(np.diff(times).mean()) if len(times) > 1 else None
    shares, at = [], 0
    while at < len(times):
        end = int(np.searchsorted(times, times[at] + event))
        shares.append(len(np.unique(flows[at:end])) / count)
        at = max(end, at + 1)
    return Losses(len(times), gap, float(np.mean(shares)) if count > 1 else None)
