"""Up to eight schemes in one scenario under one seed: the same arrivals, one clock."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from os import cpu_count
from typing import Any, TypeVar

import numpy as np

from aqmlab import catalogue
from aqmlab._core import Scenario, SchemeError
from aqmlab.present.labels import label
from aqmlab.problems import InputError, problems_of
from aqmlab.runs import simulate
from aqmlab.runs.results import RunResult
from aqmlab.runs.simulation import Flow, Simulation, watched
from aqmlab.studio.budget import MemoryPool, Share
from aqmlab.studio.frames import Rows

T = TypeVar("T")

MOST = 8
"""Lanes."""

MOST_COLUMNS = 20_000
"""Columns of samples, of all lanes together."""

MOST_CHANGES = 1000
"""Changes by hand in a lane; each message on a change has all of them."""


class LaneError(InputError):
    """An error of one lane."""

    def __init__(self, lane: int, error: Exception) -> None:
        super().__init__(*problems_of(error))
        self.lane = lane


@dataclass(frozen=True)
class Change:
    """A change by hand, in the format of `[[changes]]`; `at` is in s."""

    at: float
    path: str
    value: str


@dataclass
class Lane:
    """One scheme."""

    aqm: str | None
    """None for the schemes that the scenario has."""
    simulation: Simulation
    changes: list[Change] = field(default_factory=list)
    result: RunResult | None = None
    """There at the end."""

    def fork(self) -> "Lane":
        """Return a copy that goes its own way; SchemeError if the scheme cannot be copied."""
        return replace(self, simulation=self.simulation.clone(), changes=[*self.changes])

    def set(self, path: str, value: str) -> None:
        """Change something now."""
        self.simulation.set(path, value)
        self.changes.append(Change(self.simulation.now, path, value))

    def by_hand(self) -> dict[str, tuple[str | None, dict[str, str]]]:
        """Return, by link, the scheme that was set, None if none was, and the parameters set of the present one."""
        found = dict[str, tuple[str | None, dict[str, str]]]()
        for change in self.changes:
            match change.path.split("."):
                case ["links", link, "aqm"]:
                    found[link] = change.value, {}
                case ["links", link, "aqm", parameter]:
                    found.setdefault(link, (None, {}))[1][parameter] = change.value
        return found

    def finish(self, name: str, seed: int) -> RunResult:
        """Return what was measured at the end; where the scheme cannot be copied, the run is repeated for that."""
        if self.result is None:
            try:
                self.result = self.simulation.so_far()
            except SchemeError:
                repeated = Scenario.parse(self.simulation.to_toml(), name)
                self.result = simulate.run(repeated, self.aqm, seed, threads=1)
        if self.result is None:
            raise InputError("warmup", "lasts to the end; nothing is measured")
        return self.result


def check_scheme(scenario: Scenario, aqm: str) -> None:
    """Raise InputError unless `aqm` names schemes of the catalogue that fit and that some link takes.

    A file with a scheme is none of them, and is not read.
    """
    for spec in catalogue.by_link(aqm).values() or (aqm,):
        catalogue.find(catalogue.halves(spec)[0])
    scenario.check_scheme(aqm)


@contextmanager
def _of_lane(lane: int) -> Iterator[None]:
    """Say of which lane an error is."""
    try:
        yield
    except (InputError, SchemeError) as error:
        raise LaneError(lane, error) from error


class Lanes:
    """The lanes of a session; every method but `now` and `end` takes the time of a simulation."""

    def __init__(
        self,
        scenario: Scenario,
        aqms: Sequence[str | None],
        seed: int,
        sample: float,
        flows: Sequence[Flow],
        share: Share | None = None,
    ) -> None:
        if not 1 <= len(aqms) <= MOST:
            raise InputError("aqms", f"{len(aqms)} schemes; 1 to {MOST} can run side by side")
        self.scenario, self.seed, self.sample, self.flows = scenario, seed, sample, flows
        self.share = share or MemoryPool().share()
        self._links = {link["name"]: link for link in scenario.resolved()["links"]}
        self.lanes: list[Lane] = []
        threads = min(len(aqms), cpu_count() or 1)  # its own: none waits for the lanes of another session
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="lane")
        for i, aqm in enumerate(aqms):
            with _of_lane(i):
                if aqm is not None:
                    check_scheme(scenario, aqm)
                self.lanes.append(Lane(aqm, watched(scenario, aqm, seed, self.share.watch)))
                if i == 0:
                    self._check_columns(len(aqms))

    def _check_columns(self, lanes: int) -> None:
        """Raise InputError for flows that are not there, and for more columns than can be sent."""
        count = lanes * len(self.lanes[0].simulation.sample_columns(self.flows))
        if count > MOST_COLUMNS:
            raise InputError(
                "aqms", f"{count:,} columns of samples; at most {MOST_COLUMNS:,}: take fewer lanes or links"
            )

    @property
    def now(self) -> float:
        """The present, s."""
        return self.lanes[0].simulation.now

    @property
    def end(self) -> float:
        """The end of the scenario, s."""
        return self.lanes[0].simulation.end

    @property
    def memory(self) -> float:
        """Bytes that they hold."""
        return sum(lane.simulation.held for lane in self.lanes)

    def advance(self, until: float) -> Rows:
        """Let everything happen up to `until` in all lanes; return the samples, all lanes side by side."""

        def step(lane: Lane) -> Rows:
            return lane.simulation.sample_until(until, self.sample, self.flows)

        first, *others = self._each(step)
        return np.hstack([first, *(rows[:, 1:] for rows in others)]) if others else first

    def _each(self, act: Callable[[Lane], T]) -> list[T]:
        """Do something in all lanes at once."""
        return list(self._pool.map(act, self.lanes) if len(self.lanes) > 1 else map(act, self.lanes))

    def columns(self) -> list[dict[str, Any]]:
        """Return what the columns of the samples are."""
        found = [
            {
                "lane": i,
                "of": column.of,
                "place": column.place,
                "index": column.number,
                "name": column.name,
                "unit": column.unit,
            }
            for i, lane in enumerate(self.lanes)
            for column in lane.simulation.sample_columns(self.flows)
            if i == 0 or column.of != "time"
        ]
        found[0]["lane"] = None
        return found

    def content(self) -> list[int]:
        """Return how many packets wait now, by lane, link and group."""
        return [
            packets[group]
            for lane in self.lanes
            for link in self.scenario.links
            for packets in [lane.simulation.content(link)]
            for group in self.scenario.flows
        ]

    def set(self, path: str, value: str, lane: int | None = None) -> None:
        """Change something now, in one lane or all; LaneError if a lane refuses it, and then nothing has changed."""
        chosen = range(len(self.lanes)) if lane is None else [lane]
        self._check_changes()
        copies = self.memory if len(chosen) > 1 else 0
        with self.share.room(copies + sum(self._added(self.lanes[i], path, value) for i in chosen)):
            before = self._kept(len(chosen))
            try:
                for i in chosen:
                    with _of_lane(i):
                        self.lanes[i].set(path, value)
            except LaneError:
                self.lanes = before or self.lanes
                raise
            self.note()

    def note(self) -> None:
        """Say what the lanes hold now."""
        self.share.lanes = self.memory

    def _check_changes(self) -> None:
        if max(len(lane.changes) for lane in self.lanes) >= MOST_CHANGES:
            raise InputError("set", f"{MOST_CHANGES} changes by hand; open the scenario again")

    def _added(self, lane: Lane, path: str, value: str) -> float:
        """Return about how many bytes a change adds to a lane."""
        match path.split("."):
            case ["flows", group, "count"] if group in self.scenario.flows and value.isdecimal():
                more = max(0.0, float(value) - lane.simulation.count(group))
                return more * self.scenario.group(group).memory
        return 0.0

    def halve(self, groups: Sequence[str]) -> None:
        """Stop half of the flows of these groups that are there."""
        self._check_changes()
        for lane in self.lanes:
            for group in groups:
                lane.set(f"flows.{group}.count", str((lane.simulation.count(group) + 1) // 2))

    def fork(self) -> "Lanes":
        """Return a copy that goes its own way; LaneError if a scheme cannot be copied."""
        copy = object.__new__(Lanes)
        copy.__dict__.update(self.__dict__)
        copy.lanes = []
        for i, lane in enumerate(self.lanes):
            with _of_lane(i):
                copy.lanes.append(lane.fork())
        return copy

    def so_far(self) -> list[RunResult | None]:
        """Return what each lane has measured until now.

        None before the warm-up is over, and if there is no copy: the scheme has none, or memory no room.
        """

        def measured(lane: Lane) -> RunResult | None:
            try:
                return lane.result or lane.simulation.so_far()
            except SchemeError:
                return None

        try:
            with self.share.room(self.memory):
                return self._each(measured)
        except InputError:
            return [lane.result for lane in self.lanes]

    def finish(self) -> list[RunResult]:
        """Return what each lane has measured at the end."""
        with self.share.room(max(lane.simulation.held for lane in self.lanes)):
            return [lane.finish(self.scenario.name, self.seed) for lane in self.lanes]

    def document(self) -> list[dict[str, Any]]:
        """Return what each lane is now: its label, the scheme of each link with its parameters, what was changed."""
        parameters = cache(self.scenario.parameters)
        found = []
        for lane in self.lanes:
            by_hand = lane.by_hand()
            links = {
                link: self._at(link, lane, by_hand.get(link, (None, {})), parameters) for link in self.scenario.links
            }
            changes = [vars(change) for change in lane.changes]
            found.append({"label": self._label(lane, by_hand), "aqm": lane.aqm, "links": links, "changes": changes})
        return found

    def _label(self, lane: Lane, by_hand: Mapping[str, tuple[str | None, dict[str, str]]]) -> str:
        """Return what a lane is called: its scheme, and what was set by hand since: "PI, now CoDel, target=8 ms"."""
        first = "as in the scenario" if lane.aqm is None else label(lane.aqm)
        now = []
        for link in filter(by_hand.__contains__, self.scenario.links):
            aqm, moved = by_hand[link]
            words = [*([label(aqm)] if aqm else []), *(f"{name}={value}" for name, value in moved.items())]
            where = f" at {link}" if len(self.scenario.links) > 1 else ""
            now += [f"now {', '.join(words)}{where}"]
        return ", ".join([first, *now])

    def _at(
        self,
        link: str,
        lane: Lane,
        by_hand: tuple[str | None, dict[str, str]],
        parameters: Callable[[str], dict[str, str]],
    ) -> dict[str, Any]:
        """Return the scheme of a link now, and its parameters."""
        given, moved = by_hand
        aqm = given or catalogue.used_at(self._links[link], lane.aqm)
        return {"aqm": aqm, "parameters": parameters(aqm) | moved}

    def _kept(self, changed: int) -> list[Lane] | None:
        """Return copies of the lanes, to go back to; None where one lane is changed, or a scheme cannot be copied."""
        try:
            return self.fork().lanes if changed > 1 else None
        except LaneError:
            return None
