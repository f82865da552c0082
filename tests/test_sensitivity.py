"""Whose failure a sentence is: what moves its verdict, and what does not."""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

import aqmlab
from aqmlab.runs.executor import do_all
from aqmlab.runs.task import Task
from aqmlab.study import run_cache
from aqmlab.study import sensitivity as module
from aqmlab.study.claims import Checked
from aqmlab.study.judge import VariedCheck
from aqmlab.study.ledger import Alternative, Claim, _with_alternatives
from aqmlab.study.measured import measure, original, place_of, scenario_of
from aqmlab.study.paper import load_study
from aqmlab.study.readings import SeriesReading
from aqmlab.study.run_cache import RunCache, condition
from aqmlab.study.sensitivity import Attempt, Sensitivity, digest, stored, whose
from aqmlab.study.variations import VARIATIONS, _banded, _flows, _longer, _marks, constants

XIONG = load_study("xiong2010")
LI = load_study("li2014")


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


SHORT = "xiong2010/section-4.1 with links.bottleneck.buffer=15 packets; links.bottleneck.target=9 packets"

CLAIMS = {
    "just outside": claim(schemes=("Adaptive-RED",), within=(48.5, 52.5)),
    "far outside": claim(within=(0, 20), worded=()),
    "low, for any queue": claim(within=(0, 50)),
    "reconstructed": claim(schemes=("pd-red",), within=(0, 20), worded=()),
    "holds": claim(schemes=("Adaptive-RED",), within=(45, 55)),
    "read otherwise": claim(
        within=(0, 20),
        alternatives=(
            Alternative("of a buffer of 15 packets", claim(groups=((SHORT,),), within=(0, 20), control=())),
            Alternative("of two", claim(within=(0, 20), schemes=("RED", "Adaptive-RED"))),
        ),
    ),
}
"""Adaptive-RED's queue is 47 packets there, RED's and Drop-Tail's 60, of a buffer of 75."""


KEPT = "kept.jsonl"


def vary(folder: Path, *, whole: bool = True) -> Sensitivity:
    patch = pytest.MonkeyPatch()
    paper = replace(XIONG, claims=[replace(each, text=text) for text, each in CLAIMS.items()])
    patch.setattr(module, "load_study", lambda _: paper)
    try:
        return aqmlab.sensitivity("xiong2010", seeds=1, file=folder / KEPT, whole=whole)
    finally:
        patch.undo()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("varied")


@pytest.fixture(scope="module")
def found(folder: Path) -> Sensitivity:
    return vary(folder)


def tried(found: Sensitivity, text: str) -> dict[str, str]:
    [varied] = [each for each in found.varied if each.text == text]
    return {each.variation: each.verdict for each in varied.tried}


def test_the_sentences_that_fail_are_varied(found: Sensitivity) -> None:
    assert {each.text: each.whose for each in found.varied} == {
        "just outside": "ours",
        "far outside": "the paper's",
        "low, for any queue": "the paper's",
        "reconstructed": "unknown",
        "read otherwise": "ours",
    }
    assert found.counts == {"ours": 2, "the paper's": 2, "unknown": 1}


def test_a_sentence_has_all_that_applies_and_no_change_that_changes_nothing(found: Sensitivity) -> None:
    """The packets of these scenarios are dropped already."""
    bands = {"half the band": "fails", "twice the band": "holds"}
    assert bands.items() <= tried(found, "just outside").items()
    assert tried(found, "just outside").keys() == {*bands, *tried(found, "far outside")}
    runs = ["the second half of the run", "runs 1.5 times as long", "a fifth fewer flows", "a fifth more flows"]
    runs += ["a third of the flows", "three times the flows", "packets marked"]
    assert tried(found, "far outside") == dict.fromkeys(runs, "fails")


def test_a_reading_that_holds_saves_the_other_runs(found: Sensitivity, folder: Path) -> None:
    brief = vary(folder, whole=False)
    assert brief.counts == found.counts
    assert tried(brief, "just outside").keys() == {"half the band", "twice the band", "the second half of the run"}
    assert tried(brief, "far outside") == tried(found, "far outside")


def test_a_band_in_which_any_queue_is_moves_nothing(found: Sensitivity) -> None:
    """0 to 100 packets is wider than the buffer."""
    assert tried(found, "low, for any queue")["twice the band"] == "weak"


def test_each_reading_that_the_text_allows_has_its_verdict(found: Sensitivity) -> None:
    assert {"of a buffer of 15 packets": "holds", "of two": "fails"}.items() <= tried(found, "read otherwise").items()


