"""Lines of tc against a kernel: it accepted ours, and what it shows of them is read as what we set.

`validation/linux/tc_lines.jsonl` is what Linux 6.1 said; validation/tc_lines.py measures it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from aqmlab import tc
from aqmlab.tc.link import Values
from aqmlab.tc.qdiscs import TABLE, UNTESTED, of_scheme
from aqmlab.tc.syntax import prepared

ROWS = Path(__file__).parent.parent / "validation" / "linux" / "tc_lines.jsonl"
STORED = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
DIGITS = 6e-3
"""tc shows times in three digits: a share."""
SIXTEEN_BITS = {"increment", "decrement"}
"""Parameters that SFB rounds by more than that, as a note says."""


def setting(row: dict[str, Any]) -> tc.Setting:
    """What a row was made from."""
    link = tc.Link(row.get("rate"), row.get("buffer"), row.get("ecn", True))
    return tc.Setting(row["aqm"], link, row.get("shaper", False))


def test_every_kind_that_the_kernel_has_is_stored() -> None:
    stored = {of_scheme(row["aqm"].partition(":")[0]).kind for row in STORED} | {"bfifo"}
    assert stored == {each.kind for each in TABLE} - {*UNTESTED}


def test_the_kernel_takes_what_is_advised() -> None:
    kinds = {of_scheme(row["aqm"].partition(":")[0]).kind for row in STORED if "advised" in row}
    assert kinds >= {"codel", "pie", "fq_codel", "cake"}
    [shown] = [row["shown"] for row in STORED if row["aqm"] == "codel:target=30us,interval=300us"]
    assert "target 29us interval 299us" in shown  # of what a kernel counts, 1024 ns, as many as fit
    [shown] = [row["shown"] for row in STORED if row["aqm"] == "pie:target=300us,t_update=300us"]
    assert "tupdate 10ms" in shown  # a jiffy of that kernel, as the note says


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
    assert_shown(prepared(typed)[1], theirs)
    assert_shown({name: value for name, value in prepared(asked)[1].items() if name in named - SIXTEEN_BITS}, theirs)
    assert shown.link.ecn == asked.link.ecn
    assert shown.shaper == asked.shaper
    if asked.link.buffer:
        assert tc.Link(buffer=shown.link.buffer).bytes("") == pytest.approx(asked.link.bytes(""), abs=16)
