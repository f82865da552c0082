"""`aqmlab tune`: what is asked for, where is searched, the race, repeats and interruptions, and a known optimum."""

import json
import signal
import subprocess
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from aqmlab import Aqm, Param, Queue
from aqmlab.problems import InputError
from aqmlab.runs.store import Store
from aqmlab.runs.task import RunError
from aqmlab.runs.workers import workers
from aqmlab.scenario import load
from aqmlab.tune.goal import Objective, goals
from aqmlab.tune.memory import FinishedRun, Memory
from aqmlab.tune.plan import TunePlan, plan
from aqmlab.tune.result import PUBLISHED, TUNED, Tuned, tune
from aqmlab.tune.search import Candidate, Search
from aqmlab.tune.space import Dimension, space, with_values
from conftest import COMMAND, SMALL, Aqmlab
from sweeping import split, stored, wait_for_more

pytest.importorskip("optuna", reason="optuna is not installed")

ERROR = "min link.queue_error"


class Valley(Aqm):
    """Drops fewest packets at x = 3, and breaks down above `edge`."""

    x = Param(5.0, (0.0, 10.0))
    edge = Param(11.0, (0.0, 11.0))

    def reset(self, queue: Queue) -> None:
        self.p = abs(float(self.x) - 3) / 10  # type: ignore[arg-type]

    def on_tick(self, queue: Queue) -> None:
        if float(self.x) > float(self.edge):  # type: ignore[arg-type]
            raise RuntimeError("over the edge")

    tick = "100 ms"


def asked(scheme: Any = "pi", objectives: tuple[str, ...] = (ERROR,), **more: Any) -> TunePlan:
    """A plan in a scenario that takes no time."""
    return plan(scheme, [str(SMALL)], objectives, **{"budget": "24 runs", "seeds": 2, "held_out_seeds": 2, **more})


def document(found: Tuned) -> dict[str, Any]:
    """What must repeat."""
    return {key: value for key, value in found.document().items() if key != "engine"}


def test_goals_are_read() -> None:
    wanted, kept = goals(
        ["max flows.*.goodput; min link.queue_delay_p99; s.t. total.jain > 0.9"], ["link.queue_mean<=20"]
    )
    assert [str(each) for each in wanted] == ["max flows.*.goodput", "min link.queue_delay_p99"]
    assert [(each.pattern, each.sign, each.bound) for each in kept] == [
        ("total.jain", -1, 0.9),
        ("link.queue_mean", 1, 20.0),
    ]
    [delay] = goals([ERROR], ["link.queue_delay_p99 < 20 ms"])[1]
    assert delay.bound == 0.02
    assert delay.violation(0.03) == pytest.approx(0.5)
    assert delay.violation(0.01) == pytest.approx(-0.5)


def test_values_of_runs() -> None:
    scenario = load(str(SMALL))
    both = Objective("flows.*.goodput_*", -1)
    measured = {name: float(i) for i, name in enumerate(both.measures(scenario))}
    assert both.value(measured, scenario) == 1.0  # the mean of least, median and greatest: 0, 1, 2
    assert both.value({**measured, "flows.ftp.goodput_min": None}, scenario) is None
    assert both.value({**measured, "flows.ftp.goodput_min": float("nan")}, scenario) is None
    # A run that never settles counts as its duration; a reason of drops that never came up as 0.
    assert Objective("link.transient", 1).value({}, scenario) == 2.0
    assert Objective("link.drops.early", 1).value({}, scenario) == 0.0


def test_mean_and_cvar_by_hand() -> None:
    values = [4.0, 1.0, 8.0, 2.0, 7.0, 3.0, 5.0, 6.0]
    less, more = Objective("link.queue_mean", 1), Objective("link.queue_mean", -1)
    assert (less.over(values, "mean"), less.over(values, "cvar"), more.over(values, "cvar")) == (4.5, 7.5, 1.5)


def test_where_to_look() -> None:
    scenario = load(str(SMALL))
    a, b, w = space("pi", [scenario], None, {})
    assert (a.name, b.name, w.name) == ("a", "b", "w")
    assert (a.low, a.high, a.log) == (pytest.approx(1.822e-5 / 30), pytest.approx(1.822e-5 * 30), True)
    assert w.text(123.456789) == "123.457Hz"
    assert [each.name for each in space("pi:w=85Hz", [scenario], None, {})] == ["a", "b"]
    only, *_ = space("pi", [scenario], None, {"a": "1e-5..2e-5"})
    assert (only.low, only.high, only.log) == (1e-5, 2e-5, False)
    # A ratio ends at 1; words and the size of packets are searched only if they are named; "auto" needs a range.
    red = {each.name: each for each in space("red", [scenario], None, {})}
    assert red["max_p"].high == 1.0
    assert {"gentle", "mean_packet", "min_th"} & set(red) == set()
    [gentle] = space("red", [scenario], ["gentle"], {})
    assert gentle.choices == ("true", "false")
    # A length in packets that is written without its unit.
    [theta] = space("nrl", [scenario], ["theta1"], {})
    assert theta.text(2.5) == "2.5"
    # Whole numbers are known by what the scheme takes.
    [levels] = space("sfb", [scenario], ["levels"], {})
    assert levels.whole
    assert levels.text(4) == "4"
    assert not a.whole


