"""The search for the twin of one direction: every kind of queue is matched to the measurement and scored."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import expm1, isfinite, log

from aqmlab.fit.features import Scale, features, token_bucket
from aqmlab.fit.observation import Load, Observation
from aqmlab.fit.segments import steps
from aqmlab.fit.trial import simulated
from aqmlab.fit.twin import BUCKETS, FULL, KINDS, Twin, TwinLink, bucket

HEADERS = 52
"""Bytes of a TCP segment's headers, with time stamps."""
PART = 0.01
"""Part of a feature by which a simulation may always differ."""
NEVER_FULL = 2.0
"""Buffer of a managed queue in the longest delays at first: simulations that are delayed longer make it shorter."""
MOST = 5.0
"""Standard deviations at which the difference of a feature is capped."""

FEWEST_LOST, ABOVE = 3e-5, 1.3
"""Share of lost packets, and rate at the start in later rates, from which random losses may limit the transfers."""
SMALLER, FASTER = (4.0, 16.0), 1.5
"""Factors by which the bucket of a policer may be smaller than the envelope of its goodput, and its rate higher."""
USED = 0.9
"""Mean goodput in rates of a policer from which it shows the rate."""

Features = Mapping[str, float]


@dataclass(frozen=True)
class TwinTrial:
    """A candidate with the features of its simulations, one for each seed."""

    link: TwinLink
    found: tuple[Features, ...]

    def mean(self, name: str) -> float:
        """Return the mean of a feature over the seeds."""
        values = [each[name] for each in self.found if isfinite(each[name])]
        return sum(values) / len(values) if values else float("nan")