def test_a_session_that_was_killed_does_no_run_again(
    found: Sensitivity, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, *runs = (folder / KEPT).read_text().splitlines()
    assert len({json.dumps(json.loads(run)[:3]) for run in runs}) == len(runs), "each run once"
    (folder / KEPT).write_text("\n".join([head, *runs[:-3], runs[-3][:40]]))
    done: list[Task] = []

    def do(tasks: Sequence[Task], *more: Any) -> None:
        done.extend(tasks)
        do_all(tasks, *more)

    monkeypatch.setattr("aqmlab.study.run_cache.do_all", do)
    assert vary(folder).varied == found.varied
    assert len(done) == 3
    assert vary(folder).varied == found.varied
    assert len(done) == 3
    assert sorted((folder / KEPT).read_text().splitlines()[1:]) == sorted(runs)


def test_runs_of_another_version_are_done_again(tmp_path: Path) -> None:
    file = tmp_path / KEPT
    file.write_text('{"schema": 1, "version": "0.0.1"}\n["1234", "red", 1, {}, 7]\n')
    assert RunCache.of(file).found == {}
    assert file.read_text() == "".join(f"{line}\n" for line in [run_cache._head()])


def test_equal_readings_have_one_name() -> None:
    """A set keeps one of them, and a band is 5 in a ledger and 5.0 if it follows from a target."""
    whole, real = SeriesReading("share", 0, 9, 5, (1, 2)), SeriesReading("share", 0.0, 9.0, 5.0, (1.0, 2.0))
    assert whole == real
    assert run_cache._name("up", whole) == run_cache._name("up", real) == "up: share from 0.0 to 9.0, 5.0, (1.0, 2.0)"
    assert run_cache._name("up", replace(whole, band=None, between=None)) == "up: share from 0.0 to 9.0, None, None"


def test_one_condition_has_one_digest_whatever_it_is_called() -> None:
    plain = scenario_of("xiong2010/table-4")
    same = [scenario_of("xiong2010/section-4.1"), _marks(False)(plain), _flows(1)(plain)]
    assert {condition(each) for each in same} == {condition(plain)}
    others = [_marks(True)(plain), _flows(0.8)(plain), _longer(plain)]
    others += [scenario_of(f"xiong2010/table-4 with schemes.red.{value}") for value in ("max_p=0.02", "gentle=false")]
    assert len({condition(each) for each in (plain, *others)}) == 6


def test_an_alternative_replaces_keys_and_drops_those_that_are_false() -> None:
    entry = {"below": "all", "within": [1, 2], "alternatives": [{"name": "other", "within": False, "value": "x"}]}
    made = _with_alternatives(entry, lambda entry: claim(why=repr(entry)))
    assert made.why == repr({"below": "all", "within": [1, 2]})
    [other] = made.alternatives
    assert (other.name, other.claim.why) == ("other", repr({"below": "all", "value": "x"}))


def test_a_place_may_have_settings() -> None:
    place = "li2014/table-16 with links.a-b.rate=15 Mbit/s; duration=9 s"
    scenario = scenario_of(place)
    assert (scenario.link("a-b").rate, scenario.duration) == (15e6, 9)
    assert place_of(scenario) == place
    assert original(place) == place.replace("table-16", "table-15")
    assert _longer(scenario).link("a-b").rate == 15e6, "what is varied keeps the settings"


def test_every_seed_of_a_place_with_settings_has_its_series() -> None:
    for place in (SHORT.partition(" with ")[0], SHORT):
        runs = measure({place: ["droptail"]}, [place], seeds=2, jobs=None, progress=None)
        found = runs.read(place, "droptail", "bottleneck", SeriesReading("queue_mean", 0, inf))
        assert list(found) == [1, 2]


def test_packets_are_marked_or_dropped() -> None:
    scenario = _marks(True)(aqmlab.load("jafar/case-1-100"))
    assert [each["ecn"] for each in scenario.resolved()["flows"]] == [True]
    assert [each["ecn"] for each in _marks(False)(scenario).resolved()["flows"]] == [False]
    marking = scenario_of("jafar/case-1-100 with flows.ftp.ecn=true; flows.ftp.count=30")
    assert flows(_flows(1 / 3)(marking)) == [10]
    assert [each["ecn"] for each in _marks(False)(marking).resolved()["flows"]] == [False]


def test_a_constant_that_is_open_takes_the_place_of_the_scheme() -> None:
    [variation] = constants(replace(XIONG, open={"PI-RED": ["pi:w=10000Hz"]}))
    assert (variation.name, variation.of) == ("pi:w=10000Hz for PI-RED", "constant")
    changed = variation.check(claim(schemes=("RED",), below=("PI-RED", "PD-RED")))
    assert changed
    assert (changed.schemes, changed.below) == (("RED",), ("pi:w=10000Hz", "PD-RED"))
    assert variation.check(claim()) is None


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
    fails = claim(within=(0, 1))
    for unstated, expected in (((), "unknown"), (("flows",), "ours")):
        paper = replace(XIONG, unstated=unstated)
        assert module._whose(paper, fails, {"flows"}, is_tried=True) == expected
    assert module._whose(XIONG, fails, set(), is_tried=False) == "unknown", "nothing was varied"


def test_a_reconstruction_whose_open_values_are_all_varied_is_as_published() -> None:
    fails = claim(groups=(("xiong2010/section-4.2",),), schemes=("NPD-RED",), within=(0, 1))
    for exhausted, expected in (((), "unknown"), (("NPD-RED",), "the paper's")):
        paper = replace(XIONG, exhausted=exhausted)
        assert module._whose(paper, fails, set(), is_tried=True) == expected


LOWEST = next(each for each in LI.claims if each.text.startswith("PI has the lowest drop ratio at 15 Mbit/s"))
"""Table 5 of Li et al. prints less drops for ARED than for PI."""


def test_what_a_paper_s_tables_contradict_is_ours_where_its_text_allows_another_reading() -> None:
    [other] = [Attempt(each.name, "reading", VariedCheck(each.claim)) for each in LOWEST.alternatives]
    assert whose_of(LOWEST) == "the paper's"
    assert whose_of(LOWEST, other) == "ours"
    assert whose_of(LOWEST, Attempt("longer", "length", VariedCheck(LOWEST))) == "the paper's"
    assert whose_of(LOWEST, Attempt("the same, in a band", "band", VariedCheck(LOWEST))) == "the paper's", (
        "as printed, too"
    )
    found = Checked(LOWEST, "fails", printed=False)
    assert whose(found, {}) == "the paper's (its own tables contradict the sentence)"
    varied = module.Varied("3.3", "PI", digest(LOWEST), "ours", [module.Tried("another set", "reading", "holds")])
    assert whose(found, {varied.check: varied}) == "ours (holds: another set)"


def test_what_another_part_of_the_paper_contradicts_is_ours_by_an_alternative_only() -> None:
    other = claim(within=(0, 2))
    said = claim(within=(0, 1), contradicted="section 2", alternatives=(Alternative("otherwise", other),))
    assert whose_of(said, Attempt("twice the band", "band", VariedCheck(other))) == "the paper's"
    assert whose_of(said, Attempt("otherwise", "reading", VariedCheck(other))) == "ours"
    varied = module.Varied("1", "it", digest(said), "the paper's", [module.Tried("half the band", "band", "fails")])
    assert whose(Checked(said, "fails"), {varied.check: varied}) == (
        "the paper's (section 2 contradicts the sentence; fails: half the band)"
    )


def whose_of(claim: Claim, *holding: Attempt) -> str:
    return module._varied(LI, claim, [(attempt, "holds") for attempt in holding]).whose


def test_what_is_stored_is_of_this_very_check() -> None:
    asked = claim(within=(0, 1))
    varied = module.Varied("1", "a sentence", digest(asked), "ours", [module.Tried("twice the band", "band", "holds")])
    known = {varied.check: varied}
    assert whose(Checked(asked, "fails"), known) == "ours (holds: twice the band)"
    assert whose(Checked(replace(asked, text="other words"), "fails"), known) == "ours (holds: twice the band)"
    assert whose(Checked(replace(asked, within=(0, 2)), "fails"), known) == "unknown"
    assert whose(Checked(replace(asked, median=True), "fails"), known) == "unknown"


@pytest.mark.parametrize("name", aqmlab.studies())
def test_what_is_stored_can_be_read(name: str) -> None:
    study = load_study(name)
    variations = {each.name: each.of for each in (*VARIATIONS, *constants(study))}
    variations |= {other.name: "reading" for each in study.claims for other in each.alternatives}
    for varied in stored(name).values():
        assert varied.whose in module.WHOSE
        assert [each for each in varied.tried if variations.get(each.variation) != each.of] == []