def test_a_scheme_with_values() -> None:
    assert with_values("pi", {"a": "1e-5"}) == "pi:a=1e-5"
    assert with_values("pi:w=85Hz", {"a": "1e-5"}) == "pi:w=85Hz,a=1e-5"
    assert Dimension("t", "time").text(0.01234567) == "12.3457ms"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"objectives": ("min link.queue_eror",)}, ["link.queue_eror", "queue_error"]),
        ({"objectives": ("least link.queue_error",)}, ["objective", "min or max"]),
        ({"objectives": ()}, ["objective", "missing"]),
        ({"subject_to": ["total.jain about 1"]}, ["subject-to", "total.jain about 1"]),
        ({"subject_to": ["total.jain > 0.9", "total.jain < 0.8"]}, ["total.jain > 0.9", "total.jain < 0.8", "both"]),
        ({"ranges": {"a": "1e-3..1e-6"}}, ["a=1e-3..1e-6", "empty"]),
        ({"ranges": {"a": "1e-3..7"}}, ["a=1e-3..7", "0 to 1"]),
        ({"ranges": {"a": "some"}}, ["a=some", "LOW..HIGH"]),
        ({"parameters": ["alpha"]}, ["alpha", "pi has no parameter"]),
        ({"scheme": "droptail"}, ["droptail", "no parameters"]),
        ({"scheme": "pi@bottleneck"}, ["pi@bottleneck", "one scheme"]),
        ({"scheme": "pi:a=1e-5", "parameters": ["a"]}, ["a", "is set in"]),
        ({"scheme": "red", "parameters": ["min_th"]}, ["min_th", "auto", "--range"]),
        ({"budget": "10 parsecs"}, ["budget", "parsecs"]),
        ({"budget": "3 runs"}, ["budget", "3 runs", "4 runs"]),
        ({"sampler": "tep"}, ["sampler", "tep", "tpe"]),
        ({"sampler": "cma-es", "subject_to": ["total.jain > 0.9"]}, ["cma-es", "bounds"]),
        ({"sampler": "cma-es", "parameters": ["a"]}, ["cma-es", "two"]),
        ({"over": "max"}, ["over", "max"]),
        ({"held_out": [str(SMALL)]}, ["held-out", "among the scenarios"]),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        asked(**change)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("objectives", "sampler"),
    [((ERROR,), "tpe"), ((ERROR,), "cma-es"), ((ERROR, "max total.goodput"), "nsga-iii"), ((ERROR,), "random")],
)
def test_a_tune_repeats_at_any_number_of_jobs(objectives: tuple[str, ...], sampler: str) -> None:
    wanted = asked(objectives=objectives, sampler=sampler, seeds=4, budget="60 runs")
    first = document(tune(wanted, jobs=1))
    assert document(tune(wanted, jobs=2)) == first
    other = document(tune(replace(wanted, seed=2), jobs=2))
    assert [each["aqm"] for each in other["trials"]] != [each["aqm"] for each in first["trials"]]


@pytest.mark.nightly
def test_a_tune_on_other_processes_gives_the_same() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert document(tune(asked(seeds=4), executor=pool)) == document(tune(asked(seeds=4)))


def test_the_optimum_of_a_valley_is_found() -> None:
    wanted = asked(Valley, ("min link.drops.early",), parameters=["x"], ranges={"x": "0..6"}, seeds=1, budget="60 runs")
    best = tune(wanted).best
    assert best is not None
    assert abs(float(best.spec.partition("x=")[2]) - 3) < 0.3
    highest = asked(
        "red", ("max link.drops.early",), parameters=["max_p"], ranges={"max_p": "0.01..1"}, seeds=1, budget="40 runs"
    )
    found = tune(highest)
    assert found.best is not None
    assert float(found.best.spec.partition("max_p=")[2]) > 0.5


def test_candidates_that_fail_are_noted_and_count_as_the_worst() -> None:
    wanted = asked(f"{Valley.name}:edge=5", ("min link.drops.early",), ranges={"x": "0..6"}, seeds=1, budget="40 runs")
    found = tune(wanted)
    failed = [each for each in found.trials if each.failed]
    assert failed
    assert all("over the edge" in (each.failed or "") for each in failed)
    assert all(float(each.spec.partition("x=")[2]) > 5 for each in failed)
    assert found.best is not None
    assert float(found.best.spec.partition("x=")[2]) < 5


