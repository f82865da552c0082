"""A suite: experiments that scale with the user's link, and the schemes that do well there.

`suites/<name>.toml` lists the experiments: the scenario of each, and how its values follow from rate and RTT. `usual`
there has what an experiment has unless it says otherwise, `kinds` the same for the experiments of a kind. Each suite
has a page, for example docs/rfc7928.md, docs/l4s.md and docs/bbr.md. `ledgers/<name>.toml` contains published claims
about the subject of a suite, if there are any. They are judged like the sentences of a paper.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from itertools import product
from math import ceil, prod
from statistics import fmean
from typing import Any

from aqmlab import _core, laws
from aqmlab._core import Scenario, read_toml
from aqmlab.entries import filled, read_file, varied
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.quantities import quantity, read
from aqmlab.scenario import load
from aqmlab.study.ledger import Claim, load_ledger
from aqmlab.study.paper import DRAFTS, PaperTable, studies, suites

PACKET = 1500
"""Bytes on the wire; the unit of the bandwidth-delay product."""

LEAST_BUFFER = 10
"""Packets; a smaller buffer drops within an initial window."""

TARGET = 0.020
"""Seconds; the reference delay of schemes that use the target of the link, at most a third of the buffer."""

LEVELS = {"mild": 0.036, "medium": 0.081, "heavy": 0.114}
"""Long flows per packet of bandwidth-delay product and buffer: RFC 7928, section 8.2.1."""

MOST_FLOWS = 10_000


@dataclass(frozen=True)
class LinkSetting:
    """The user's link: `rate` in bit/s, `rtt` (round-trip propagation) in s, `flows` replaces the RFC's bulk flows.

    `given` is the buffer of all links in the notation of scenarios ("1000 ms"), by default the bandwidth-delay product.
    `up` is the uplink rate in bit/s, by default the experiment's share of the rate.
    """

    rate: float
    rtt: float
    flows: int | None = None
    given: str | None = None
    up: float | None = None

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product in packets."""
        return self.rate * self.rtt / 8 / PACKET

    def buffer(self, share: float = 1.0) -> int:
        """Return the buffer in packets for `share` times the bandwidth-delay product, or the given one at that rate."""
        if self.given:
            return _buffer(self.given, share * self.rate, self.rtt)
        return max(LEAST_BUFFER, ceil(round(share * self.bdp, 6)))

    def level(self, name: str, share: float = 1.0) -> int:
        """Return the number of long flows for mild, medium or heavy congestion at a share of the rate, at least 1."""
        return max(1, round(LEVELS[name] * (share * self.bdp + self.buffer(share))))

    def value(self, text: str) -> str:
        """Return the value in a scenario for `text` ("0.5 rtt", "1.2*0.1 rate")."""
        number, _, unit = text.partition(" ")
        factor = prod(map(float, number.split("*")))
        if unit == "rate":
            return f"{factor * self.rate / 1e6:.9g} Mbit/s"
        if unit == "rtt":
            return f"{factor * self.rtt * 1e3:.9g} ms"
        if unit == "s":  # of the link's rate
            factor, unit = factor / self.rtt, "bdp"
        if unit == "bdp":
            return self.given or f"{self.buffer(factor)} packets"
        if unit == "bdp-bytes":
            return self.given or f"{self.buffer(factor) * PACKET} B"
        if unit == "target":
            third = self.buffer(factor) * PACKET * 8 / (factor * self.rate) / 3
            return f"{min(TARGET, third) * 1e3:.9g} ms"
        return str(max(1, round(factor * self._flows(unit))))

    def __str__(self) -> str:
        return f"{self.rate / 1e6:g} Mbit/s, {self.rtt * 1e3:g} ms"

    def _flows(self, unit: str) -> int:
        if unit == "mild-up":
            return self.level("mild", self.up / self.rate if self.up else 0.1)
        more, _, less = unit.partition("-")
        return self.level(more) - (self.level(less) if less else 0)


