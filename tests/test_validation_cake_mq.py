"""A full queue and a stream in another under cake-mq, beside cake_mq of Linux: what each is given."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))

import cake_mq
from cake_mq import CASES, Case


def test_every_case_has_its_row() -> None:
    assert list(cake_mq.rows()) == [case.name for case in CASES]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_each_is_given_what_linux_gives_it(case: Case) -> None:
    assert cake_mq.differing(case, cake_mq.rows()[case.name]) == []
