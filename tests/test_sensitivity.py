"""Whose failure a sentence is: what moves its verdict, and what does not."""

import json
from dataclasses import replace
from math import inf

import pytest

import aqmlab
from aqmlab.study import sensitivity as module
from aqmlab.study.claims import Checked
from aqmlab.study.ledger import Claim
from aqmlab.study.paper import load_study
from aqmlab.study.sensitivity import VARIATIONS, Sensitivity, _banded, _flows, _longer, digest, stored, whose

XIONG = load_study("xiong2010")


def claim(**changes: object) -> Claim:
    plain: dict[str, object] = {
        "section": "1",
        "text": "a sentence",
        "groups": (("xiong2010/section-4.1",),),
        "value": "queue_mean",
        "schemes": ("RED",),
        "control": ("droptail",),
        "worded": ("within",),
    }
    return Claim(**{**plain, **changes})  # type: ignore[arg-type]


CLAIMS = {
    "just outside": claim(schemes=("Adaptive-RED",), within=(48.5, 52.5)),
    "far outside": claim(within=(0, 20), worded=()),
    "low, for any queue": claim(within=(0, 50)),
    "reconstructed": claim(schemes=("npd-red",), within=(0, 20), worded=()),
    "holds": claim(schemes=("Adaptive-RED",), within=(45, 55)),
}
"""Adaptive-RED's queue is 47 packets there, RED's and Drop-Tail's 60, of a buffer of 75."""


@pytest.fixture(scope="module")
def found() -> Sensitivity:
    patch = pytest.MonkeyPatch()
    paper = replace(XIONG, claims=[replace(each, text=text) for text, each in CLAIMS.items()])
    patch.setattr(module, "load_study", lambda _: paper)
    try:
        return aqmlab.sensitivity("xiong2010", seeds=1)
    finally:
        patch.undo()


def tried(found: Sensitivity, text: str) -> dict[str, str]:
    [varied] = [each for each in found.varied if each.text == text]
    return {each.variation: each.verdict for each in varied.tried}


def test_the_sentences_that_fail_are_varied(found: Sensitivity) -> None:
    assert {each.text: each.whose for each in found.varied} == {
        "just outside": "ours",
        "far outside": "the paper's",
        "low, for any queue": "the paper's",
        "reconstructed": "unknown",
    }
    assert found.counts == {"ours": 1, "the paper's": 2, "unknown": 1}


def test_it_stops_where_the_verdict_moves(found: Sensitivity) -> None:
    assert tried(found, "just outside") == {"half the band": "fails", "twice the band": "holds"}


def test_a_sentence_that_nothing_moves_has_all_that_applies(found: Sensitivity) -> None:
    runs = ["the second half of the run", "runs 1.5 times as long", "a fifth fewer flows", "a fifth more flows"]
    assert tried(found, "far outside") == dict.fromkeys(runs, "fails")


def test_a_band_in_which_any_queue_is_moves_nothing(found: Sensitivity) -> None:
    """0 to 100 packets is wider than the buffer."""
    assert tried(found, "low, for any queue")["twice the band"] == "weak"


def test_its_json_has_each_sentence_and_what_was_tried(found: Sensitivity) -> None:
    document = json.loads(found.json())
    assert (document["schema"], document["study"], document["seeds"]) == (1, "xiong2010", 1)
    assert document["sentences"][0]["tried"][1] == {"variation": "twice the band", "of": "band", "verdict": "holds"}


def test_an_unknown_study_is_refused() -> None:
    with pytest.raises(aqmlab.InputError, match=r"li2013.*li2014"):
        aqmlab.sensitivity("li2013")


def banded(by: float, **changes: object) -> Claim:
    varied = _banded(by)(claim(**changes))
    assert varied
    return varied


def test_a_band_is_halved_and_doubled() -> None:
    assert banded(2, within=(45, 55)).within == (40, 60)
    assert banded(0.5, within=(0, 10)).within == (0, 5)
    assert banded(2, within=(180, inf)).within == (360, inf)
    assert banded(2, within=(0.98, 1.0)).within == pytest.approx((0.96, 1.0))
    assert banded(2, within=(0, 0.95)).within == pytest.approx((0, 0.9)), "a share near 1: its distance from 1"
    assert banded(0.5, within=None, factor=2, worded=("factor",)).factor == 1.5
    assert banded(2, value="transient", within=(0, 10), worded=()).band == 10, "10 % of the target of 50, doubled"
    assert _banded(2)(claim(within=(45, 55), worded=())) is None, "the sentence's own number"


def test_runs_get_longer_and_flows_fewer() -> None:
    scenario = aqmlab.load("xiong2010/table-4")
    assert _longer(scenario).duration == 300
    assert flows(scenario) == [50]
    assert flows(_flows(0.8)(scenario)) == [40]
    assert flows(_flows(1.2)(aqmlab.load("jafar/case-2-up"))) == [240] + 8 * [120]


def flows(scenario: aqmlab.Scenario) -> list[int]:
    return [each["count"] for group in scenario.resolved()["flows"] for each in group["groups"]]


def test_what_a_paper_leaves_open_is_ours_and_what_it_states_is_not_known() -> None:
    fails = Checked(claim(within=(0, 1)), "fails")
    for unstated, expected in (((), "unknown"), (("flows",), "ours")):
        moved = [module.Tried("a fifth more flows", "flows", "holds")]
        assert module._whose(replace(XIONG, unstated=unstated), fails, moved) == expected
    assert module._whose(XIONG, fails, []) == "unknown", "nothing was varied"
    assert module._whose(XIONG, replace(fails, printed=False), []) == "the paper's"


def test_what_is_stored_is_of_this_very_check() -> None:
    asked = claim(within=(0, 1))
    varied = module.Varied("1", "a sentence", digest(asked), "ours", [module.Tried("twice the band", "band", "holds")])
    known = {varied.check: varied}
    assert whose(Checked(asked, "fails"), known) == "ours (holds with twice the band)"
    assert whose(Checked(replace(asked, text="other words"), "fails"), known) == "ours (holds with twice the band)"
    assert whose(Checked(replace(asked, within=(0, 2)), "fails"), known) == "unknown"


@pytest.mark.parametrize("name", aqmlab.studies())
def test_what_is_stored_can_be_read(name: str) -> None:
    variations = {each.name: each.of for each in VARIATIONS}
    for varied in stored(name).values():
        assert varied.whose in module.WHOSE
        assert [each for each in varied.tried if variations.get(each.variation) != each.of] == []
