"""What every public object shows of itself: a short line at the prompt; in a notebook, names that stay text."""

import importlib
import inspect
from typing import Any

import pytest

import aqmlab
from aqmlab import advise, control, tc
from aqmlab.bundle.build import bundle
from aqmlab.bundle.verify import NEITHER, Number, verify
from aqmlab.catalogue import schemes
from aqmlab.gym.env import AqmEnv
from aqmlab.gym.vector import AqmVectorEnv
from aqmlab.runs import live, shards, sweep
from aqmlab.runs.engines import EngineComparison
from aqmlab.tune.plan import plan
from aqmlab.tune.result import tune
from aqmlab.worst import plan as worst_plan
from aqmlab.worst.result import find_worst
from conftest import SMALL
from test_api import PUBLIC
from test_break import RUNS, SLOW, SPACE

MOST = 1000
"""Characters."""

TAG = "<script>"
"""A name of a scenario."""


class Curious(aqmlab.Aqm):
    """Notes how its packet and its queue show themselves."""

    gain = aqmlab.Param(1.0, (0.0, 2.0))

    def on_enqueue(self, packet: aqmlab.Packet, queue: aqmlab.Queue) -> None:
        SEEN.update({"aqmlab.Packet": repr(packet), "aqmlab.Queue": repr(queue)})


class Steady(aqmlab.CongestionControl):
    """Notes how its window and the facts of an ACK show themselves."""

    def on_ack(self, window: aqmlab.Window, facts: aqmlab.AckFacts) -> None:
        SEEN.update({"aqmlab.Window": repr(window), "aqmlab.AckFacts": repr(facts)})


SEEN: dict[str, str] = {}

PATH = """
schema = 1
duration = "1 s"
links = [{ name = "up", rate = "8 Mbit/s", buffer = "1 packets", aqm = "droptail" }]
flows = [{ name = "flow", kind = "udp-cbr", rate = "1 Mbit/s", rtt = "1 ms" }]
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An object of every kind, by the name of its class; what makes several is as cheap as can be."""
    folder = tmp_path_factory.mktemp("shown")
    named = folder / f"{TAG}.toml"
    named.write_text(SMALL.read_text())
    file = str(named)
    (folder / "e.toml").write_text(
        f'schema = 1\ntitle = "{TAG}"\nscenarios = ["{file}"]\naqms = ["pi", "red"]\nseeds = 2\n'
    )
    run = aqmlab.run(file, "pi", series=True, trace="bottleneck")
    scenario = aqmlab.load(file)
    swept = sweep.sweep(folder / "e.toml", folder / "swept")
    packed = bundle(str(folder / "swept"))
    (folder / "b.zip").write_bytes(packed.data)
    verified = verify(folder / "b.zip")
    asked = plan("pi", [file], ["min link.queue_mean"], budget="6 runs", seeds=2, held_out_seeds=2)
    (folder / "space.toml").write_text(SPACE, encoding="utf-8")
    place = [str(folder / "space.toml")]
    worst = find_worst(worst_plan.plan(SLOW, space=place, against=["codel"], by=["delay"], budget=RUNS), jobs=1)
    given = advise.advise([scenario], aqms=["droptail", "fq-codel"], seeds=2)
    reproduced = aqmlab.reproduce("li2014", tables=["1"])
    simulation = aqmlab.Simulation(file, Curious(gain=0.5))
    simulation.step_until(0.2)
    aqmlab.run(file, "pi", set={"flows.ftp.tcp": "rfc", "flows.ftp.tcp.congestion_control": "steady"})
    path: aqmlab.Path[str] = aqmlab.Path(PATH)
    for name in ("is sent", "waits", "finds no room"):
        path.up.push(0, 1000, name)
    talkers = aqmlab.run("rmcat/5.1-one-flow", "pie").flows
    [viewers, callers] = [aqmlab.run(name, "pie").flows for name in ("home/video", "home/call")]
    small = {
        "fabric.leaves.count": 2,
        "fabric.hosts.count": 4,
        "fabric.spines": 1,
        "duration": "15 ms",
        "warmup": "1 ms",
    }
    fabric = aqmlab.run("networks/leaf-spine-1k", set=small).flows
    cell = aqmlab.run("wifi/flood", set={"duration": "2 s", "warmup": "1 s"})
    compared = aqmlab.compare(file, "pi,droptail", seeds=2)
    [_, outcome] = path.pop(1_500_000) or (None, None)
    twice = EngineComparison({"sim": compared, "linux": compared})  # no kernel is needed to look at one
    objects = [
        viewers["film"], viewers["film"].video, callers["call-up"].call, fabric["web"].slowdown, talkers["call"].media,
        cell.stations["fast"],
        scenario, run, run.total, run.engine, run.trace, *run.links.values(),
        compared, twice, twice.difference("pi", "link.queue_mean"), swept, swept.plan, swept.measured,
        simulation, simulation.probe(), Curious(gain=0.5), Curious.gain, aqmlab.PASS,
        scenario.law("pi"), scenario.link("bottleneck"), scenario.group(scenario.flows[0]),
        aqmlab.analyse("pi", rate="45 Mbit/s", rtt="80 ms", flows=60),
        reproduced, reproduced.study, worst, worst.finding,
        asked, tune(asked, jobs=1), packed, verified, Number("n", NEITHER, 1, 2),
        given, given.score("fq-codel"), advise.LineSpec(rate=20e6), schemes()[0], sweep.precision("2%"),
        shards.Shard(2, 7),
        live.EmulatedLine("1Mbit/s", "1Mbit/s"), live.LiveRun({"links": {}, "live": {"valid": True}}, 0, (), {}, ()),
        AqmEnv(file), AqmVectorEnv(2, file), Steady(), control.build("delay:target=9ms"),
        path, aqmlab.SharedPath[str](PATH), path.up, path.up.counters, path.up.pop_dropped(), outcome,
        tc.Layer(overhead=18), tc.Link(rate=1e6), tc.Setting("fq-codel"), tc.write(tc.Setting("fq-codel")),
        tc.read("tc qdisc add root pie"),
        tc.read_tree("tc class add dev a parent 1: classid 1:1 htb rate 9mbit"),
    ]  # fmt: skip
    return {name_of(type(each)): each for each in objects}