def test_a_scheme_that_always_fails_is_an_error() -> None:
    wanted = asked(f"{Valley.name}:edge=0", ("min link.drops.early",), ranges={"x": "1..10"}, seeds=1)
    with pytest.raises(RunError, match=r"every candidate failed.*over the edge"):
        tune(wanted)


def test_refused_candidates_cost_no_run() -> None:
    """A lower threshold above the upper one cannot be run."""
    wanted = asked(
        "red", parameters=[], ranges={"min_th": "10 packets..90 packets", "max_th": "20 packets..95 packets"}, seeds=1
    )
    found = tune(wanted)
    refused = [each for each in found.trials if each.failed]
    assert refused
    assert all(each.runs == 0 for each in refused)
    assert found.used == sum(each.runs for each in found.trials) + len(refused) <= 24


def test_fresh_seeds_are_none_of_the_search(tmp_path: Path) -> None:
    wanted = asked(seeds=3, held_out=[f"{SMALL}:flows.ftp.count=5"])
    found = tune(wanted, tmp_path / "out")
    assert set(wanted.fresh) & {seed for _, seed in wanted.blocks} == set()
    keys = [json.loads(key) for key in stored(tmp_path / "out")]
    assert {(scenario, seed) for scenario, _, seed in keys} == {
        *((str(SMALL), seed) for seed in (1, 2, 3, 4, 5)),
        *((f"{SMALL}:flows.ftp.count=5", seed) for seed in (4, 5)),
    }
    assert sum(seed <= 3 for _, _, seed in keys) == found.used
    assert found.rivals[0].role == PUBLISHED
    assert found.rivals[-1].role == TUNED


def race(ours: list[float], theirs: list[float]) -> float | None:
    """What a candidate is estimated at that is held against the best, whose mean is 10; None if it goes on."""
    wanted = asked(seeds=len(theirs))
    memory = Memory()
    keys = [(place.name, "best", seed) for place, seed in wanted.blocks]
    name = "links.bottleneck.queue_error"
    memory.runs.update({key: FinishedRun({name: value}) for key, value in zip(keys, theirs, strict=True)})
    with workers(None, 1) as pool:
        search = Search(wanted, memory, pool, trials=[Candidate(0, "best", (10.0,), runs=len(theirs))])
        return search._lost(ours, search.best)


def test_the_race_is_paired() -> None:
    # Seeds differ by much, the candidates by 1 under each of them: a paired test sees it after three.
    assert race([6.0, 16.1, 10.9], [5.0, 15.0, 10.0, 10.0]) == pytest.approx(11.0)
    assert race([6.0, 16.0, 11.0], [5.0, 15.0, 10.0, 10.0]) == pytest.approx(11.0)  # no scatter at all
    assert race([6.0, 13.0, 12.0], [5.0, 15.0, 10.0, 10.0]) is None  # differences 1, -2, 2
    assert race([4.0, 14.0, 9.0], [5.0, 15.0, 10.0, 10.0]) is None  # better


def test_a_race_saves_runs_and_the_best_is_judged_by_all() -> None:
    found = tune(asked(seeds=6, budget="120 runs"))
    stopped = [each for each in found.trials if each.stopped]
    assert stopped
    assert all(each.runs < 6 for each in stopped)
    assert len(found.trials) > 20
    assert found.best is not None
    assert found.best.runs == 6


def test_bounds_hold_in_each_scenario() -> None:
    places = [str(SMALL), f"{SMALL}:flows.ftp.count=3"]
    kept = ["link.queue_delay_mean < 30 ms"]
    found = tune(plan("pi", places, [ERROR], subject_to=kept, seeds=1, budget="40 runs", held_out_seeds=2))
    assert found.best is not None
    assert found.best.measured["link.queue_delay_mean < 30 ms"] < 0.03  # type: ignore[operator]
    assert any(not trial.feasible for trial in found.trials)


def test_a_bound_that_nothing_keeps_says_how_near_it_came(aqmlab: Aqmlab, tmp_path: Path) -> None:
    answer = aqmlab(
        *("tune", "pi", "--scenario", SMALL, "--objective", ERROR, "--subject-to", "link.utilisation > 1.5"),
        *("--budget", "10 runs", "--seeds", 1, "--held-out-seeds", 2, "--out", "out"),
    )
    assert answer.returncode == 2
    assert "none of 10 candidates satisfies link.utilisation > 1.5; the nearest is pi:" in answer.stderr
    assert "link.utilisation = 0.9" in answer.stderr or "link.utilisation = 1" in answer.stderr
    left = json.loads((tmp_path / "out" / "results.json").read_text())
    assert left["best"] is None
    assert len(left["trials"]) == 10


