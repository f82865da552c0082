"""The response of a congestion controller: rate over loss or marks, RTT fairness, convergence, queue over flows.

docs/controllers.md describes the scenarios. `validation/response.py` holds the windows to the controllers' own rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aqmlab import catalogue, laws, own
from aqmlab._core import Scenario
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs import check_seeds
from aqmlab.runs.executor import Progress, run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.simulation import Simulation
from aqmlab.runs.statistics import Summary, summarise
from aqmlab.runs.task import Failure, Task
from aqmlab.study.equations import EQUATIONS, QUEUES
from aqmlab.study.response_result import (
    FAIR,
    HELD,
    JOINS,
    LASTS,
    LOOK,
    RATE,
    RTT,
    SEGMENT,
    ControllerResponse,
    Convergence,
    QueuePoint,
    ResponsePoint,
    RttPoint,
)

LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
MARKS = (1e-2, 3e-2, 0.1, 0.2, 0.3)
"""The probabilities of a loss, and of a mark for controllers that respond to each mark."""

MARKED = {"an ECN echo per packet", "ECT(1)"}
"""Needs of controllers that respond to each mark: of DCTCP, and of Prague."""

LEAST_SEGMENTS, MOST_SEGMENTS = 200_000, 5_000_000
"""Segments of a run."""

PILOT = 200
"""Round trips of the run that estimates the rate, and so how long the others take; the fewest of any run."""

SHARED_RATE, SHARED_RTT = 20e6, 0.04
"""Of the link that flows share: bit/s, s."""

RATIOS = (1, 2, 4)
"""Round-trip times of the second flow, as multiples of the first one's."""

FLOWS = (1, 2, 4, 8, 16)
"""Numbers of flows whose queue is measured."""


class EvenMarks(own.Aqm):
    """Marks each packet with the same probability."""

    share = own.Param("1 %", ("0", "1"), doc="Probability.")

    def reset(self, _queue: Any) -> None:
        """Keep the probability."""
        self.p = self.share


class _Runner:
    """Does the runs of one controller, and counts them."""

    def __init__(self, law: str, seeds: int, jobs: int | None) -> None:
        self.law, self.seeds, self.jobs = law, seeds, jobs
        self.failures: list[Failure] = []
        self.count = 0

    def run(self, tasks: Sequence[Task], progress: Progress | None = None) -> list[RunResult | None]:
        """Do runs; None for one that failed."""
        outcomes = run_many(tasks, self.jobs, progress)
        self.count += len(tasks)
        self.failures += [each for each in outcomes if isinstance(each, Failure)]
        return [each if isinstance(each, RunResult) else None for each in outcomes]

    def seeded(self, scenarios: Sequence[tuple[Scenario, str]], progress: Progress | None) -> list[list[RunResult]]:
        """Run each scenario under its scheme with every seed; without the runs that failed."""
        seeds = range(1, self.seeds + 1)
        done = iter(self.run([Task(each, aqm, seed) for each, aqm in scenarios for seed in seeds], progress))
        return [[run for run in [next(done) for _ in seeds] if run] for _ in scenarios]