def name_of(of: type) -> str:
    return f"{of.__module__}.{of.__name__}"


def classes() -> list[str]:
    """The names of all public classes that are no errors."""
    found = [getattr(importlib.import_module(module), name) for module, names in PUBLIC.items() for name in names]
    return sorted({name_of(each) for each in found if inspect.isclass(each) and not issubclass(each, Exception)})


OWN = ("aqmlab.Packet", "aqmlab.Queue", "aqmlab.Window", "aqmlab.AckFacts")
BASES = ("aqmlab.own.Aqm", "aqmlab.laws.CongestionControl", "aqmlab.control.controller.RateController")
CLASSES = [name for name in classes() if name not in BASES]
MORE = [
    *(f"builtins.{name}" for name in ("Group", "Law", "Link", "Probe", "Trace")),
    *("aqmlab.catalogue.Scheme", "aqmlab.runs.plan.Plan", "aqmlab.runs.table.Table", "aqmlab.study.paper.Study"),
    *("aqmlab.control.delay.Delay", "aqmlab.tune.plan.TunePlan"),
    *(f"{__name__}.{own}" for own in ("Curious", "Steady")),
]
"""What has no public name, but is returned by what is public; and a user's scheme and law."""


def test_a_result_that_is_printed_shows_its_numbers(shown: dict[str, Any]) -> None:
    run, compared = (shown[f"aqmlab.runs.{name}"] for name in ("results.RunResult", "comparison.Comparison"))
    text = str(run)
    assert text.startswith(run.headline)
    assert f"{run.links['bottleneck'].queue_mean:.1f}" in text
    for view in compared.views:
        assert all(compared.text("pi", name) in str(compared) for name in view.columns.values())
    assert max(map(len, str(compared).splitlines())) <= 120


NAMED = ("aqmlab.runs.comparison.Comparison", "aqmlab.runs.results.RunResult", "aqmlab.runs.sweep.Sweep")
NAMED += ("aqmlab.runs.engines.EngineComparison", "aqmlab.bundle.verify.Verified", "aqmlab.tune.result.Tuned")
"""Whose table or head line has the name of the scenario."""


@pytest.mark.parametrize("name", [*CLASSES, *MORE])
def test_it_is_short_at_the_prompt_and_text_in_a_notebook(name: str, shown: dict[str, Any]) -> None:
    value = shown.get(name)
    text = SEEN[name] if name in OWN else repr(value)
    assert name.rpartition(".")[2] in text
    assert len(text) < MOST
    assert "\n" not in text
    assert " at 0x" not in text
    html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    assert TAG not in html
    assert ("&lt;script&gt;" in html) == (name in NAMED)
