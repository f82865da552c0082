"""The exports of a session: the scenario with the changes by hand, commands that repeat it, tables, a report."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aqmlab import extras
from aqmlab._core import Scenario
from aqmlab.problems import InputError
from aqmlab.runs import simulate
from aqmlab.runs.executor import Progress
from aqmlab.studio.lanes import Lanes
from aqmlab.studio.turns import RUNS


@dataclass(frozen=True)
class File:
    """A file for the browser to save."""

    name: str
    media: str
    text: str


@dataclass(frozen=True)
class Recording:
    """A session to be exported: for each lane its scheme, and its scenario with the changes."""

    name: str
    seed: int
    now: float
    aqms: Sequence[str | None]
    tomls: Sequence[str]
    results: Sequence[str | None]

    @classmethod
    def of(cls, lanes: Lanes) -> "Recording":
        """Return what was done so far."""
        return cls(
            lanes.scenario.name,
            lanes.seed,
            lanes.now,
            [lane.aqm for lane in lanes.lanes],
            [lane.simulation.to_toml() for lane in lanes.lanes],
            [lane.result.json() if lane.result else None for lane in lanes.lanes],
        )

    @property
    def is_one(self) -> bool:
        """True if all lanes have the same scenario."""
        return len(set(self.tomls)) == 1

    def stem(self, lane: int) -> str:
        """Return what the files of a lane are called."""
        return self.name if self.is_one else f"{self.name}-{lane + 1}"

    def result(self, lane: int) -> str | None:
        """Return what a lane measured, as a run of its file says it; None before the end."""
        text = self.results[lane]
        return text and text.replace(_named(self.name), _named(self.stem(lane)), 1)

    def scenario(self, lane: int) -> Scenario:
        """Return the scenario of a lane, to run it again."""
        return Scenario.parse(self.tomls[lane], self.stem(lane))


def _named(name: str) -> str:
    """The beginning of a result, after its schema."""
    return f'"scenario":{json.dumps(name, ensure_ascii=False)}'


def outcome(lanes: Lanes) -> list[dict[str, Any]]:
    """Return what each lane has measured at the end, with its label."""
    done = Recording.of(lanes)
    labels = [lane["label"] for lane in lanes.document()]
    return [{"label": label, "result": json.loads(done.result(i) or "null")} for i, label in enumerate(labels)]


@contextmanager
def _running() -> Iterator[None]:
    """Run a scenario again; InputError while too many others do."""
    if not RUNS.acquire(blocking=False):
        raise InputError("export", "other sessions have runs for their exports under way; try again in a while")
    try:
        yield
    finally:
        RUNS.release()


def toml(done: Recording, lane: int, _: Progress) -> File:
    """Return the scenario with all that was done by hand in a lane."""
    return File(f"{done.stem(lane)}.toml", "application/toml", done.tomls[lane])


def command(done: Recording, _lane: int, _: Progress) -> File:
    """Return the commands that repeat what was done, for the files that are exported."""
    seed = str(done.seed)
    lines = [
        shlex.join(
            ["aqmlab", "run", f"{done.stem(lane)}.toml", *(["--aqm", aqm] if aqm else []), "--seed", seed, "--json"]
        )
        for lane, aqm in enumerate(done.aqms)
    ]
    return File(f"{done.name}.sh", "text/x-shellscript", "\n".join(lines) + "\n")


def result(done: Recording, lane: int, told: Progress) -> File:
    """Return what a lane measured, as `aqmlab run --json` prints it; at the end, or for the whole scenario."""
    text = done.result(lane)
    if text is None:
        with _running():
            text = simulate.run(done.scenario(lane), done.aqms[lane], done.seed, progress=told).json()
    return File(f"{done.stem(lane)}.json", "application/json", text + "\n")


def csv(done: Recording, lane: int, told: Progress) -> File:
    """Return the time series of a lane up to now, as `aqmlab run --out` leaves them; for them it runs again."""
    from aqmlab.present.run_files import series_csv

    scenario = done.scenario(lane)
    with _running():
        found = simulate.run(scenario, done.aqms[lane], done.seed, series=True, progress=told)
    rows = series_csv(found.series).splitlines(keepends=True)
    until = [row for row in rows[1:] if float(row.partition(",")[0]) <= done.now]
    return File(f"{done.stem(lane)}.csv", "text/csv", "".join([rows[0], *until]))


def report(done: Recording, _lane: int, told: Progress) -> File:
    """Return the report on a comparison of the lanes in the whole scenario."""
    from aqmlab.present.reports import comparison as page

    if not done.is_one:
        raise InputError(
            "report", "the lanes were changed in different ways; a report compares schemes in one scenario"
        )
    if None in done.aqms:
        raise InputError("report", "it compares schemes; name the scheme of each lane")
    aqms = [aqm for aqm in done.aqms if aqm is not None]
    if done.seed != 1:
        raise InputError("report", f"a comparison begins with seed 1, and this is seed {done.seed}")
    extras.check("jinja2")
    with _running():
        compared = simulate.compare(done.scenario(0), aqms, 1, progress=told)
    line = shlex.join(["aqmlab", "compare", f"{done.name}.toml", "--aqms", ",".join(aqms), "--seeds", "1"])
    left = page.files([compared], line)["report.html"]
    return File(f"{done.name}.html", "text/html", left if isinstance(left, str) else left.decode())


KINDS: Mapping[str, Callable[[Recording, int, Progress], File]] = {
    "toml": toml,
    "command": command,
    "json": result,
    "csv": csv,
    "report": report,
}
"""The possible exports, by name."""
