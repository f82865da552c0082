"""Where a scenario is wrong: line and column, counted by hand."""

import pytest

from aqmlab import Scenario
from aqmlab.problems import InputError
from aqmlab.studio import check, field

TEXT = """\
schema = 1
title = "Ten"  # a comment
duration = "2 s"

[[links]]
name = "bottleneck"
rate = "10 Mbit/s"
buffer = "100 packets"
target = "30 packets"

[[flows]]
name = "ftp"
count = 10
rtt = "20 ms"
tcp = { variant = "reno", profile = "ns2" }

[[flows]]
count = 3
name = "second"
rtt = "20 ms"

[schemes.red]
max_p = 0.1
"""


@pytest.mark.parametrize(
    ("old", "new", "field", "spot"),
    [
        ('"10 Mbit/s"', '"10 Mbi"', "links.bottleneck.rate", (7, 8, 8)),
        ('"2 s"', '"2 Mbit/s"', "duration", (3, 12, 10)),
        ('title = "Ten"', "title = 3   ", "title", (2, 9, 1)),
        ('target = "30', 'tagret = "30', "links.bottleneck.tagret", (9, 1, 6)),
        ('rate = "10 Mbit/s"\n', "", "links.bottleneck.rate", (5, 1, 9)),
        ('variant = "reno"', 'variant = "rena"', "flows.ftp.tcp.variant", (15, 19, 6)),
        ("count = 3", "count = -3", "flows.second.count", (18, 9, 2)),
        ("max_p = 0.1", "max_p = 7", "schemes.red.max_p", (23, 9, 1)),
        ("[schemes.red]\nmax_p = 0.1", "[schemes.rad]\nmax_p = 0.1", "schemes.rad", (22, 1, 13)),
        ('rtt = "20 ms"\ntcp', 'rtt = 20 ms"\ntcp', None, (14, None, None)),
        ("schema = 1", "", "schema", (1, 1, 1)),
    ],
    ids=str,
)
def test_a_problem_has_its_place(
    old: str, new: str, field: str, spot: tuple[int | None, int | None, int | None]
) -> None:
    text = TEXT.replace(old, new, 1)
    with pytest.raises(InputError) as refused:
        Scenario.parse(text, "mine")
    found = next(each for each in check.problems(refused.value) if each["field"] == field)
    assert found["message"]
    line, column, length = spot
    assert found["line"] == line
    if column is not None:
        assert (found["column"], found["length"]) == (column, length)


def test_several_problems_come_together() -> None:
    text = TEXT.replace('"10 Mbit/s"', '"10 Mbi"').replace("count = 10", "count = -1")
    with pytest.raises(InputError) as refused:
        Scenario.parse(text, "mine")
    assert [each["line"] for each in check.problems(refused.value, lane=2)] == [7, 13]
    assert {each["lane"] for each in check.problems(refused.value, lane=2)} == {2}


def test_texts_of_several_lines_are_no_code() -> None:
    text = TEXT + "\n[traces]\n'a.down' = '''\n[[links]]\nrate = 3\n1\n2\n'''\n"
    text = text.replace('"10 Mbit/s"', "{ trace = 'b.down' }")
    with pytest.raises(InputError) as refused:
        Scenario.parse(text, "mine")
    lines = {each["field"]: each["line"] for each in check.problems(refused.value)}
    assert lines["links.bottleneck.rate"] == 7


def test_an_error_about_no_field_stands_for_itself() -> None:
    [found] = check.problems(RuntimeError("Something broke: no more"))
    assert (found["field"], found["message"]) == (None, "Something broke: no more")


def test_half_of_a_character_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="half of a character"):
        field.read('{"type": "open", "text": "\\ud800"}')
    assert field.read('{"name": "\\u00e9 \\ud83d\\ude00"}') == {"name": "é 😀"}
