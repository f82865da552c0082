"""Low-latency cable: queue protection, NQB and the DSCP of flows, from a scenario to a result."""

from pathlib import Path

import pytest

import aqmlab

SCENARIO = """
schema = 1
duration = "10 s"
warmup = "2 s"

[[links]]
name = "up"
rate = "50 Mbit/s"
buffer = "2000 packets"

[[flows]]
name = "game"
kind = "udp-cbr"
rate = "200 kbit/s"
packet = "150 B"
dscp = 45
rtt = "20 ms"

[[flows]]
name = "bursts"
kind = "udp-onoff"
rate_on = "200 Mbit/s"
on = "2 ms"
off = "20 ms"
dscp = DSCP
rtt = "20 ms"
"""


def run(folder: Path, aqm: str, dscp: int = 45) -> tuple[int, float]:
    """Packets sanctioned, and the delay that 99 % of the game's do not exceed, ms."""
    file = folder / "cable.toml"
    file.write_text(SCENARIO.replace("DSCP", str(dscp)), encoding="utf-8")
    result = aqmlab.run(str(file), aqm=aqm)
    delay = result.flows["game"].packet_delay_p99
    assert delay is not None
    return result.links["up"].sanctioned, 1e3 * delay


@pytest.mark.parametrize("scheme", ["docsis-lld", "dualpi2"])
def test_protection_keeps_a_flow_that_builds_a_queue_from_those_that_build_none(tmp_path: Path, scheme: str) -> None:
    """A burst of 2 ms at 200 Mbit/s, 50 kB, is a queue of 6 ms at 50 Mbit/s; propagation is 10 ms."""
    hits, protected = run(tmp_path, f"{scheme}:queue_protection=true")
    none, exposed = run(tmp_path, f"{scheme}:queue_protection=false")
    assert hits > 1000
    assert none == 0
    assert exposed > 15
    assert protected < 12


@pytest.mark.parametrize("scheme", ["docsis-lld", "dualpi2:queue_protection=true"])
def test_what_is_not_of_the_low_latency_queue_is_never_sanctioned(tmp_path: Path, scheme: str) -> None:
    hits, delay = run(tmp_path, scheme, dscp=46)
    assert hits == 0
    assert delay < 12


def test_a_dscp_is_shown_and_its_class_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "cable.toml"
    file.write_text(SCENARIO.replace("DSCP", "40"), encoding="utf-8")
    game, bursts = aqmlab.load(str(file)).resolved()["flows"]
    assert (game["class"], game["dscp"]) == (5, 45)
    assert bursts["class"] == 5
    assert "dscp" not in bursts  # the class selector says all of it


def behind_grants(folder: Path, keys: str) -> Path:
    file = folder / "grants.toml"
    text = SCENARIO.replace("DSCP", "45").replace('name = "up"', f'name = "up"\n{keys}')
    file.write_text(text, encoding="utf-8")
    return file


def test_a_request_takes_its_time_unless_its_rate_is_guaranteed(tmp_path: Path) -> None:
    """At least 1.62 ms from a request to its grant, 4 ms at most and 2 ms until the modem may ask."""
    requests = aqmlab.run(str(behind_grants(tmp_path, "request_grant = {}")), aqm="docsis-lld")
    guaranteed = aqmlab.run(
        str(behind_grants(tmp_path, 'request_grant = { guaranteed = "50 Mbit/s" }')), aqm="docsis-lld"
    )
    waits = [run.flows["game"].packet_delay_mean for run in (requests, guaranteed)]
    assert waits[0] is not None
    assert waits[1] is not None
    assert 0.0016 < waits[0] - waits[1] < 0.006


def test_grants_are_shown(tmp_path: Path) -> None:
    shown = aqmlab.load(str(behind_grants(tmp_path, 'preset = "docsis-up"'))).resolved()["links"][0]
    assert shown["request_grant"] == "each 2 ms, 1.62 ms after a request"
    shown = aqmlab.load(str(behind_grants(tmp_path, 'request_grant = { guaranteed = "1 Mbit/s" }'))).resolved()[
        "links"
    ][0]
    assert shown["request_grant"] == "each 2 ms, 1.62 ms after a request, 1 Mbit/s guaranteed"


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('request_grant = "2 ms"', "links.up.request_grant: expected a table, found text"),
        ('request_grant = { interval = "1 us" }', 'request_grant.interval: "1 us" is out of range'),
        (
            'request_grant = { intervall = "1 ms" }',
            'request_grant.intervall: unknown key "intervall"; did you mean "interval"?',
        ),
        ('request_grant = { guaranteed = "fast" }', "request_grant.guaranteed"),
    ],
)
def test_what_is_wrong_with_grants_is_told_by_name(keys: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(aqmlab.InputError) as refused:
        aqmlab.load(str(behind_grants(tmp_path, keys)))
    assert told in str(refused.value)
