"""A tab of the studio: what it shows is what `aqmlab run` gives; changes, marks, slow clients, the end of a tab."""

import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab
from conftest import SMALL, Aqmlab
from studio_client import Server, Tab, serving, tab

TEXT = SMALL.read_text()
LONG = TEXT.replace('duration = "2 s"', 'duration = "100000 s"')

OWN = """
import aqmlab

class Coin(aqmlab.Aqm):
    '''Signals now and then.'''
    share = aqmlab.Param(0.02, (0, 1), doc="How often.")

    def reset(self, queue):
        self.p = self.share
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    own = tmp_path_factory.mktemp("own") / "coin.py"
    own.write_text(OWN)
    with serving("--aqm", str(own)) as server:
        server.enter()
        yield server


@pytest.fixture
def page(studio: Server) -> Iterator[Tab]:
    with tab(studio) as opened:
        yield opened


def without_engine(text: str) -> str:
    """A result but for what the engine says of itself, as JSON."""
    document = json.loads(text) if isinstance(text, str) else text
    return json.dumps({key: value for key, value in document.items() if key != "engine"})


def finished(page: Tab) -> list[str]:
    """Play to the end; return the results of the lanes, as JSON."""
    page.say("play")
    return [without_engine(lane["result"]) for lane in page.wait_for("done")["lanes"]]


def by_hand(page: Tab) -> None:
    """Do some things at certain times."""
    page.play_to(0.5)
    assert page.ask("set", path="links.bottleneck.rate", value="6 Mbit/s")["type"] == "changed"
    page.play_to(0.75)
    assert page.ask("set", path="flows.blast.count", value="8")["type"] == "changed"
    page.play_to(1)
    assert page.ask("set", path="links.bottleneck.aqm.w", value="340 Hz", lane=0)["type"] == "changed"
    assert page.ask("halve", group="ftp")["type"] == "changed"
    page.play_to(1.5)
    assert page.ask("set", path="flows.ftp.rtt", value="40 ms")["type"] == "changed"
    assert page.ask("set", path="links.bottleneck.aqm", value="codel", lane=1)["type"] == "changed"


def test_the_export_repeats_the_run_to_the_byte(page: Tab, aqmlab: Aqmlab, tmp_path: Path) -> None:
    page.open(TEXT, ["pi", "red", "coin"], name="mine", blast="bottleneck", seed=3)
    by_hand(page)
    found = finished(page)
    for lane, result in enumerate(found):
        file = page.ask("export", what="toml", lane=lane)
        (tmp_path / file["name"]).write_text(file["text"])
        assert without_engine(page.ask("export", what="json", lane=lane)["text"]) == result
    commands = page.ask("export", what="command")["text"].splitlines()
    assert len(commands) == 3
    for command, result in list(zip(commands, found, strict=True))[:2]:  # the third needs the user's file
        program, *options = command.split()
        assert program == "aqmlab"
        answer = aqmlab(*options)
        assert answer.returncode == 0, answer.stderr
        assert without_engine(answer.stdout) == result


def test_lanes_left_alone_give_the_scenario_itself(page: Tab) -> None:
    page.open(TEXT, ["droptail", "fq-codel"], name="small")
    found = finished(page)
    plain = [without_engine(aqmlab.run(str(SMALL), aqm).json()) for aqm in ("droptail", "fq-codel")]
    assert found == plain


def test_a_blast_that_never_comes_changes_nothing(page: Tab) -> None:
    page.open(TEXT, ["pie"], name="small", blast="bottleneck")
    [found] = finished(page)
    plain, with_blast = json.loads(aqmlab.run(str(SMALL), "pie").json()), json.loads(found)
    assert with_blast["flows"].pop("blast")["received"] == 0
    del plain["engine"]
    assert with_blast == plain


def test_a_blast_overloads_the_link(page: Tab) -> None:
    page.open(TEXT, ["droptail"], blast="bottleneck", sample=0.05)
    page.play_to(1)
    page.ask("set", path="flows.blast.count", value="12")
    finished(page)
    of = columns(page)
    rate = of[0, "blast", "goodput"]
    time_, queue = of[None, "", "time"], of[0, "bottleneck", "queue"]
    assert rate[time_ <= 1].max() == 0
    # 12 x 10 % of 10 Mbit/s are offered, of which a full link lets at most 10 Mbit/s x 1000/1028 through.
    late = rate[time_ > 1.2]
    assert 0.6 * 10e6 < late.mean() < 10e6
    assert queue[time_ > 1.5].mean() > 90  # of 100


def columns(page: Tab) -> dict[tuple[int | None, str, str], Any]:
    """All frames of a tab side by side, by lane, place and name."""
    while not page.frames or page.frames[-1].now < page.told[-1]["now"]:
        page.receive()
    named = next(m for m in reversed(page.told) if m["type"] in ("opened", "changed"))["columns"]
    rows = np.concatenate([frame.rows for frame in page.frames if len(frame.rows)])
    return {(c["lane"], c["place"], c["name"]): rows[:, i] for i, c in enumerate(named)}


def test_frames_show_what_probes_see(page: Tab) -> None:
    page.say("view", span=1, pixels=100_000)
    page.open(TEXT, ["pi", "codel"], sample=0.1)
    finished(page)
    assert [frame.sequence for frame in page.frames] == list(range(1, len(page.frames) + 1))
    of = columns(page)
    assert of[None, "", "time"] == pytest.approx([0.1 * i for i in range(1, 21)])
    for lane, aqm in enumerate(("pi", "codel")):
        simulation = aqmlab.Simulation(str(SMALL), aqm)
        for i in range(20):
            simulation.step_until(0.1 * (i + 1))
            probe = simulation.probe()
            link, group = probe.links["bottleneck"], probe.flows["ftp"]
            seen = {name: float(of[lane, "bottleneck", name][i]) for name in ("queue", "delay", "utilisation", "drops")}
            assert seen["queue"] == link["queue"]
            delay = math.nan if link["queue_delay_mean"] is None else link["queue_delay_mean"]
            assert seen["delay"] == pytest.approx(delay, rel=1e-6, nan_ok=True)
            assert seen["utilisation"] == pytest.approx(link["utilisation"], rel=1e-6)
            assert seen["drops"] == pytest.approx(link["dropped"] / probe.span, rel=1e-6)
            assert of[lane, "ftp", "goodput"][i] == pytest.approx(group["goodput"], rel=1e-6)
            assert of[lane, "ftp", "cwnd"][i] == pytest.approx(simulation.flow("ftp")["cwnd"], rel=1e-6)
    assert page.frames[-1].content.tolist() == [
        aqmlab_content(aqm)[group] for aqm in ("pi", "codel") for group in ("ftp",)
    ]


def aqmlab_content(aqm: str) -> dict[str, int]:
    """What waits at the end."""
    simulation = aqmlab.Simulation(str(SMALL), aqm)
    simulation.step_until(simulation.end)
    return simulation.content("bottleneck")


def test_a_rewind_and_the_way_not_taken(page: Tab) -> None:
    opened = page.open(TEXT, ["pi", "codel"])
    page.play_to(0.7)
    assert page.ask("mark", name="before")["marks"] == [{"mark": 1, "name": "before", "at": 0.7}]
    straight = finished(page)
    rewound = page.ask("rewind", mark=1)
    assert (rewound["type"], rewound["now"]) == ("opened", 0.7)
    assert rewound["epoch"] > opened["epoch"]
    page.ask("set", path="flows.ftp.count", value="40")
    assert finished(page) != straight
    page.ask("rewind", mark=1)
    assert finished(page) == straight
    assert page.ask("unmark", mark=1)["marks"] == []
    assert page.ask("rewind", mark=1)["type"] == "problem"


def test_a_scheme_that_no_link_takes_is_refused(page: Tab) -> None:
    fixed = TEXT.replace('name = "bottleneck"', 'name = "bottleneck"\nfixed = true')
    answer = page.ask("open", text=fixed, aqms=["pi@bottleneck", "pi"])
    [problem] = answer["problems"]
    assert (problem["lane"], "no link of this scenario takes a scheme" in problem["message"]) == (1, True)
    [lane] = page.open(fixed, ["pi@bottleneck"])["lanes"]
    assert lane["links"]["bottleneck"]["aqm"] == "pi"


def test_a_change_that_one_lane_refuses_is_made_in_none(page: Tab) -> None:
    page.open(TEXT, ["pi", "codel"])
    page.play_to(0.5)
    answer = page.ask("set", path="links.bottleneck.aqm.w", value="340 Hz")
    assert answer["problems"][0]["lane"] == 1
    assert "w" in answer["problems"][0]["message"]
    assert "[[changes]]" not in page.ask("export", what="toml")["text"]


def test_another_scheme_brings_other_columns(page: Tab) -> None:
    opened = page.open(TEXT, ["pi", "codel"])
    page.play_to(0.5)
    changed = page.ask("set", path="links.bottleneck.aqm", value="red:max_p=0.2", lane=0)
    assert changed["epoch"] > opened["epoch"]
    shown = [c["name"] for c in changed["columns"] if c["lane"] == 0 and c["place"] == "bottleneck"]
    assert shown[-2:] == ["p", "avg"]
    assert changed["lanes"][0]["links"]["bottleneck"]["aqm"] == "red:max_p=0.2"
    assert changed["lanes"][0]["links"]["bottleneck"]["parameters"]["max_p"] == "0.2"
    page.play_to(1)
    assert {frame.rows.shape[1] for frame in page.frames if frame.epoch == changed["epoch"] and len(frame.rows)} == {
        len(changed["columns"])
    }


def test_eight_lanes_and_a_scenario_with_schemes_of_its_own(page: Tab) -> None:
    schemes = ["droptail", "red", "pi", "codel", "pie", "fq-codel", "coin:share=0.1", None]
    opened = page.open(TEXT, schemes)
    assert [lane["aqm"] for lane in opened["lanes"]] == schemes
    assert opened["lanes"][7]["links"]["bottleneck"]["aqm"] == "droptail"
    found = [json.loads(result) for result in finished(page)]
    assert found[7]["links"] == found[0]["links"]
    assert found[6]["links"]["bottleneck"]["drops"]["early"] > 0


def test_step_and_pause_stop_where_they_should(page: Tab) -> None:
    page.open(TEXT, ["pi"])
    assert page.ask("step")["now"] == pytest.approx(0.01)
    assert page.ask("step", span=0.25)["now"] == pytest.approx(0.26)
    page.open(TEXT, ["pi"], sample=0.1)
    for i in range(1, 20):  # 0.1 + 0.2 is a little more than 0.3
        assert page.ask("step")["now"] == pytest.approx(0.1 * i)
    page.open(LONG, ["pi"], sample=0.01)
    assert page.ask("play")["playing"]
    paused = page.ask("pause")
    assert not paused["playing"]
    time.sleep(0.2)
    assert page.ask("pause")["now"] == paused["now"]


def test_real_time_is_kept_to(page: Tab) -> None:
    page.open(LONG, ["pi"], sample=0.01)
    page.ask("speed", speed=5)
    page.say("play", until=2)
    began = time.monotonic()
    page.wait(lambda m: m["type"] == "state" and m["now"] >= 2 and not m["playing"])
    assert time.monotonic() - began > 2 / 5 - 0.02  # never faster; how much slower depends on the machine


def tables(page: Tab) -> dict[float, list[dict[str, float]]]:
    """The tables of measures that came so far, by their time."""
    return {m["now"]: m["lanes"] for m in page.told if m["type"] == "table"}


def test_measures_run_along(page: Tab) -> None:
    page.open(TEXT.replace('duration = "2 s"', 'duration = "2 s"\nwarmup = "1 s"'), ["pi"])
    page.play_to(0.5)
    assert tables(page)[0.5] == [{}]
    page.play_to(1.5)
    [table] = tables(page)[1.5]
    cut = aqmlab.run(str(SMALL), "pi", set={"duration": "1.5 s", "warmup": "1 s"})
    of_link = {name: value for name, value in cut.values.items() if name.startswith("links.")}
    assert {name: table[name] for name in of_link} == of_link
    assert table["flows.ftp.received"] == pytest.approx(
        cut.flows["ftp"].received, abs=25
    )  # 21 ms under way: 26 packets


def test_a_slow_client_gets_fewer_frames_and_no_queue_of_them(page: Tab) -> None:
    page.answers_frames = False
    page.say("view", span=100_000, pixels=500)
    page.open(LONG, ["pi", "codel"], sample=0.01)
    page.ask("play")
    page.wait(lambda m: m["type"] == "table" and m["now"] > 50)
    assert len(page.frames) == 3  # and no more, until one is answered
    paused = page.ask("pause")
    page.say("seen", sequence=3)
    while len(page.frames) < 4:
        page.receive()
    merged = page.frames[3].rows
    assert merged[-1, 0] == pytest.approx(paused["now"], abs=0.02)
    # 200 s are a pixel: what waited came to a few rows, not to 100 a second.
    assert 2 <= len(merged) < 1000
    before = page.frames[2].rows
    assert merged[0, 0] == pytest.approx((before[-1, 0] if len(before) else 0) + 0.01, abs=0.02)


def test_a_closed_tab_stops_its_run(studio: Server) -> None:
    stat = Path(f"/proc/{studio.process.pid}/stat")

    def spent() -> float:
        """Processor time of the server, in ticks."""
        return sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))

    with tab(studio) as page:
        page.open(LONG, ["pi", "codel"], sample=0.01)
        page.ask("play")
        began = spent()
        page.wait_for("table")
        page.wait_for("table")
        assert spent() > began
    for _ in range(50):  # until the step under way has ended
        before = spent()
        time.sleep(0.2)
        if spent() - before <= 2:
            return
    pytest.fail("the run goes on")


def test_memory_stays_flat(studio: Server) -> None:
    status = Path(f"/proc/{studio.process.pid}/status")

    def resident() -> int:
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS"))

    with tab(studio) as page:
        page.answers_frames = False  # the worst: nothing is taken
        page.say("view", span=100_000, pixels=500)
        page.open(LONG, ["pi", "codel"], sample=0.01)
        page.play_to(600)
        before = resident()
        page.play_to(3000)
        # The queue's mean over each 0.1 s for the settling time: 0.4 MB in two lanes.
        assert resident() - before < 20_000  # kB; samples alone would be 240,000 x 31 columns x 4 B = 30 MB


@pytest.mark.nightly
def test_memory_stays_flat_over_hours(studio: Server) -> None:
    status = Path(f"/proc/{studio.process.pid}/status")

    def resident() -> int:
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS"))

    with tab(studio) as page:
        page.open(LONG, ["droptail", "red", "pi", "codel", "pie", "fq-codel", "pi2", "blue"], sample=0.01)
        seen = []
        for hour in (1, 2, 3, 4):
            page.play_to(3600 * hour, 3600)
            page.frames.clear()
            page.told.clear()
            seen.append(resident())
    # 3 hours x 3600 s x 80 B x 8 lanes are 7 MB, doubled where a list has just grown.
    assert seen[-1] - seen[0] < 20_000, seen  # kB


def test_exports_while_it_runs(page: Tab) -> None:
    page.open(TEXT, ["pi", "codel"], name="mine")
    page.play_to(1)
    csv = page.ask("export", what="csv", lane=1)
    rows = csv["text"].splitlines()
    assert csv["name"] == "mine.csv"
    assert rows[0].startswith("time,bottleneck.queue,bottleneck.utilisation,")
    assert float(rows[-1].split(",")[0]) == pytest.approx(1)
    report = page.ask("export", what="report")
    assert report["text"].lstrip().startswith("<!doctype html>")
    assert "CoDel" in report["text"]
    page.ask("set", path="links.bottleneck.aqm.w", value="340 Hz", lane=0)
    assert "different ways" in page.ask("export", what="report")["problems"][0]["message"]


def test_a_fault_of_an_export_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "from aqmlab.studio import export; export.KINDS['csv'] = lambda *_: 1 / 0"
    (tmp_path / "sitecustomize.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with serving() as server:
        server.enter()
        with tab(server) as page:
            page.open(TEXT, ["pi"])
            [problem] = page.ask("export", what="csv")["problems"]
            assert problem["message"].startswith("export: a bug in aqmlab: ZeroDivisionError")
            assert page.ask("export", what="toml")["text"]


def test_a_report_without_its_extra_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['jinja2'] = None")  # not installed
    (tmp_path / "aqmlab-0.dist-info").mkdir()
    (tmp_path / "aqmlab-0.dist-info" / "METADATA").write_text("Name: aqmlab\nRequires-Dist: jinja2; extra == 'reports'")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with serving() as server:
        server.enter()
        with tab(server) as page:
            page.open(TEXT, ["pi"])
            [problem] = page.ask("export", what="report")["problems"]
            assert problem["message"].startswith("jinja2 is not installed: ")
            assert problem["message"].endswith(" install jinja2")


def test_a_lane_that_breaks_down_is_told(tmp_path: Path) -> None:
    own = tmp_path / "broken.py"
    own.write_text(
        "import aqmlab\nclass Broken(aqmlab.Aqm):\n    'Breaks.'\n    tick = '1 s'\n"
        "    def on_tick(self, queue):\n        if self.now > 0.5: raise RuntimeError('no more')\n"
    )
    with serving("--aqm", str(own)) as server:
        server.enter()
        with tab(server) as page:
            page.open(TEXT, ["pi", "broken"])
            page.say("play")
            assert "no more" in page.wait_for("problem")["problems"][0]["message"]
            assert page.open(TEXT, ["pi"])["now"] == 0


def test_two_tabs_do_not_know_each_other(studio: Server) -> None:
    with tab(studio) as one, tab(studio) as other:
        one.open(TEXT, ["pi"])
        other.open(TEXT, ["codel"])
        one.ask("set", path="flows.ftp.count", value="40")
        [found] = finished(other)
        assert found == without_engine(aqmlab.run(str(SMALL), "codel").json()).replace('"small"', '"mine"')


def test_numbers_that_are_not_there_are_not_zero(page: Tab) -> None:
    page.open(TEXT.replace('access_rate = "100 Mbit/s"', 'start = "1 s"'), ["pi"], sample=0.1)
    page.play_to(0.5)
    delay = columns(page)[0, "bottleneck", "delay"]
    assert all(math.isnan(value) for value in delay)


def test_half_a_surrogate_pair_is_refused_and_the_session_goes_on(page: Tab) -> None:
    page.open(TEXT, ["red"])
    for message in ('{"type": "\\ud800"}', '{"type": "pause", "id": "\\udfff"}'):
        page.socket.send(message)
        assert "surrogate" in page.wait_for("problem")["problems"][0]["message"]
    assert page.ask("pause")["type"] == "state"


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("speed", "speed", 1e-300),
        ("speed", "speed", 0),
        ("speed", "speed", -1),
        ("speed", "speed", 1e300),
        ("speed", "speed", 10**400),
        ("speed", "speed", True),
        ("play", "until", 10**400),
        ("play", "until", 1e300),
        ("step", "span", -1),
        ("step", "span", 1e300),
        ("step", "span", 10**400),
        ("view", "span", 10**400),
        ("view", "pixels", 1e-300),
        ("seen", "sequence", 10**400),
        ("mark", "name", 10**400),
        ("unmark", "mark", 10**400),
        ("set", "lane", 10**400),
        ("export", "lane", -(10**400)),
        ("open", "sample", 10**400),
        ("open", "seed", 10**400),
    ],
    ids=lambda each: str(each)[:12],
)
def test_a_number_out_of_range_is_refused_and_the_session_goes_on(
    page: Tab, kind: str, key: str, value: object
) -> None:
    page.open(TEXT, ["red"])
    usual = {"open": {"text": TEXT, "aqms": ["red"]}, "set": {"path": "links.bottleneck.target", "value": "9 packets"}}
    usual |= {"export": {"what": "toml"}, "view": {"span": 1, "pixels": 1000}}
    answer = page.ask(kind, **{**usual.get(kind, {}), key: value})
    assert (answer["type"], answer["problems"][0]["field"]) == ("problem", key)
    page.play_to(0.5)
    assert page.ask("pause")["now"] == 0.5


def test_a_slow_player_hears_what_it_is_told(page: Tab) -> None:
    page.open(TEXT, ["red"], sample=1.0)
    assert page.ask("speed", speed=1e-6)["speed"] == 1e-6
    assert page.ask("play")["playing"]
    page.ask("speed", speed=None)
    finished(page)


def test_a_message_that_cannot_be_answered_is_refused_and_the_session_goes_on(page: Tab) -> None:
    page.open(TEXT, ["red"])
    for message in ('{"type": "pause", "id": NaN}', '{"type": "pause", "id": 1e999}', '{"seed": ' + 5000 * "9" + "}"):
        page.socket.send(message)
        assert page.wait_for("problem")["problems"][0]["field"] == "message"
    assert page.ask("pause")["type"] == "state"


def test_a_fault_of_an_answer_or_of_the_player_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = """
from aqmlab.studio.player import Player
class Panic(BaseException): pass
handle = Player._handle
def answer(self, text):
    if "halve" in text: raise Panic("of the engine")
    return handle(self, text)
def step(*_): raise Panic("at the end")
Player._handle, Player._step = answer, step
"""
    (tmp_path / "sitecustomize.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with serving() as server:
        server.enter()
        with tab(server) as page:
            page.open(TEXT, ["pi"])
            assert "of the engine; please report it" in page.ask("halve")["problems"][0]["message"]
            page.open(TEXT, ["pi"])
            page.say("play")
            assert "at the end" in page.wait_for("problem")["problems"][0]["message"]
            assert page.open(TEXT, ["pi"])["now"] == 0


def test_a_scheme_that_was_changed_by_hand_has_its_new_name(page: Tab) -> None:
    page.open(TEXT, ["red", "pi"])
    page.play_to(0.5)
    changed = page.ask("set", path="links.bottleneck.aqm", value="codel", lane=1)
    assert [lane["label"] for lane in changed["lanes"]] == ["RED", "PI, now CoDel"]
    changed = page.ask("set", path="links.bottleneck.aqm.target", value="8 ms", lane=1)
    assert changed["lanes"][1]["label"] == "PI, now CoDel, target=8 ms"
    changed = page.ask("set", path="links.bottleneck.aqm.max_p", value="0.2", lane=0)
    assert changed["lanes"][0]["label"] == "RED, now max_p=0.2"