@dataclass
class TwinSearch:
    """The search in one direction of a link: `place` puts a link into the whole twin."""

    seen: Observation
    scale: Scale
    place: Callable[[TwinLink], Twin]
    pool: ThreadPoolExecutor
    progress: Callable[[int], None] = lambda _: None
    runs: int = 0
    wanted: Features = field(init=False)
    load: Load = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = features(self.seen, self.scale)
        self.load = replace(self.seen.load, duration=self.scale.until, lead=1.0)

    def trials(self, links: Sequence[TwinLink], seeds: Sequence[int]) -> list[TwinTrial]:
        """Simulate candidates under some seeds."""
        jobs = [self.pool.submit(self._one, link, seed) for link in links for seed in seeds]
        found = iter([job.result() for job in jobs])
        self._count(len(jobs))
        return [TwinTrial(link, tuple(next(found) for _ in seeds)) for link in links]

    def each(self, links: Sequence[TwinLink], first: int) -> list[TwinTrial]:
        """Simulate candidates, each under the next seed from `first` on."""
        jobs = [self.pool.submit(self._one, link, first + i) for i, link in enumerate(links)]
        self._count(len(jobs))
        return [TwinTrial(link, (job.result(),)) for link, job in zip(links, jobs, strict=True)]

    def _count(self, runs: int) -> None:
        self.runs += runs
        self.progress(self.runs)

    def _one(self, link: TwinLink, seed: int) -> Features:
        return features(simulated(self.place(link), self.load, seed), self.scale)

    def starts(self) -> list[TwinLink]:
        """Return first estimates for each kind of queue, the usual ones first.

        Others are a rate that changes, if the goodput has steps; random losses that keep the transfers below the rate;
        and smaller buckets and higher rates of a policer, after whose losses transfers recover slowly.
        """
        rate = self.on_the_wire(self.scale.rate)
        links = [self._start(kind, rate) for kind in KINDS]
        if levels := steps(self.seen, self.scale):
            changes = tuple((at, level / levels[0][1]) for at, level in levels)
            first = self.on_the_wire(levels[0][1])
            links += [replace(self._start(kind, first), steps=changes) for kind in KINDS if kind not in BUCKETS]
        if (lost := self.lost / self.packets) > FEWEST_LOST and self.wanted["start rate"] > ABOVE:
            first = rate * self.wanted["start rate"]
            links += [replace(self._start(kind, first), loss=lost) for kind in KINDS if kind not in BUCKETS]
        police = links[KINDS.index("policer")]
        others = [(by, faster) for by in (1.0, *SMALLER) for faster in (1.0, FASTER)][1:]
        return links + [
            replace(police, rate=police.rate * faster, peak=police.peak * faster, burst=bucket(police.burst / by))
            for by, faster in others
        ]

    def _start(self, kind: str, rate: float) -> TwinLink:
        want = self.wanted
        longest = max(want["start delay"], want["probe 99"] if isfinite(want["probe 99"]) else 0.0)
        own = max(longest, want["start srtt"] if isfinite(want["start srtt"]) else 0.0)
        if self.load.opposite:  # a delay does not show its direction
            longest, own = longest / 2, own / 2
        delay = longest if kind in ("drop-tail", "shaper") else NEVER_FULL * own
        link = TwinLink(kind, rate, max(2.0, delay * rate / 8 / FULL))
        if kind == "shaper":
            depth = want["start excess"] * self.scale.rate / 8
            return replace(link, burst=bucket(depth), peak=rate * max(1.5, want["start rate"]))
        if kind == "policer":
            tokens, bits = token_bucket(self.seen, self.scale)
            link = replace(link, rate=self.on_the_wire(tokens), burst=bucket(bits / 8))
            return replace(link, peak=link.rate * max(2.0, want["start rate"]))
        return link

    def on_the_wire(self, goodput: float) -> float:
        """Return the rate of a link whose transfers have this goodput, with headers and probes, bit/s."""
        probes = 8 * self.load.size / self.load.every * (1 + self.load.l4s) if self.load.every else 0.0
        return goodput * (self.load.payload + HEADERS) / self.load.payload + probes

    def matched(self, trial: TwinTrial) -> TwinLink:
        """Return the candidate whose scales are corrected by the ratio of measured and simulated features."""
        link = trial.link
        by_mean = link.kind == "policer" or bool(link.steps)
        if link.kind != "policer" or self.on_the_wire(self.scale.rate * trial.mean("mean rate")) > USED * link.rate:
            link = replace(link, rate=link.rate * self._ratio(trial, "mean rate" if by_mean else "modal rate", 1.5))
        if link.kind in ("drop-tail", "shaper"):
            link = replace(link, buffer=max(1.0, link.buffer * self._ratio(trial, "probe 99", 2.0)))
        elif link.kind in ("codel", "pie", "dualpi2"):
            link = replace(link, buffer=max(1.0, link.buffer * self._ratio(trial, "start delay", 2.0)))
        elif link.kind == "fq-codel":
            link = replace(link, buffer=max(1.0, link.buffer * self._ratio(trial, "start srtt", 2.0)))
        if link.kind in ("shaper", "policer"):
            if link.kind == "shaper":
                more = (self.wanted["start excess"] - trial.mean("start excess")) * self.scale.rate / 8
                link = replace(link, burst=bucket(link.burst + more))
            link = replace(link, peak=max(1.2 * link.rate, link.peak * self._ratio(trial, "start rate", 1.5)))
        if link.loss and "losses" in self.wanted:
            link = replace(link, loss=max(1e-6, link.loss + self.more_losses(trial)))
        return link

    def more_losses(self, trial: TwinTrial) -> float:
        """Return the measured losses beyond the simulated ones, per packet."""
        return (self.lost - expm1(trial.mean("losses"))) / self.packets

    @property
    def lost(self) -> float:
        """Retransmissions in the settled part of the load; 0 if the files do not state them."""
        return expm1(self.wanted.get("losses", 0.0))

    @property
    def packets(self) -> float:
        """Packets of the settled part of the load."""
        return self.scale.rate * (self.scale.until - self.scale.settled) / 8 / self.load.payload

    def _ratio(self, trial: TwinTrial, name: str, most: float) -> float:
        measured, found = self.wanted[name], trial.mean(name)
        if not (isfinite(measured) and isfinite(found)) or min(measured, found) <= 0:
            return 1.0
        return min(most, max(1 / most, measured / found))

    def score(self, trial: TwinTrial, spread: Mapping[str, float]) -> float:
        """Return the mean square of the differences between measured and simulated features, in standard deviations."""
        return sum(each * each for each in self.differences(trial, spread).values()) / len(spread)

    def differences(self, trial: TwinTrial, spread: Mapping[str, float]) -> dict[str, float]:
        """Return the difference of each feature in standard deviations, capped."""
        found = {}
        for name, deviation in spread.items():
            measured, mean = self.wanted[name], trial.mean(name)
            whole = (deviation**2 * (1 + 1 / len(trial.found)) + self.tolerance(name) ** 2) ** 0.5
            both = isfinite(measured), isfinite(mean)
            apart = 0.0 if both == (False, False) else MOST * whole if False in both else measured - mean
            found[name] = max(-MOST, min(MOST, apart / whole))
        return found

    def tolerance(self, name: str) -> float:
        """Return the difference of a feature that says nothing: a simulator is no line."""
        measured = self.wanted[name]
        return (
            ((PART * abs(measured)) ** 2 + self._floor(name) ** 2) ** 0.5 if isfinite(measured) else self._floor(name)
        )

    def _floor(self, name: str) -> float:
        if name.startswith(("probe l", "loss", "start l")):
            return {"probe loss": 0.002, "loss times": 0.02}.get(name, 0.05)
        if name.startswith(("rate", "m", "start r", "start m", "start e", "excess")):
            return {"modal rate": 0.002, "mean rate": 0.003, "start excess": 0.01}.get(name, 0.01)
        return self._resolution

    @property
    def _resolution(self) -> float:
        """The resolution of a delay: a packet's time, and the digits of ping, s."""
        packet = 8 * FULL / self.scale.rate
        digits = 10 ** (int(log(max(self.scale.base, 1e-4) * 1e3, 10) // 1) - 5) if self.load.rounded else 1e-5
        return max(packet, digits, 5e-5)

    def spread(self, trials: Sequence[TwinTrial]) -> dict[str, float]:
        """Return the standard deviation of each feature over seeds, pooled over candidates with several."""
        import numpy as np

        found = {}
        for name in self.wanted:
            values = [[each[name] for each in trial.found] for trial in trials if len(trial.found) > 1]
            variances = [np.var(row, ddof=1) for row in values if np.isfinite(row).all()]
            found[name] = float(np.sqrt(np.mean(variances))) if variances else 0.0
        return found

    def apart(self, one: TwinTrial, other: TwinTrial, spread: Mapping[str, float]) -> float:
        """Return the mean square by which single simulations of two candidates differ, in standard deviations."""
        pairs = [(a, b) for a in one.found for b in other.found if a is not b]
        total = 0.0
        for name, deviation in spread.items():
            whole = (2 * deviation**2 + self.tolerance(name) ** 2) ** 0.5
            both = [(a[name], b[name]) for a, b in pairs if isfinite(a[name]) and isfinite(b[name])]
            total += sum(min(MOST, abs(a - b) / whole) ** 2 for a, b in both) / max(1, len(both))
        return total / len(spread)
