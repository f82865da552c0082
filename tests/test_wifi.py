"""A Wi-Fi cell as users meet it: scenarios, the table of stations, what is refused."""

import json

import pytest

import aqmlab as package
from conftest import Aqmlab

SHORT: dict[str, str | float] = {"duration": "6 s", "warmup": "2 s"}


def test_airtime_fairness_ends_the_anomaly() -> None:
    fair = package.run("wifi/flood", set=SHORT)
    shared = package.run("wifi/flood", set={**SHORT, "wifi.queues": "shared", "wifi.aqm": "fq-codel"})
    for name in ("fast", "slow"):
        assert fair.stations[name].airtime_share == pytest.approx(1 / 3, abs=0.01)
    # Flow queueing in front of the driver hands it a packet of each in turn; one for the slow station takes twenty
    # times as long.
    assert shared.stations["slow"].airtime_share > 0.8
    goodputs = [shared.flows[f"flood-{name}"].goodput for name in ("fast", "slow")]
    assert goodputs[0] / 2 == pytest.approx(goodputs[1], rel=0.05)
    assert fair.flows["flood-fast"].goodput > 5 * goodputs[0]
    assert fair.flows["flood-slow"].goodput < goodputs[1]


def test_pings_wait_before_the_drivers_queue_and_in_it() -> None:
    def delay(values: dict[str, str | float]) -> float:
        found = package.run("wifi/anomaly", set={**SHORT, **values}).flows["ping-idle"].packet_delay_p50
        assert found is not None
        return found

    fifo, scheme, station = (
        delay({"wifi.queues": "shared"}),
        delay({"wifi.queues": "shared", "wifi.aqm": "fq-codel"}),
        delay({}),
    )
    assert fifo > 2 * scheme > 4 * station


def test_a_run_shows_stations(aqmlab: Aqmlab) -> None:
    shown = aqmlab("run", "wifi/evening", "--set", "duration=3 s", "--set", "warmup=1 s")
    assert shown.returncode == 0, shown.stderr
    assert "television" in shown.stdout
    found = json.loads(aqmlab("run", "wifi/thirty", "--set", "duration=3 s", "--set", "warmup=1 s", "--json").stdout)
    assert found["stations"]["fast"]["count"] == 29
    asked = ("--seeds", "1", "--measure", "stations.*.airtime", "--json")
    compared = aqmlab(
        "compare", "wifi/thirty", "--aqms", "codel", "--set", "duration=3 s", "--set", "warmup=1 s", *asked
    )
    fast, slow = sorted(json.loads(compared.stdout)["measures"], key=lambda row: str(row["measure"]))
    assert (fast["measure"], slow["measure"]) == ("stations.fast.airtime", "stations.slow.airtime")
    assert 0.5 < 29 * fast["mean"] + slow["mean"] < 1.3
    assert list(found["links"]) == ["slow-down", "slow-up", "fast-down", "fast-up"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"stations.slow.rate": "0 bit/s"}, "stations.slow.rate"),
        ({"stations.slow.airtime": 1.5}, "stations.slow.airtime"),
        ({"wifi.queues": "station"}, "wifi.queues"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, str | float], told: str) -> None:
    with pytest.raises(package.InputError, match=told):
        package.load("wifi/flood", values)


def test_no_other_engine_has_a_radio(aqmlab: Aqmlab) -> None:
    done = aqmlab("run", "wifi/flood", "--engine", "linux")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
