"""The tournament: schemes tuned alike, compared in held-out scenarios; and PI on Table 1, as the docs promise."""

import json
from math import exp
from pathlib import Path
from typing import cast

import pytest

from aqmlab.tune.plan import plan
from aqmlab.tune.result import PUBLISHED, TUNED, Rival, Tuned, tune
from aqmlab.tune.tournament import HELD_OUT, SCHEMES, TRAINING, Compared, run, sentences
from conftest import SMALL

pytest.importorskip("optuna", reason="optuna is not installed")

ELSEWHERE = [f"{SMALL}:flows.ftp.count={n}" for n in (3, 20)]


class Given:
    """A tune whose queue errors under fresh seeds are given, by role and place."""

    def __init__(self, name: str, errors: dict[str, list[float]]) -> None:
        self.plan = plan(name, [str(SMALL)], ["min link.queue_error"], held_out=ELSEWHERE)
        keys = [(place, "min link.queue_error") for place in ELSEWHERE]
        self.rivals = tuple(
            Rival(role, name, {key: [error] for key, error in zip(keys, found, strict=True)})
            for role, found in errors.items()
        )
        self.used, self.best, self.failures = 7, None, ()


def given(**errors: dict[str, list[float]]) -> Compared:
    return Compared({name: cast("Tuned", Given(name.replace("_", "-"), found)) for name, found in errors.items()})


def test_the_answer_by_hand() -> None:
    found = given(
        **{
            "pi": {PUBLISHED: [0.8, 0.4], TUNED: [0.1, 0.2]},
            "an-aqm": {PUBLISHED: [0.4, 0.2], TUNED: [0.2, 0.2]},
            "rem": {PUBLISHED: [0.9, 0.9], TUNED: [0.3, 0.3]},
        }
    )
    published, tuned = (found.ranking(role) for role in (PUBLISHED, TUNED))
    assert published is not None
    assert published.ranks == {"pi": 2.0, "an-aqm": 1.0, "rem": 3.0}
    assert tuned is not None
    assert tuned.ranks == {"pi": 1.25, "an-aqm": 1.75, "rem": 3.0}  # the second scenario is a draw
    assert exp(found.ratio("an-aqm", "pi", TUNED).mean) == pytest.approx(2**0.5)
    first, second = sentences(found)  # no other neuron
    assert first.startswith("As published, AN-AQM is better than PI")
    assert "Its queue error is 0.50 (0.50 to 0.50) times PI's" in first
    assert second.startswith("When both are tuned, AN-AQM does not differ significantly from PI")
    [pi, *_] = found.rows()
    assert pi.name == "pi"
    assert list(pi.texts) == ["2.0", "1.2", "56.6 %", "14.1 %", "7"]  # sqrt(0.8 * 0.4), sqrt(0.1 * 0.2)


def test_a_small_tournament(tmp_path: Path) -> None:
    few = {"budget": "8 runs", "training": [str(SMALL)], "held_out": ELSEWHERE}
    found = run(tmp_path, ("pi", "an-aqm", "rem"), **few)  # type: ignore[arg-type]
    assert [rival.role for rival in found.found["an-aqm"].rivals] == [PUBLISHED, TUNED]
    document = json.loads(found.json())
    assert {tuned["runs"] for tuned in document["tunes"].values()} == {8}
    assert set(document["ranks"]) == {PUBLISHED, TUNED}
    again = run(tmp_path, ("pi", "an-aqm", "rem"), resume=True, **few)  # type: ignore[arg-type]
    assert again.tuned == found.tuned
    assert again.rows() == found.rows()


def test_nothing_is_trained_with_that_is_held_out() -> None:
    assert set(TRAINING) & set(HELD_OUT) == set()
    assert len(set(SCHEMES)) == len(SCHEMES)


@pytest.mark.nightly
def test_pi_on_table_1_settles_within_five_seconds_once_tuned() -> None:
    """Its published gains take 39 s; the mean queue stays within 2 % of the target, with 250 and 750 flows too."""
    table = "li2014/table-1"
    asked = plan(
        "pi",
        [table, f"{table}:flows.ftp.count=200", f"{table}:flows.ftp.count=1000"],
        ["min link.queue_error"],
        subject_to=["link.transient < 5 s", "link.queue_mean_settled > 294", "link.queue_mean_settled < 306"],
        parameters=["a", "b"],
        budget="150 runs",
        seeds=2,
        held_out=[f"{table}:flows.ftp.count={n}" for n in (250, 750)],
    )
    found = tune(asked)
    published, *_, tuned = found.rivals
    transient, mean, _ = asked.constraints
    assert 30 < sum(published.known(asked.places[0], transient)) / 10 < 50
    for place in asked.shown_in:
        assert max(tuned.known(place, transient)) < 5
        assert sum(tuned.known(place, mean)) / 10 == pytest.approx(300, rel=0.02)