@dataclass(frozen=True)
class Phases:
    """Equal parts of a round that repeats from time 0 on: their names, and the duration of each (s)."""

    names: Sequence[str]
    each: float


@dataclass(frozen=True)
class Measure:
    """A number of a run: the value at `path`, or the sum of several ("a + b"), perhaps divided by the one at `over`.

    `queueing`: a mean packet delay minus the one-way propagation, the queueing delay.
    `waiting`: a packet delay minus the delay of an empty path, which is propagation, and transmission at each link.
    `phase`: a property of the phases of a group (docs/phases.md). It is the share of its flows in which `then` follows
    the first phase of that name. Without `then` it is the mean duration (s) of that phase in the flows that leave it.
    `window` (s): the rate of a link divided by the rate of the suite, or by a multiple of that (`over`), in windows of
    that length after the warm-up. `take` selects the minimum, mean or maximum.
    """

    path: str
    over: str | None = None
    queueing: bool = False
    waiting: bool = False
    phase: str = ""
    then: str = ""
    window: float = 0.0
    take: str = ""

    @property
    def paths(self) -> list[str]:
        """The summands."""
        return self.path.split(TOGETHER)

    def __str__(self) -> str:
        if self.window:
            over = f" / {self.over}" if self.over else ""
            return f"{self.path}{over}{PHASE}{self.take}{WINDOW}{self.window * 1e3:g} ms"
        if self.phase:
            return f"{self.path}{PHASE}{self.phase}" + (f"{THEN}{self.then}" if self.then else "")
        less = " - propagation" if self.queueing else WAITING if self.waiting else ""
        return self.path + (f" / {self.over}" if self.over else less)


WAITING = " - empty path"
"""Suffix of the path of a packet delay of which only the queueing counts."""

TOGETHER = " + "
"""Separator of summands."""

PHASE, THEN = ": ", " > "
"""Separators of the path of the phases of a group, a phase, and the following phase."""

WINDOW = " in "
"""Separator of the function over windows and their length, after the path of a link's utilisation."""

TAKE: Mapping[str, Callable[[Sequence[float]], float]] = {"least": min, "mean": fmean, "most": max}
"""The functions over windows."""