@pytest.mark.parametrize("lost", range(0, 50, 12))
def test_a_tune_goes_on_from_any_part_of_its_runs(lost: int, tmp_path: Path) -> None:
    """A crash leaves whole files, and perhaps the beginning of one under its temporary name."""
    wanted = asked(seeds=4, budget="48 runs")
    whole = document(tune(wanted, tmp_path))
    parts = split(tmp_path, 1)
    assert len(parts) > 48
    (tmp_path / "parts" / f".{parts[0].name}.part").write_bytes(parts[0].read_bytes()[:100])
    for part in parts[:lost]:
        part.unlink()
    assert document(tune(wanted, tmp_path, resume=True)) == whole
    assert len(stored(tmp_path)) == len(parts)


def test_a_killed_tune_gives_the_same_as_an_unbroken_one(tmp_path: Path) -> None:
    slow = f"{SMALL}:duration=20 s"
    command = [str(COMMAND), "tune", "pi", "--scenario", slow, "--objective", ERROR, "--budget", "48 runs"]
    command += ["--seeds", "2", "--held-out-seeds", "2", "--out", str(tmp_path / "out"), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    wait_for_more(process, tmp_path / "out", 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = Store(tmp_path / "out").results()
    assert len(before) > 2
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert before.items() <= Store(tmp_path / "out").results().items()  # engine.wall says that none was done again
    unbroken = plan("pi", [slow], [ERROR], budget="48 runs", seeds=2, held_out_seeds=2)
    found = {key: value for key, value in json.loads(done.stdout).items() if key != "engine"}
    assert found == json.loads(json.dumps(document(tune(unbroken))))


def test_a_folder_with_another_tune_is_left_alone(tmp_path: Path) -> None:
    tune(asked(), tmp_path)
    with pytest.raises(InputError, match="holds a tune already; continue with --resume"):
        tune(asked(), tmp_path)
    with pytest.raises(InputError, match="differs in seeds"):
        tune(asked(seeds=3), tmp_path, resume=True)
    with (
        pytest.raises(InputError, match="holds a tune already; choose another folder"),
        Store(tmp_path).held(resume=True),
    ):
        pytest.fail("a sweep was let in")
    longer = tune(replace(asked(), budget=replace(asked().budget, runs=40)), tmp_path, resume=True)
    assert longer.used > 24


def test_the_budget_in_seconds_ends(aqmlab: Aqmlab) -> None:
    answer = aqmlab("tune", "pi", "--scenario", SMALL, "--objective", ERROR, "--budget", "0.2 s", "--seeds", 1)
    assert answer.returncode == 0, answer.stderr
    assert "depends on this machine" in answer.stderr
    assert "--aqm pi:a=" in answer.stdout


def test_a_tune_with_its_budget_in_seconds_goes_on_and_ends(tmp_path: Path) -> None:
    wanted = asked(budget="0.3 s", seeds=1)
    first = tune(wanted, tmp_path)
    again = tune(wanted, tmp_path, resume=True)
    assert again.trials[: len(first.trials)] == first.trials


def test_the_former_name_of_the_tournament_is_refused_with_its_new_one(aqmlab: Aqmlab) -> None:
    answer = aqmlab("tune", "--study", "tuned")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "study: tuned: use --tournament; --study selects a suite of aqmlab compare" in answer.stderr


def test_the_command_leaves_a_report(aqmlab: Aqmlab, tmp_path: Path) -> None:
    options = ["--scenario", SMALL, "--objective", ERROR, "--objective", "max link.utilisation", "--budget", "48 runs"]
    answer = aqmlab("tune", "pi", *options, "--seeds", 2, "--held-out-seeds", 3, "--out", "out", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found == json.loads((tmp_path / "out" / "results.json").read_text())
    costs = [(each["values"][ERROR], -each["values"]["max link.utilisation"]) for each in found["front"]]
    assert costs == sorted(costs)
    assert not any(o[0] <= c[0] and o[1] <= c[1] for c in costs for o in costs if o != c)
    page = (tmp_path / "out" / "report.html").read_text()
    assert found["best"] in page
    for name in ("history", "slices", "front"):
        assert (tmp_path / "out" / f"{name}.svg").exists()
    assert (tmp_path / "out" / "optuna.journal").exists()
    again = aqmlab("tune", "pi", *options, "--seeds", 2, "--held-out-seeds", 3, "--out", "out", "--json", "--resume")
    assert json.loads(again.stdout)["trials"] == found["trials"]
