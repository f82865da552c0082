"""Lines of tc against a kernel: it accepted ours, and what it shows of them is read as what we set.

`validation/kernel/tc_lines.jsonl` is what Linux 7.3 said and holds; validation/tc_lines.py measures it.
"""

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aqmlab import tc
from aqmlab.tc.link import Values
from aqmlab.tc.qdiscs import TABLE, UNTESTED, of_scheme
from aqmlab.tc.syntax import prepared

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))

import tc_lines

STORED = [json.loads(line) for line in tc_lines.ROWS.read_text(encoding="utf-8").splitlines()]
DIGITS = 6e-3
"""tc shows times in three digits: a share."""
SIXTEEN_BITS = {"increment", "decrement"}
"""Parameters that SFB rounds by more than that, as a note says."""
GAINS = {"alpha", "beta"}
"""Parameters that DualPI2 rounds: to less than a part in 256 of a hertz."""
MEMORY = {"cake": {10}}
"""Options of which the engine sends another number: packets there are full, so that the limit counts their memory."""


def setting(row: dict[str, Any]) -> tc.Setting:
    """What a row was made from."""
    made: tc.Setting = tc_lines.setting(row)
    return made


def attributes(options: str) -> dict[int, str]:
    """The options that the kernel holds, by their numbers, in hexadecimal."""

    def each(data: bytes) -> Iterator[tuple[int, str]]:
        while len(data) >= 4:
            length, number = struct.unpack("=HH", data[:4])
            yield number & 0x3FFF, data[4:length].hex()
            data = data[(length + 3) & ~3 :]

    return dict(each(bytes.fromhex(options)))


def test_every_kind_that_the_kernel_has_is_stored() -> None:
    assert {row["kind"] for row in STORED} == {each.kind for each in TABLE} - {*UNTESTED}


def test_the_kernel_takes_what_is_advised() -> None:
    kinds = {of_scheme(row["aqm"].partition(":")[0]).kind for row in STORED if "advised" in row}
    assert kinds >= {"codel", "pie", "fq_codel", "fq_pie", "cake", "dualpi2"}
    [shown] = [row["shown"] for row in STORED if row["aqm"] == "codel:target=30us,interval=300us"]
    assert "target 29us interval 299us" in shown  # of what a kernel counts, 1024 ns, as many as fit
    [shown] = [row["shown"] for row in STORED if row["aqm"] == "pie:target=300us,t_update=300us"]
    assert "tupdate 1ms" in shown  # a jiffy of that kernel, as the note says


def assert_shown(ours: Values, theirs: Values) -> None:
    """Hold parameters against those that are shown; of burst and weight the kernel keeps the weight."""
    for name in ours.keys() - {"burst"}:
        expected = ours[name] if isinstance(ours[name], str) else pytest.approx(ours[name], rel=DIGITS)
        assert theirs[name] == expected, name


@pytest.mark.parametrize("row", STORED, ids=lambda row: row["aqm"][:40])
def test_the_kernel_takes_the_lines_that_we_print(row: dict[str, Any]) -> None:
    assert list(tc.write(setting(row)).commands) == row["commands"]
    assert row["failed"] == []


@pytest.mark.parametrize("row", [row for row in STORED if "advised" not in row], ids=lambda row: row["aqm"][:40])
def test_what_the_kernel_shows_is_read_as_what_was_set(row: dict[str, Any]) -> None:
    asked = setting(row)
    typed, shown = tc.read("\n".join(row["commands"])).setting, tc.read(row["shown"]).setting
    theirs = prepared(tc.Setting(shown.scheme, typed.link))[1]
    named = {pair.partition("=")[0] for pair in row["aqm"].partition(":")[2].split(",")} - {""}
    rounded = SIXTEEN_BITS | (GAINS if row["kind"] == "dualpi2" else set())
    assert_shown(prepared(typed)[1], theirs)
    assert_shown({name: value for name, value in prepared(asked)[1].items() if name in named - rounded}, theirs)
    assert (shown.link.ecn, shown.link.layer) == (asked.link.ecn, asked.link.layer)
    assert shown.shaper == typed.shaper
    if asked.link.buffer:
        assert tc.Link(buffer=shown.link.buffer).bytes("") == pytest.approx(asked.link.bytes(""), abs=16)


@pytest.mark.parametrize("row", [row for row in STORED if row["options"]], ids=lambda row: row["aqm"][:40])
def test_what_the_engine_sends_is_what_the_lines_set(row: dict[str, Any]) -> None:
    assert tc_lines.sent(row) == row["options"]
    if row["kind"] in ("pfifo", "bfifo"):
        assert row["of_tc"] == row["of_netlink"]
        return
    of_tc, sent = attributes(row["of_tc"]), attributes(row["of_netlink"])
    passed_over = MEMORY.get(row["kind"], set())
    assert {number: of_tc[number] for number in of_tc.keys() - passed_over} == {
        number: sent[number] for number in sent.keys() - passed_over
    }