@dataclass(frozen=True)
class Experiment:
    """One experiment of a suite: its scenario, how the scenario scales with the link, and its measures.

    Goodput and queueing delay are measured for each of `classes`, or for all flows together if there are none. `fixed`
    contains settings that do not depend on the link. `schemes` are the schemes of the experiment, by default the
    requested ones. Experiments of one `kind` are rows of one table. `column` is a value of the suite's columns.
    """

    scenario: str
    title: str
    set: Mapping[str, str | Sequence[str]]
    fixed: Mapping[str, str]
    measures: Mapping[str, Measure]
    """Measures in addition to delay, goodput and loss, by title."""

    phases: Phases | None
    section: str = ""
    flows: Sequence[str] = ()
    delay: str = ""
    goodput: str = ""
    classes: Sequence[str] = ()
    kind: str = ""
    schemes: Sequence[str] = ()
    column: str = ""

    @property
    def name(self) -> str:
        """Section and title."""
        return f"{self.section} {self.title}".strip()

    def changes(self, link: LinkSetting) -> dict[str, str]:
        """Return the settings of the scenario for a link, with quantities as text."""
        given = load(self.scenario)
        keys = {key: of for key, of in LINK_KEYS.items() if not (self.kind and key == "target")}
        usual = {f"links.{name}.{key}": f"1 {of}" for name in _wired(given) for key, of in keys.items()}
        usual |= {f"flows.{name}.rtt": "1 rtt" for name in given.flows}
        asked = {path: text for path, text in usual.items() if not any(other.startswith(path) for other in self.set)}
        scaled = {path: _scaled(value, link) for path, value in (asked | dict(self.set) | self._up(link)).items()}
        return scaled | dict(self.fixed) | {path: str(link.flows) for path in self.flows if link.flows}

    def with_law(self, usual: str, law: str) -> "Experiment":
        """Return the experiment with another congestion controller for the flows with the usual one."""
        groups = load(self.scenario).resolved()["flows"]
        names = [each["name"] for each in groups if each.get("tcp", {}).get("congestion_control") == usual]
        return replace(self, fixed={**self.fixed, **{f"flows.{name}.tcp.congestion_control": law for name in names}})

    def with_media_law(self, law: str) -> "Experiment":
        """Return the experiment with another rate control for its calls."""
        return replace(self, fixed={**self.fixed, **laws.of_call(load(self.scenario), law)})

    @property
    def has_up(self) -> bool:
        """True if there are an uplink and a downlink."""
        return UP in load(self.scenario).links

    def _up(self, link: LinkSetting) -> dict[str, str]:
        """The settings of an uplink with a separate rate."""
        if not link.up or not self.has_up:
            return {}
        share = link.up / link.rate
        return {
            f"links.{UP}.rate": f"{share!r} rate",
            f"links.{UP}.buffer": f"{share!r} bdp-bytes",
            f"links.{UP}.target": f"{share!r} target",
        }

    def is_called(self, pattern: str) -> bool:
        """Return whether a name or glob matches the section, or the scenario with or without its folder."""
        names = (self.section.partition(" ")[0], self.scenario, self.scenario.rpartition("/")[2])
        return any(fnmatchcase(name, pattern) for name in names)

    def scenario_at(self, link: LinkSetting) -> Scenario:
        """Return the scenario at a link."""
        return load(self.scenario, self.changes(link))

    def measures_in(self, scenario: Scenario) -> dict[str, Measure]:
        """Return all measures by title; an experiment with a kind has only the measures that it lists."""
        if self.kind:
            return dict(self.measures)
        delay, goodput = _place(self.delay), _place(self.goodput)
        paths = {"Goodput": f"{goodput}.goodput", "Loss": f"links.{scenario.links[0]}.drop_ratio"}
        paths |= {f"Delay {part}": f"{delay}.packet_delay_{part}" for part in ("p50", "p95", "p99")}
        paths["Jitter"] = f"{delay}.packet_delay_std"
        found = {title: Measure(path) for title, path in paths.items()}
        for name, (queueing, received) in self.graphs.items():
            found[queueing] = Measure(f"{_place(name)}.packet_delay_mean", queueing=True)
            found[received] = Measure(f"{_place(name)}.goodput")
        return found | dict(self.measures)

    @property
    def graphs(self) -> dict[str, tuple[str, str]]:
        """Return delay and goodput of the trade-off graphs by class, "" for all flows: RFC 7928, section 2.7."""
        if not self.classes:
            return {"": ("Queueing delay", "Goodput")}
        return {name: (f"Queueing delay of {name}", f"Goodput of {name}") for name in self.classes}


LINK_KEYS = {"rate": "rate", "buffer": "bdp", "target": "target"}
"""Values that each link of a scenario takes from the user's link; no target for experiments with a kind."""


UP = "up"
"""The name of the uplink in scenarios with two directions."""


def _wired(given: Scenario) -> Sequence[str]:
    """Return the links without a Wi-Fi cell's, whose rates depend on the stations, and without a fabric's tiers."""
    return [link["name"] for link in read_toml(given.text, given.name).get("links", ())]


def _place(group: str) -> str:
    return f"flows.{group}" if group else "total"


def _scaled(value: str | Sequence[str], link: LinkSetting) -> str:
    return link.value(value) if isinstance(value, str) else json.dumps([link.value(each) for each in value])


@dataclass(frozen=True)
class Curves:
    """A panel of a suite's picture: a measure in the experiments of one kind, in the rows that match a pattern."""

    title: str
    label: str
    kind: str
    value: str
    rows: str = "*"
    logarithmic: bool = False


