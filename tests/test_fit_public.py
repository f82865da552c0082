"""Public measurements, listed in `tests/data/fit/public.toml`, with the values that other programs read in them.

The files are in a folder named by AQMLAB_PUBLIC; `tests/data/fit/README.md` says how to fetch them.
"""

import hashlib
import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aqmlab as lab
from aqmlab.fit import readers
from aqmlab.fit.measurement import Direction, Measurement

LISTED = tomllib.loads((Path(__file__).parent / "data" / "fit" / "public.toml").read_text(encoding="utf-8"))
FILES = {each["name"]: each for each in LISTED["files"]}
PUBLIC = os.environ.get("AQMLAB_PUBLIC")


def test_every_file_has_a_source_and_values() -> None:
    assert len(FILES) >= 10
    for name, each in FILES.items():
        assert name.split("/")[0] in LISTED["sources"], name
        assert len(each["sha256"]) == 64
        assert {"ping", "flow", "capture", "refused"} & {*each}, name


@pytest.mark.skipif(not PUBLIC, reason="AQMLAB_PUBLIC names no folder with the public files")
@pytest.mark.parametrize("name", FILES)
def test_a_public_file(name: str) -> None:
    path, each = Path(PUBLIC or "") / name, FILES[name]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == each["sha256"], "another file than the listed one"
    if "refused" in each:
        with pytest.raises(lab.InputError, match=each["refused"]):
            readers.read(path)
        return
    found = readers.read(path)
    assert found.digest == each["sha256"]
    for kind, check in (("ping", check_ping), ("flow", check_flow), ("capture", check_capture)):
        if kind in each:
            check(found, each[kind])


def check_ping(found: Measurement, expected: dict[str, Any]) -> None:
    """Compare answered probes, and the extremes of their round-trip times in ms."""
    (record,) = (record for record in found.delays if record.name == expected["name"])
    assert np.isfinite(record.delay).sum() == expected["answers"]
    assert np.nanmin(record.delay) * 1e3 == pytest.approx(expected["min"])
    assert np.nanmax(record.delay) * 1e3 == pytest.approx(expected["max"])


def check_flow(found: Measurement, expected: dict[str, Any]) -> None:
    """Compare the intervals of a transfer, and its highest rate in Mbit/s."""
    (flow,) = (flow for flow in found.flows if flow.name == expected["name"])
    assert len(flow.goodput.value) == expected["intervals"]
    assert flow.goodput.value.max() / 1e6 == pytest.approx(expected["max"])


def check_capture(found: Measurement, expected: dict[str, Any]) -> None:
    """Compare packets of TCP, UDP and ICMP echo; bytes and the smallest round trip in ms of the largest upload."""
    assert sum(len(log.size) for log in found.packets) == expected["packets"]
    assert found.facts["captured near"] == expected["near"]
    (up,) = (log for log in found.packets if log.direction is Direction.up)
    if "up" in expected:
        assert len(up.size) == expected["up"]
    if "bytes" in expected:
        (flow,) = (flow for flow in found.flows if flow.direction is Direction.up)
        assert up.payload[up.flow == up.flows.index(flow.name)].sum() == expected["bytes"]
        assert flow.srtt is not None
        assert flow.srtt.value.min() * 1e3 == pytest.approx(expected["rtt"], abs=1e-3)