def response(
    law: laws.Law,
    *,
    aqm: own.Scheme | None = None,
    seeds: int = 5,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> ControllerResponse:
    """Measure how a congestion controller responds to loss or marks, to other round-trip times and to its own flows.

    `law` is a name ("cubic"), a file or a class (see `laws.law_spec`). `aqm` is the scheme of the shared link: by
    default DropTail, or DualPI2 for a controller that responds to each mark. Values are means over `seeds` seeds, 1
    to N. `jobs` runs execute at the same time, by default one per core. `failures` contains failed runs. Raises
    InputError for bad input, before anything runs.
    """
    check_seeds(seeds)
    spec = laws.law_spec(law)
    known = {each.name: each for each in catalogue.laws()}
    name = catalogue.halves(spec)[0]
    if name not in known:
        raise unknown("law", "no congestion controller is called", name, known)
    is_marked = not MARKED.isdisjoint(known[name].asks)
    scheme = own.spec(aqm) if aqm is not None else "dualpi2" if is_marked else "droptail"
    shared_link(spec, is_marked, [(1, 1.0)]).check_scheme(scheme)
    runner = _Runner(spec, seeds, jobs)
    shares = [progress and _part(progress, i / 4) for i in range(4)]
    points = _function(runner, is_marked, shares[0])
    fairness = _fairness(runner, is_marked, scheme, shares[1])
    queues = _queues(runner, is_marked, scheme, shares[2])
    convergence = _convergence(runner, is_marked, scheme, shares[3])
    return ControllerResponse(
        spec, scheme, seeds, is_marked, points, fairness, convergence, queues, runner.count, runner.failures
    )


def _part(progress: Progress, before: float) -> Progress:
    """Progress of one of four parts."""
    return lambda done, total: progress(before + done / total / 4, 1)


def lossy_path(law: str, is_marked: bool, p: float, rounds: float) -> Scenario:
    """Return the scenario of one flow on a path without other flows that loses packets, or on which each is marked."""
    link = {"name": "path", "rate": f"{RATE} bit/s", "buffer": "1 bdp", **({} if is_marked else {"loss": p})}
    seconds, share = rounds * RTT, 0.6 if is_marked else 0.2
    duration = {"duration": f"{seconds:.3f} s", "warmup": f"{seconds * share:.3f} s"}
    flow = {"name": "one", "rtt": f"{RTT} s", "packet": f"{SEGMENT} B", "ecn": is_marked}
    return _scenario({**duration, "links": [link], "flows": [flow]}, law)


def shared_link(
    law: str, is_marked: bool, groups: Sequence[tuple[int, float]], buffer: str = "1 bdp", seconds: float = 120
) -> Scenario:
    """Return the scenario of groups of flows that share a link: their counts, and their multiples of the RTT."""
    link = {"name": "path", "rate": f"{SHARED_RATE} bit/s", "buffer": buffer}
    flows = [
        {"name": f"flows-{i}", "count": count, "rtt": f"{SHARED_RTT * ratio} s", "ecn": is_marked, "start_spread": 1}
        for i, (count, ratio) in enumerate(groups)
    ]
    duration = {"duration": f"{seconds} s", "warmup": f"{seconds / 3} s"}
    return _scenario({**duration, "links": [link], "flows": flows}, law)


def _scenario(values: Mapping[str, Any], law: str) -> Scenario:
    """Return a scenario with TCP as RFCs have it (an ACK per segment, SACK), or as in Linux for its controllers."""
    rfc = {"profile": "rfc", "variant": "sack"}
    for i, tcp in enumerate((rfc, {"profile": "linux"})):
        flows = [{**flow, "tcp": {**tcp, "congestion_control": law}} for flow in values["flows"]]
        try:
            return Scenario.of({"schema": 1, **values, "flows": flows}, f"response/{law}")
        except InputError:
            if i:
                raise
    raise AssertionError


def full_window(scenario: Scenario) -> float:
    """Return the segments that the link of a lossy path delivers in a round-trip time."""
    group = scenario.group("one")
    return RATE * RTT / 8 / (group.payload + group.header)


def _function(runner: _Runner, is_marked: bool, progress: Progress | None) -> list[ResponsePoint]:
    """Measure the response function; a short run at each point finds how long the others must be."""
    law, ps = runner.law, MARKS if is_marked else LOSSES

    def of(p: float, rounds: float) -> tuple[Scenario, str]:
        return lossy_path(law, is_marked, p, rounds), f"{EvenMarks.name}:share={p}" if is_marked else "droptail"

    pilots = runner.run([Task(*of(p, PILOT), 1) for p in ps])
    rounds = [_rounds(p, is_marked, _window(run) if run else 1.0) for p, run in zip(ps, pilots, strict=True)]
    runs = runner.seeded([of(p, n) for p, n in zip(ps, rounds, strict=True)], progress)
    full = full_window(of(ps[0], PILOT)[0])
    equation = EQUATIONS.get(law)
    return [
        ResponsePoint(p, _summary(map(_window, found)), equation and equation.window(p, RTT, full))
        for p, found in zip(ps, runs, strict=True)
    ]


def _rounds(p: float, is_marked: bool, window: float) -> float:
    """Return the round trips for 2,000 losses, or several times the 6/p^2 segments that alpha takes to settle."""
    wanted = 20 / p**2 + 2000 / p if is_marked else 2000 / p
    return max(PILOT, min(max(wanted, LEAST_SEGMENTS), MOST_SEGMENTS) / max(window, 1.0))


def _window(run: RunResult) -> float:
    """Return the segments that arrive per round-trip time."""
    return run.flows["one"].goodput / 8 / SEGMENT * RTT


def _summary(values: Iterable[float | None]) -> Summary | None:
    known = [value for value in values if value is not None]
    return summarise(known) if known else None


def _fairness(runner: _Runner, is_marked: bool, aqm: str, progress: Progress | None) -> list[RttPoint]:
    grid = [(shared_link(runner.law, is_marked, [(1, 1.0), (1, float(ratio))]), aqm) for ratio in RATIOS]
    found = []
    for ratio, runs in zip(RATIOS, runner.seeded(grid, progress), strict=True):
        first, second = ([run.flows[f"flows-{i}"].goodput for run in runs] for i in (0, 1))
        quotients = (a / b if b else None for a, b in zip(first, second, strict=True))
        found.append(RttPoint(ratio, _summary(first), _summary(second), _summary(quotients)))
    return found


def _queues(runner: _Runner, is_marked: bool, aqm: str, progress: Progress | None) -> list[QueuePoint]:
    grid = [(shared_link(runner.law, is_marked, [(count, 1.0)], "4 bdp", 60), aqm) for count in FLOWS]
    equation = QUEUES.get(runner.law)
    found = []
    for count, runs in zip(FLOWS, runner.seeded(grid, progress), strict=True):
        links = [run.links["path"] for run in runs]
        found.append(
            QueuePoint(
                count,
                _summary(link.queue_mean for link in links),
                _summary(link.queue_delay_mean for link in links),
                _summary(link.utilisation for link in links),
                _summary(link.mark_ratio if is_marked else link.drop_ratio for link in links),
                equation and equation[1](count),
            )
        )
    return found


def _convergence(runner: _Runner, is_marked: bool, aqm: str, progress: Progress | None) -> Convergence:
    """Measure how long a second flow takes to its share of the link."""
    scenario = joining(runner.law, is_marked)
    times: list[float | None] = []
    rates: list[tuple[float, float, float]] = []
    for seed in range(1, runner.seeds + 1):
        try:
            found = _rates(scenario, aqm, seed)
        except Exception as error:  # a user's controller may break down
            runner.failures.append(Failure.of(Task(scenario, aqm, seed), error))
            found = []
        runner.count += 1
        times.append(converged(found))
        rates = rates or found
        if progress:
            progress(seed, runner.seeds)
    return Convergence(_summary(times), runner.seeds, rates)


def joining(law: str, is_marked: bool) -> Scenario:
    """Return the scenario of two flows, of which the second starts when the first fills the link."""
    values = {
        "duration": f"{JOINS + LASTS} s",
        "links": [{"name": "path", "rate": f"{SHARED_RATE} bit/s", "buffer": "1 bdp"}],
    }
    flow = {"rtt": f"{SHARED_RTT} s", "ecn": is_marked, "start_spread": 1}
    flows = [{**flow, "name": "first"}, {**flow, "name": "second", "start": f"{JOINS} s"}]
    return _scenario({**values, "flows": flows}, law)


def _rates(scenario: Scenario, aqm: str, seed: int) -> list[tuple[float, float, float]]:
    """Return the goodput of both flows of a run, second by second."""
    run = Simulation(scenario, aqm, seed)
    found = []
    while run.now < run.end:
        run.step_until(min(run.now + LOOK, run.end))
        flows = run.probe().flows
        found.append((run.now, flows["first"]["goodput"], flows["second"]["goodput"]))
    return found


def converged(rates: Sequence[tuple[float, float, float]]) -> float | None:
    """Return the seconds from the start of the second flow to the first of `HELD` looks with a Jain index of `FAIR`."""
    fair = [(time, _jain(first, second) >= FAIR) for time, first, second in rates if time > JOINS]
    for i in range(len(fair) - HELD + 1):
        if all(is_fair for _, is_fair in fair[i : i + HELD]):
            return fair[i][0] - JOINS
    return None


def _jain(first: float, second: float) -> float:
    """Return Jain's index of two rates; 0 if nothing arrives."""
    squares = 2 * (first**2 + second**2)
    return (first + second) ** 2 / squares if squares else 0.0
