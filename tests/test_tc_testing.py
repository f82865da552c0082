"""The kernel's own suite for tc beside what we read: on a test of our own, and on it where its source is."""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))

import tc_testing

SOURCE = os.environ.get("AQMLAB_KERNEL_SOURCE", "")
RIGHT = {
    "id": "1",
    "setup": ["$TC qdisc add dev $DUMMY handle 1: root pie limit 70"],
    "cmdUnderTest": "$TC qdisc change dev $DUMMY handle 1: root pie target 20ms",
    "expExitCode": "0",
    "verifyCmd": "$TC qdisc show dev $DUMMY",
    "matchPattern": "qdisc pie 1: root refcnt [0-9]+ limit 70p target 20ms.*beta 20",
}


@pytest.mark.parametrize(
    ("change", "agrees", "cause"),
    [
        ({}, True, ""),
        ({"matchPattern": "qdisc pie 1: root limit 71p target 20ms"}, False, "limit"),
        ({"expExitCode": "2"}, False, "accepted: Linux rejects it because of the device"),
        (
            {"cmdUnderTest": "$TC qdisc add dev $DUMMY root pie bytemode", "setup": []},
            False,
            "rejected: tc: pie: bytemode",
        ),
        ({"cmdUnderTest": "$TC qdisc add dev $DUMMY root pie limit x", "setup": [], "expExitCode": "1"}, True, ""),
    ],
)
def test_a_test_of_the_suite_is_judged(change: dict[str, object], agrees: bool, cause: str) -> None:
    verdict = tc_testing.judge(RIGHT | change)
    assert verdict.agrees == agrees
    assert verdict.cause.startswith(cause)
    assert bool(verdict.cause) == bool(cause)


def test_the_page_is_of_what_is_stored() -> None:
    stored = json.loads(tc_testing.STORED.read_text(encoding="utf-8"))
    files = stored["files"].values()
    total, agree = (sum(each[key] for each in files) for key in ("tests", "agree"))
    assert f"**{agree} of {total} tests agree" in tc_testing.PAGE.read_text(encoding="utf-8")
    assert all(each["tests"] - each["agree"] == len(each["others"]) for each in files)
    assert all(cause.startswith(("rejected: ", "accepted: ")) for each in files for cause in each["others"].values())


@pytest.mark.skipif(not SOURCE, reason="AQMLAB_KERNEL_SOURCE names no folder with the source of Linux")
def test_the_suite_of_the_kernel_is_read_as_stored() -> None:
    found = tc_testing.verdicts(Path(SOURCE))
    assert not [each for of_one in found.values() for each in of_one if each.is_silent]
    stored = json.loads(tc_testing.STORED.read_text(encoding="utf-8"))
    if tc_testing.version_of(Path(SOURCE)) == stored["linux"]:
        assert tc_testing.document(found, stored["linux"]) == stored
