"""The opening of a session: a scenario and schemes, as the browser requests them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from aqmlab._core import Scenario
from aqmlab.problems import InputError
from aqmlab.quantities import shown
from aqmlab.runs.simulation import Flow
from aqmlab.studio import field
from aqmlab.studio.budget import Share
from aqmlab.studio.lanes import MOST, Lanes
from aqmlab.studio.turns import LARGE_TEXTS

LONGEST_SCENARIO = 1 << 20
MOST_SAMPLES = 2400
"""Samples of a run unless more are asked for: two for each pixel of a wide page."""
LARGE_TEXT = 1 << 16
"""Characters of a text that is read at once; larger ones are read one after the other."""
MOST_PLACES = 600
"""Links and groups of flows in all lanes, each with a row of measures."""
MOST_CELLS = 20_000
"""Pairs of a link and a group in all lanes, each with the packets that wait."""
MOST_FLOWS = 16
"""Flows whose windows are shown."""
LARGEST_SEED = 2**64 - 1
BLAST = "blast"
"""The group of datagrams that a blast is made of."""
BLAST_SHARE = 0.1
"""Rate of one source of it, as a share of the link's."""

Known = Callable[[str], tuple[str, str]]
"""Finds a scenario by its name: the name of its file, and its text."""


@dataclass(frozen=True)
class Opening:
    """A scenario and the schemes to run in it side by side; `name` is what the browser calls it."""

    name: str
    scenario: Scenario
    aqms: Sequence[str | None]
    seed: int
    sample: float
    flows: Sequence[Flow]

    @classmethod
    def of(cls, message: dict[str, Any], known: Known) -> "Opening":
        """Read a message; InputError if it is invalid."""
        if message.get("text") is None:
            name = field.text(message, "scenario")
            file, text = known(name)
        else:
            name = file = field.text(message, "name") if "name" in message else "mine"
            text = field.text(message, "text", LONGEST_SCENARIO)
        scenario, aqms = read(text, stem(file)), _aqms(message)
        check_size(scenario, len(aqms))
        if message.get("blast") is not None:
            link = field.one_of(message, "blast", scenario.links)
            scenario = with_blast(scenario, link)
        sample = field.number(message, "sample")
        if sample is not None and not 1e-4 <= sample <= scenario.duration:
            raise InputError("sample", f"{sample} s: expected 0.0001 s up to the duration")
        flows = _flows(message, scenario)
        return cls(name, scenario, aqms, _seed(message), sample or usual_sample(scenario), flows)

    @property
    def memory(self) -> float:
        """About how many bytes the lanes take."""
        return self.scenario.memory() * len(self.aqms)

    def lanes(self, share: Share) -> Lanes:
        """Return the lanes, at the start."""
        return Lanes(self.scenario, self.aqms, self.seed, self.sample, self.flows, share)


def read(text: str, name: str) -> Scenario:
    """Return a scenario; InputError if it is invalid."""
    if len(text) > LARGE_TEXT:
        return LARGE_TEXTS.submit(Scenario.parse, text, name).result()
    return Scenario.parse(text, name)


def check_size(scenario: Scenario, lanes: int) -> None:
    """Raise InputError for more links and groups of flows than the studio can show in so many lanes."""
    links, groups = len(scenario.links), len(scenario.flows)
    if lanes * (links + groups) > MOST_PLACES or lanes * links * groups > MOST_CELLS:
        raise InputError(
            "text",
            f"{links:,} links and {groups:,} groups of flows; in {lanes} lanes the studio shows "
            f"{MOST_PLACES // lanes} together, and {MOST_CELLS // lanes:,} pairs",
        )


def usual_sample(scenario: Scenario) -> float:
    """Return how far apart samples are unless asked for: as the scenario says, and more where they are many."""
    return max(scenario.sample, scenario.duration / MOST_SAMPLES)


def stem(name: str) -> str:
    """Return what the file of a scenario is called when it is exported, without ending."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name[:80])
    return kept.strip("-.") or "mine"


def with_blast(scenario: Scenario, link: str) -> Scenario:
    """Return a scenario with a group of datagrams over one link, empty at first; `count` makes a blast of it."""
    if BLAST in scenario.flows:
        return scenario
    there = scenario.link(link)
    size = {"rtt": f"{round(2e12 * there.delay) + 1} ps", "packet": "1000 B"}
    rate = f"{BLAST_SHARE * there.rate:.12g} bit/s"
    return scenario.with_flows({"name": BLAST, "kind": "udp-cbr", "count": 0, "path": [link], "rate": rate, **size})


def _aqms(message: dict[str, Any]) -> list[str | None]:
    aqms = message.get("aqms")
    if not isinstance(aqms, list) or not 1 <= len(aqms) <= MOST:
        raise InputError("aqms", f"expected a list of 1 to {MOST} schemes")
    return [aqm if aqm is None else field.text({"aqms": aqm}, "aqms") for aqm in aqms]


def _seed(message: dict[str, Any]) -> int:
    seed = message.get("seed", 1)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise InputError("seed", f"{shown(seed)}: expected a whole number from 0 to {LARGEST_SEED}")
    return seed


def _flows(message: dict[str, Any], scenario: Scenario) -> list[Flow]:
    """Return the flows whose windows are wanted, by default the first of each group of lasting TCP flows."""
    given = message.get("flows")
    if given is None:
        groups = [scenario.group(name) for name in scenario.flows]
        return [(group.name, 0) for group in groups if group.kind == "ftp" and group.count][:MOST_FLOWS]
    if not isinstance(given, list) or len(given) > MOST_FLOWS:
        raise InputError("flows", f"expected a list of at most {MOST_FLOWS} pairs of a group and a number")
    found = []
    for flow in given:
        if not (isinstance(flow, list) and len(flow) == 2 and isinstance(flow[1], int) and 0 <= flow[1] < 2**31):
            raise InputError("flows", f"{str(flow)[:60]}: expected a pair of a group and a number")
        found.append((field.one_of({"flows": flow[0]}, "flows", scenario.flows), flow[1]))
    return found
