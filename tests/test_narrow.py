"""Narrower checks: where one fails the whole claim fails."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

import pytest

from aqmlab.study.evidence import centres, decide, gather
from aqmlab.study.ledger import Claim
from aqmlab.study.narrow import _among, _places, witnesses
from aqmlab.study.paper import load_study
from aqmlab.study.readings import SeriesReading

PAPER = load_study("xiong2010")
PLACES = ("calm", "busy", "full")
NAMES = ("red", "pi", "rem", "codel")


@dataclass
class Values:
    """A value by place and scheme, under one seed; the goodput is the same everywhere."""

    numbers: dict[tuple[str, str], float]

    def values(self, places: Iterable[str], spec: str, link: str, path: str) -> dict[int, list[float | None]]:
        return {1: [5.0 if path == "total.goodput" else self.numbers[place, spec] for place in places]}

    def read(self, *_: str | SeriesReading) -> dict[int, float | None]:
        return {}

    def fails(self, claim: Claim) -> bool:
        names = [*claim.schemes, *claim.below, *claim.above]
        return decide(claim, centres(claim, gather(PAPER, claim, self, names)))[0] is False


def claim(**changes: object) -> Claim:
    plain: dict[str, object] = {"section": "1", "text": "a sentence", "value": "queue_mean", "schemes": ("red",)}
    return Claim(**{**plain, "groups": tuple((place,) for place in PLACES), **changes})  # type: ignore[arg-type]


CLAIMS = {
    "below others": claim(schemes=("red", "pi"), below=("rem", "codel")),
    "above and within": claim(schemes=("red", "pi"), within=(2, 8), above=("rem",), factor=1.2),
    "of rank 2": claim(below=("pi", "rem", "codel"), rank=2),
    "alike": claim(schemes=NAMES, alike=1.5),
    "up to a factor": claim(above=("pi",), up_to=1.5),
    "rises": claim(schemes=("red", "pi"), trend="rises"),
    "falls by a factor": claim(trend="falls", factor=1.3),
    "steady": claim(schemes=("red", "pi"), steady=1.5),
    "in most places": claim(schemes=("red", "pi"), below=("rem",), most=True),
    "on average": claim(groups=(("calm", "busy"), ("full",)), average=True, within=(3, 8)),
    "a distance": claim(target=5.0, below=("pi", "rem")),
    "a share": claim(per="total.goodput", schemes=("red", "pi"), within=(0.5, 2)),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_fails_where_a_narrower_one_does(name: str) -> None:
    whole, random, failed = CLAIMS[name], Random(name), 0
    for _ in range(200):
        values = Values({(place, spec): random.uniform(1, 10) for place in PLACES for spec in NAMES})
        narrow = [each for places in _places(whole) for each in _among(replace(whole, groups=places))]
        if any(map(values.fails, narrow)):
            failed += 1
            assert values.fails(whole)
        assert bool(witnesses(whole, values.fails, lambda _: 1, 3)) == any(map(values.fails, narrow))
    assert failed


def test_a_witness_is_one_scheme_against_one_in_one_place_the_cheapest_first() -> None:
    numbers = {(place, spec): 5.0 for place in PLACES for spec in NAMES}
    numbers |= {("busy", "pi"): 7.0, ("full", "pi"): 8.0, ("full", "codel"): 3.0}
    values = Values(
        numbers | {(place, "rem"): 9.0 for place in PLACES} | {("calm", "codel"): 9.0, ("busy", "codel"): 6.0}
    )
    whole = claim(schemes=("red", "pi"), below=("rem", "codel"), control=("droptail",))
    costs = {"calm": 1, "full": 2, "busy": 3}
    found = witnesses(whole, values.fails, lambda each: costs[each.scenarios[0]], 2)
    assert [(each.scenarios, each.below, each.control) for each in found] == [
        (("full",), ("codel",), ()),
        (("busy",), ("codel",), ()),
    ]
    assert found[1].schemes == ("pi",)
    assert witnesses(claim(within=(0, 100)), values.fails, lambda _: 1, 3) == []
