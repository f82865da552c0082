"""The recommended commands under load: on a Linux kernel in virtual time, and in the simulator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aqmlab import tc
from aqmlab._core import Scenario
from aqmlab.advise.advice import BASELINE, Advice
from aqmlab.advise.commands import Typed, buffer_of, ifb
from aqmlab.advise.layers import ETHERNET, LinkLayer
from aqmlab.advise.scenarios import INCOMING, OUTGOING
from aqmlab.catalogue import halves, title
from aqmlab.notebook import Result, Sheet
from aqmlab.problems import InputError
from aqmlab.quantities import written
from aqmlab.runs import linux
from aqmlab.runs.executor import Progress, run_many
from aqmlab.runs.metrics import find
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import LINUX, SIM, RunError, Task
from aqmlab.scenario import load
from aqmlab.tc.qdiscs import of_scheme

MODEM = "modem/load"
"""The scenario of an access link: a router, configured by the commands, before a modem."""

BEHIND_MODEM = (
    "flows.download.goodput",
    "links.down.queue_delay_mean",
    "links.modem-down.queue_mean",
    "flows.upload.goodput",
    "links.up.queue_delay_mean",
    "links.modem-up.queue_mean",
    "flows.ping.packet_delay_p99",
)
AT_LINK = ("flows.bulk.goodput", "links.link.queue_delay_mean", "links.link.drop_ratio", "flows.ping.packet_delay_p99")
"""The measures shown, by kind of link."""


@dataclass(frozen=True, repr=False)
class Check(Result):
    """The commands of a scheme under load, on Linux and in the simulator, against the link without them on Linux.

    One run each, with seed 1. `bare` is the link without the commands: an access link has its queue in the modem,
    any other link has DropTail.
    """

    scheme: str
    bare: RunResult
    linux: RunResult
    sim: RunResult

    @property
    def headline(self) -> str:
        """The scheme, and the scenario in which its commands were tested."""
        return f"the commands of {title(self.scheme)} on {MODEM if self.behind_modem else self.linux.scenario}"

    @property
    def behind_modem(self) -> bool:
        """True for an access link."""
        return self.linux.scenario == MODEM

    @property
    def measures(self) -> Sequence[str]:
        """The measures shown, in order."""
        return BEHIND_MODEM if self.behind_modem else AT_LINK

    def sheets(self) -> Iterator[Sheet]:
        """Return the measures, one per row."""
        runs = (self.bare, self.linux, self.sim)
        rows = []
        for measure in self.measures:
            metric = find(measure)
            values = [metric.show(run.values[measure]) for run in runs]
            rows.append([measure.split(".")[1], metric.title, *values, metric.unit_shown])
        heads = ["At", "Measure", "No commands, Linux", "Linux", "Simulator", "Unit"]
        yield Sheet(f"Under load: {title(self.scheme)}", heads, rows, names=2)

    def document(self) -> dict[str, Any]:
        """Return it for JSON: each measure with its three values."""
        return {
            "aqm": self.scheme,
            "scenario": self.linux.scenario,
            "measures": {
                name: {"bare": self.bare.values[name], LINUX: self.linux.values[name], SIM: self.sim.values[name]}
                for name in self.measures
            },
        }


def check(found: Advice, scheme: str, typed: Typed, dev: str, progress: Progress | None = None) -> Check:
    """Run the commands of a scheme on the newest kernel under load.

    An access link is a router before a modem, `modem/load`, with the rates, round trip and buffer of the advice; any
    other link is the first condition. InputError if no kernel is built, there are no commands, or Linux does not
    support them; RunError if a run fails.
    """
    if not typed.commands:
        raise InputError("check", typed.why_not or f"{scheme}: there are no commands to test")
    condition = found.conditions[0]
    if INCOMING in condition.links:
        bare, shaped = (load(MODEM, values) for values in behind_modem(condition, typed, dev))
        runs = [Task(bare, None, 1, engine=LINUX), Task(shaped, None, 1, engine=LINUX), Task(shaped, None, 1)]
    else:
        typed_scheme = _read(typed.commands, dev).scheme
        each = ((BASELINE, LINUX), (typed_scheme, LINUX), (typed_scheme, SIM))
        runs = [Task(condition, name, 1, engine=engine) for name, engine in each]
    for task in runs[:2]:
        linux.check(task.scenario, task.aqm)
    outcomes = run_many(runs, on_progress=progress)
    failed = [each for each in outcomes if not isinstance(each, RunResult)]
    if failed:
        raise RunError(str(failed[0]))
    return Check(scheme, *(each for each in outcomes if isinstance(each, RunResult)))


def behind_modem(condition: Scenario, typed: Typed, dev: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings of the modem's scenario: without the commands, and with them as tc reads them."""
    bare = dict(_of_line(condition))
    shaped: dict[str, str] = {}
    for link, at in ((INCOMING, ifb(dev)), (OUTGOING, dev)):
        setting = _read(typed.commands, at)
        shaped |= {f"links.{link}.aqm": setting.scheme, f"links.{link}.ecn": str(setting.link.ecn).lower()}
        if setting.link.rate:
            shaped[f"links.{link}.rate"] = written(setting.link.rate, "bit/s")
            shaped |= _counted(condition, link, link)
        if setting.link.buffer:
            shaped[f"links.{link}.buffer"] = setting.link.buffer
    return bare, bare | shaped


def _read(commands: Sequence[str], dev: str) -> tc.Setting:
    """Return the setting of tc commands at an interface, without parameters that Linux does not support.

    InputError if no command names the interface: nothing is shaped there.
    """
    lines = [line for line in commands if line.startswith(("tc qdisc", "tc class")) and f" dev {dev} " in line]
    if not lines:
        raise InputError("check", f"no command is for {dev}: without a shaper the queue stays in the modem")
    setting = tc.read("\n".join(lines)).setting
    name, pairs = halves(setting.scheme)
    kept = [pair for pair in pairs.split(",") if pair.partition("=")[0] not in of_scheme(name).fixed]
    if "overhead=" in pairs:
        kept.append(f"link_header={ETHERNET} B")
    return replace(setting, scheme=f"{name}:{','.join(kept)}".rstrip(":"))


def _counted(condition: Scenario, link: str, at: str) -> dict[str, str]:
    """Return the settings with which a link counts the link layer as HTB does: without PTM."""
    layer = LinkLayer.of(condition, link)
    if layer is None:
        return {}
    framing = "none" if layer.framing == "ptm" else layer.framing
    return replace(layer, framing=framing).of_link(at)


def _of_line(condition: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the settings of the modem's scenario: rates, buffers, round trip, and the senders."""
    for name in (INCOMING, OUTGOING):
        link = condition.link(name)
        layer = LinkLayer.of(condition, name)
        yield f"links.modem-{name}.rate", written((layer.share if layer else 1) * link.rate, "bit/s")
        yield from _counted(condition, name, f"modem-{name}").items()
        yield f"links.modem-{name}.buffer", buffer_of(link)
    groups = [condition.group(name) for name in condition.flows]
    if rtts := [group.rtt for group in groups if group.rtt]:
        yield "flows.*.rtt", written(rtts[0], "time")
    for key in ("tcp", "ecn"):
        asked = [value for path, value in condition.overrides if path.endswith(f".{key}")]
        for name in ("download", "upload"):
            yield from ((f"flows.{name}.{key}", value) for value in asked[:1])