@dataclass(frozen=True)
class Picture:
    """A suite's picture: measures over the number at the start of rows, called `x`; `logarithmic` is its axis.

    `marks` are points to mark, by their names in the legend: the column of the tables, and the number.
    """

    x: str
    columns: int
    panels: Sequence[Curves]
    logarithmic: bool = True
    marks: Mapping[str, tuple[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """Experiments as data, and the links of the base case.

    `schemes` are the default schemes, by their names in `claims`. A suite with claims has a `picture`.
    """

    name: str
    title: str
    source: str
    base: Mapping[str, str | Sequence[str]]
    experiments: Sequence[Experiment]
    schemes: Mapping[str, str]
    picture: Picture
    words: Mapping[str, str]
    claims: Sequence[Claim]
    differences: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tables: Sequence[PaperTable] = ()
    """A suite prints no numbers."""
    law: str = ""
    """The usual congestion controller, which can be replaced; none if the suite is about controllers."""
    given_law: str = ""
    """The congestion controller that replaces it."""

    def spec(self, name: str) -> str:
        """Return the scheme with a name in the claims."""
        return self.schemes.get(name, name)

    def only(self, patterns: str | None) -> "Suite":
        """Return the suite with the experiments of a list of names and globs ("8.2.*,9.1-mix"); all of them if None."""
        if patterns is None:
            return self
        self._refuse_option("only", patterns)
        asked = [pattern.strip() for pattern in patterns.split(",")]
        for pattern in asked:
            if not any(experiment.is_called(pattern) for experiment in self.experiments):
                names = [experiment.scenario.rpartition("/")[2] for experiment in self.experiments]
                raise unknown("only", f"no experiment of {self.name}", pattern, names)
        chosen = [each for each in self.experiments if any(map(each.is_called, asked))]
        return replace(self, experiments=chosen)

    def with_law(self, law: laws.Law | None) -> "Suite":
        """Return the suite with another congestion controller (see `laws.law_spec`); unchanged if None."""
        if law is None:
            return self
        if self.law in laws.ADAPTIVE:
            name = str(law)
            if name not in laws.ADAPTIVE:
                raise unknown("law", "no rate control of calls", name, laws.ADAPTIVE)
            return replace(self, experiments=[each.with_media_law(name) for each in self.experiments], given_law=name)
        if not self.law:
            raise InputError(
                "law", f"{law}: {self.name} is defined for specific controllers; expected a suite such as rfc7928"
            )
        name = laws.law_spec(law)
        changed = [each.with_law(self.law, name) for each in self.experiments]
        return replace(self, experiments=changed, given_law=name)

    def _refuse_option(self, option: str, value: str) -> None:
        """Raise InputError if the suite has claims, which need all its experiments unchanged."""
        if self.claims:
            raise InputError(option, f"{value}: the claims of {self.name} need all its experiments unchanged")

    def links(
        self,
        rate: str | None = None,
        rtt: str | None = None,
        flows: int | None = None,
        buffer: str | None = None,
        up: str | None = None,
    ) -> list[LinkSetting]:
        """Return the links for these quantities ("20 Mbit/s", "50 ms"); the base case replaces None."""
        for option, value in (("buffer", buffer), ("up", up)):
            if value is not None:
                self._refuse_option(option, value)
        if up is not None and not any(experiment.has_up for experiment in self.experiments):
            raise InputError("up", f"{up}: none of the experiments has two directions; section 9 has such experiments")
        if flows is not None and not 1 <= flows <= MOST_FLOWS:
            raise InputError("flows", f"{flows}: out of range; 1 to {MOST_FLOWS}")
        rates, rtts = (
            [_given(key, text) for text in _list(self.base[key] if given is None else given)]
            for key, given in (("rate", rate), ("rtt", rtt))
        )
        upwards = _given("up", up) if up is not None else None
        found = [LinkSetting(each, delay, flows, buffer, upwards) for each, delay in product(rates, rtts)]
        for link in found:
            link.buffer()  # raises InputError for an invalid buffer
        return found

    def at(self, link: LinkSetting) -> str:
        """Return the name of a link: empty if the base case is one link."""
        return "" if isinstance(self.base["rate"], str) else str(link)

    def link(self, rate: str | None = None, rtt: str | None = None, flows: int | None = None) -> LinkSetting:
        """Return the first of these links, the only one if the base case is one link."""
        return self.links(rate, rtt, flows)[0]


def _list(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


@cache
def load_suite(name: str) -> Suite:
    """Return a suite by name; InputError with an alternative if there is none."""
    if name in studies():
        raise InputError(
            "study", f"{name} is a paper; expected a suite: {', '.join(suites())}; or: aqmlab reproduce {name}"
        )
    if name not in suites():
        raise unknown("study", "no suite of experiments", name, [*suites(), *DRAFTS])
    data = read_file("aqmlab.study", "suites", f"{name}.toml")
    schemes, across = data.get("schemes", {}), data.get("across", "")
    drawn = data.get("picture", {"x": "", "columns": 1, "panels": []})
    words, claims = load_ledger(name, schemes, idle=False) if schemes else ({}, [])
    return Suite(
        name,
        data["title"],
        data["source"],
        data["base"],
        [
            _experiment(entry, names.get(across, ""))
            for whole in map(partial(_whole, data), data["experiments"])
            for entry, names in varied(whole, "title")
        ],
        schemes,
        Picture(**{**drawn, "panels": [Curves(**panel) for panel in drawn["panels"]]}),
        words,
        claims,
        law=data.get("law", ""),
    )


def _whole(suite: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an experiment's entry with the keys of `usual` and of its kind in `kinds` that it does not replace."""
    found: dict[str, Any] = {}
    for part in (suite.get("usual", {}), suite.get("kinds", {}).get(entry.get("kind"), {}), entry):
        for key, value in part.items():
            found[key] = {**found.get(key, {}), **value} if isinstance(value, dict) else value
    return found


def _experiment(entry: Mapping[str, Any], column: str) -> Experiment:
    read = {
        "set": entry.get("set", {}),
        "fixed": entry.get("fixed", {}),
        "measures": {title: _measure(path) for title, path in entry.get("measures", {}).items()},
        "phases": Phases(entry["phases"]["names"], quantity(entry["phases"]["each"])) if "phases" in entry else None,
        "column": column,
    }
    return filled(Experiment, {**entry, **read})


def _measure(text: str) -> Measure:
    path, read, rest = text.partition(PHASE)
    if read and WINDOW in rest:
        path, _, over = path.partition(" / ")
        take, _, window = rest.partition(WINDOW)
        return Measure(path, over or None, window=quantity(window), take=take)
    if read:
        phase, _, then = rest.partition(THEN)
        return Measure(path, phase=phase, then=then)
    path, _, over = text.partition(" / ")
    return Measure(path.removesuffix(WAITING), over or None, waiting=path.endswith(WAITING))


RATES = (1e5, 1e10, "100 kbit/s to 10 Gbit/s")

BOUNDS = {"rate": RATES, "up": RATES, "rtt": (1e-5, 1.0, "0.01 ms to 1 s")}


@cache
def _buffer(text: str, rate: float, rtt: float) -> int:
    """Return a buffer in the notation of scenarios as packets, at this rate and round-trip time."""
    return max(1, ceil(round(_core.buffer_packets(text, rate, rtt, PACKET), 6)))


def _given(field: str, text: str) -> float:
    """Return a quantity in SI units."""
    value = read(field, text, "s" if field == "rtt" else "bit/s")
    least, most, range_ = BOUNDS[field]
    if not least <= value <= most:
        raise InputError(field, f"{text}: out of range; {range_}")
    return value
