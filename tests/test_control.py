"""Controllers of shapers: the rules of each by hand, runs with them, and what is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

import aqmlab
from aqmlab import control
from aqmlab.control.cake_autorate import PACKET
from aqmlab.control.controller import Observed, Shaper
from aqmlab.problems import InputError
from conftest import Aqmlab

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS / "autorate.md", DOCS / "autorate-evidence.md"]


def shaper(rate: float = 20e6) -> Shaper:
    return Shaper("down", rate, 0.0, 5e6, 20e6, 80e6)


class Pings:
    """A controller that is shown pings of a delay above 20 ms, one each 50 ms, on a link of some load."""

    def __init__(self, law: str, rate: float = 20e6) -> None:
        self.law, self.shaper, self.now = control.build(law), shaper(rate), 0.0
        self.law.start([self.shaper])

    def see(self, count: int, above: float | None, load: float = 0.0) -> float:
        """Return the rate after so many pings, each that much above 20 ms one way."""
        for _ in range(count):
            self.now += 0.05
            self.shaper.achieved = load * self.shaper.rate
            self.law.decide(Observed(self.now, 0.05, None if above is None else 2 * (0.020 + above)), [self.shaper])
        return self.shaper.rate


def test_cake_autorate_goes_down_when_three_of_six_pings_are_late() -> None:
    seen = Pings("cake-autorate")
    seen.see(20, 0.0)  # the baseline is 20 ms, from 100 ms by 0.9 each time
    assert seen.see(2, 0.050) == 20e6
    # Baseline 20 ms + 0.001 * 50 ms each; the third is late by 49.85 ms: the average of six is 149.7 / 6 = 24.95 ms,
    # below the threshold of 30 ms, so that the least adjustment holds.
    assert seen.see(1, 0.050) == pytest.approx(0.99 * 20e6)
    # Not again for 300 ms, which six more pings take; the seventh adjusts by an average of about 49.7 ms.
    held = seen.shaper.rate
    assert seen.see(6, 0.050) == held
    own = PACKET / held
    deltas = [0.050 * 0.999**n for n in range(5, 11)]
    share = (sum(deltas) / 6 - 0.030 - own) / 0.030
    assert seen.see(1, 0.050) == pytest.approx(held * (0.99 - share * 0.24), rel=1e-3)


def test_cake_autorate_goes_up_at_high_load_and_comes_back_at_low() -> None:
    seen = Pings("cake-autorate")
    # Loads are taken each 200 ms: the fourth ping sees the first, and the first 300 ms are calm time; then 4 % each.
    assert seen.see(7, 0.0, load=0.9) == pytest.approx(1.04 * 20e6)
    assert seen.see(4, 0.0, load=0.9) == pytest.approx(1.04**2 * 20e6)
    # Half way between 10 and 30 ms (less a packet's time) the step is 2 %.
    above = Pings("cake-autorate:window=1,detection_thr=1,alpha_increase=0")
    above.see(8, 0.0)
    middle = 0.020 + PACKET / 20e6
    assert above.see(4, middle, load=0.9) == pytest.approx(1.02 * 20e6)
    # At low load 1 % a second down to the base rate, and no further.
    high = seen.shaper.rate
    assert seen.see(26, 0.0, load=0.1) == pytest.approx(0.99 * high)
    assert seen.see(600, 0.0, load=0.1) == 20e6
    low = Pings("cake-autorate", rate=10e6)
    assert low.see(22, 0.0) == pytest.approx(1.01 * 10e6)


def test_cake_autorate_decides_nothing_without_a_ping() -> None:
    seen = Pings("cake-autorate")
    assert seen.see(100, None, load=0.9) == 20e6


def test_delay_steers_to_its_target() -> None:
    seen = Pings("delay")
    assert seen.see(1, 0.0, load=0.9) == pytest.approx(20e6 * 1.05)  # 15 ms below the target, the whole of it
    held = seen.shaper.rate
    assert seen.see(1, 0.0, load=0.5) == held
    # A round trip 22.5 ms later than the least is half a target above it: 2.5 % down, whatever the load.
    assert seen.see(1, 0.01125) == pytest.approx(held * 0.975)
    # 30 ms and more: 5 %.
    held = seen.shaper.rate
    assert seen.see(1, 0.100) == pytest.approx(held * 0.95)


def example(folder: Path, name: str) -> Path:
    text = "".join(page.read_text() for page in PAGES).partition(f"# {name}")[2].partition("```")[0]
    path = folder / name
    path.write_text(text)
    return path


def test_a_controller_follows_a_line_whose_rate_falls(tmp_path: Path) -> None:
    scenario = example(tmp_path, "modem.toml")
    run = aqmlab.run(scenario)
    fixed = scenario.read_text().partition("[[controllers]]")
    bare = tmp_path / "bare.toml"
    bare.write_text(fixed[0] + "[[flows]]" + fixed[2].partition("[[flows]]")[2])
    without = aqmlab.run(bare)
    waits = [each.links["modem"].queue_delay_mean or 0.0 for each in (run, without)]
    assert waits[0] < 0.5 * waits[1]
    assert run.links["down"].capacity < 50e6
    assert run.engine.wall > 0
    assert aqmlab.run(scenario, series=True).links == run.links


def test_a_controller_sees_nothing_of_a_queue_that_sparse_flows_pass(tmp_path: Path) -> None:
    scenario = example(tmp_path, "satellite.toml")
    downloads = {"flows.upload.count": "0"}
    fifo = {**downloads, "links.satellite.aqm": "droptail", "controllers.autorate.law": "delay"}
    blind, sighted = aqmlab.run(scenario, set=downloads), aqmlab.run(scenario, set=fifo)
    waits = [run.links["satellite"].queue_delay_mean or 0.0 for run in (blind, sighted)]
    pings = [(run.flows["ping"].packet_delay_mean or 0.0) - 0.040 for run in (blind, sighted)]
    assert blind.links["down"].capacity > 0.99 * 500e6  # pinned at max_dl
    assert waits[0] > 2 * pings[0]
    assert pings[0] == pytest.approx(0.0067, rel=0.2)  # what an idle link has, cake-autorate#393
    assert waits[1] < waits[0] / 2


class Still(aqmlab.RateController):
    """Sets what it is told, and notes what it saw."""

    every = "500 ms"
    rate = aqmlab.Param("9 Mbit/s", ("1 kbit/s", "1 Tbit/s"))
    loads: ClassVar[list[float]] = []

    def decide(self, seen: Observed, shapers: Sequence[Shaper]) -> None:
        Still.loads.append(shapers[0].achieved)
        assert seen.span == pytest.approx(0.5)
        shapers[0].rate = self.rate


LINE = """
schema = 1
duration = "5 s"
warmup = "1 s"
[[links]]
name = "down"
rate = "20 Mbit/s"
buffer = "100 packets"
aqm = "{aqm}"
[[controllers]]
law = "{law}"
pings = "ping"
shapers = [{{ link = "down", min = "1 Mbit/s", base = "10 Mbit/s", max = "40 Mbit/s"{more} }}]
[[flows]]
name = "ping"
kind = "udp-cbr"
rate = "8 kbit/s"
packet = "72 B"
rtt = "20 ms"
[[flows]]
name = "bulk"
kind = "udp-cbr"
rate = "30 Mbit/s"
packet = "1472 B"
rtt = "20 ms"
"""


def line(
    folder: Path, law: str = "still", aqm: str = "droptail", more: str = "", replaced: tuple[str, str] = ("", "")
) -> Path:
    path = folder / "line.toml"
    path.write_text(LINE.format(law=law, aqm=aqm, more=more).replace(*replaced))
    return path


def test_a_controller_of_ones_own_sets_the_rate_of_a_link(tmp_path: Path) -> None:
    Still.loads.clear()
    run = aqmlab.run(line(tmp_path))
    assert run.links["down"].capacity == pytest.approx(9e6, rel=0.001)  # from 0.5 s on
    assert Still.loads[0] == pytest.approx(10e6, rel=0.01)  # the base rate at first
    assert Still.loads[3] == pytest.approx(9e6, rel=0.01)
    faster = aqmlab.run(line(tmp_path), set={"controllers.controller.law": "still:rate=90 Mbit/s"})
    assert faster.links["down"].capacity == pytest.approx(40e6, rel=0.001)  # held within the bounds


def test_a_controller_sets_the_bandwidth_of_cake(tmp_path: Path) -> None:
    run = aqmlab.run(line(tmp_path, aqm="cake", more=', parameter = "bandwidth"'))
    assert run.links["down"].capacity == pytest.approx(20e6)
    assert run.flows["bulk"].goodput == pytest.approx(9e6 * 1472 / 1514, rel=0.02)


@pytest.mark.parametrize(
    ("replaced", "told"),
    [
        (
            ('law = "still"', 'law = "cake-autorat"'),
            'controllers.controller.law: unknown controller "cake-autorat"; did',
        ),
        (('law = "still"', 'law = "still:speed=1"'), 'still.speed: unknown parameter "speed"'),
        (('law = "still"', 'law = "still:rate=5 ms"'), 'still.rate: "5 ms" is not a rate: units are Mbit/s'),
        (('law = "still"', 'law = "delay:target=20 s"'), 'delay.target: "20 s" is out of range'),
        (('law = "still"', 'law = "delay:target"'), 'controllers.controller.law: "target": no value'),
        (('law = "still"\n', ""), "controllers.controller.law: missing"),
        (
            ('pings = "ping"', 'pings = "pin"'),
            'controllers.controller.pings: unknown group of flows "pin"; did you mean',
        ),
        (('pings = "ping"\n', ""), "controllers.controller.pings: missing"),
        (
            ('link = "down"', 'link = "dawn"'),
            'controllers.controller.shapers.0.link: unknown link "dawn"; did you mean',
        ),
        (('base = "10 Mbit/s"', 'base = "50 Mbit/s"'), 'shapers.0.base: "50 Mbit/s" is not between min and max'),
        (('max = "40 Mbit/s"', 'max = "fast"'), "controllers.controller.shapers.0.max"),
        (('max = "40 Mbit/s"', 'most = "40 Mbit/s"'), "controllers.controller.shapers.0.max: missing"),
        (
            ('max = "40 Mbit/s"', 'max = "40 Mbit/s", parameter = "p"'),
            'links.down.aqm.p: unknown parameter "p"',
        ),
        (
            ('rate = "20 Mbit/s"', 'rate = [["0 s", "1 Mbit/s"], ["1 s", "2 Mbit/s"]]'),
            "has a rate that changes by itself",
        ),
    ],
)
def test_what_is_wrong_is_told_by_name(replaced: tuple[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        aqmlab.run(line(tmp_path, replaced=replaced))
    assert told in str(refused.value)


def test_a_report_says_who_sets_a_rate(tmp_path: Path, aqmlab: Aqmlab) -> None:
    made = aqmlab(
        "compare", str(line(tmp_path, law="delay:target=9ms")), "--aqms", "droptail", "--out", str(tmp_path / "report")
    )
    assert made.returncode == 0, made.stderr
    assert "20 Mbit/s, by delay:target=9ms" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_who_runs_no_controllers_says_so(tmp_path: Path, aqmlab: Aqmlab) -> None:
    import aqmlab as package

    with pytest.raises(InputError, match=r"controllers\.controller: is not supported here"):
        package.Simulation(line(tmp_path))
    refused = aqmlab("run", str(line(tmp_path, law="nobody")))
    assert refused.returncode == 2
    assert "controllers.controller.law" in refused.stderr
    refused = aqmlab("run", str(line(tmp_path, law="delay")), "--engine", "linux")
    assert refused.returncode == 2
