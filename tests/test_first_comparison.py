"""The sentence at the end of the tutorial has the numbers that its program prints (tests/test_docs.py runs it)."""

import re

from test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "first-comparison.md"


def test_the_sentence_has_the_numbers_that_the_program_prints() -> None:
    codel = blocks(PAGE, "text")[-1].splitlines()[-1]
    numbers = re.search(r"delay -(\S+) ms \(95 % interval -(\S+) to -(\S+)\), .* \(-(\d+) to \+(\d+)\)", codel)
    assert numbers, codel
    mean, most, least, lower, higher = numbers.groups()
    sentence = " ".join(PAGE.read_text().replace("\n>", "").split())
    assert f"{mean} ms lower than DropTail's (95 % interval {least} to {most} ms; ten paired runs)" in sentence
    assert f"{lower} kbit/s lower to {higher} higher" in sentence
