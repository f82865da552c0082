"""`aqmlab break`: documents, spaces, scores, and a search that finds, shrinks, repeats and continues."""

import json
import random
import signal
import subprocess
from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aqmlab import quantities
from aqmlab._core import Scenario, read_toml
from aqmlab.problems import InputError
from aqmlab.worst import spaces
from aqmlab.worst.document import Document, get, leaves, named, put, written
from aqmlab.worst.plan import OTHER_STREAM, WorstPlan, plan
from aqmlab.worst.region import Extent, likelihood
from aqmlab.worst.result import Worst, find_worst
from aqmlab.worst.score import OF_SCHEMES, criteria, regrets
from aqmlab.worst.shrink import _smaller
from aqmlab.worst.spaces import Range, read
from aqmlab.worst.words import setting
from conftest import COMMAND, SMALL, Aqmlab
from sweeping import wait_for_more

pytest.importorskip("cmaes", reason="cmaes is not installed")

SPACE = """
schema = 1
duration = "2 s"
warmup = "0.5 s"

[[links]]
name = "link"
rate = { from = "2 Mbit/s", to = "8 Mbit/s", scale = "log" }
buffer = "200 packets"

[[flows]]
name = "main"
count = { from = 1, to = 4 }
rtt = { from = "10 ms", to = "40 ms" }
start_spread = 1
tcp = "linux"

[[flows]]
name = "datagrams"
odds = 0.5
kind = "udp-cbr"
rate = { from = 0.05, to = 0.2, of = "links.link.rate" }
rtt = "20 ms"
"""
"""A space whose runs take a few milliseconds."""
SLOW = "codel:target=100ms,interval=1s"
"""A target that keeps a queue of 100 ms, where CoDel keeps one of 5 ms."""
RUNS = "500 runs"


@pytest.fixture
def space(tmp_path: Path) -> str:
    path = tmp_path / "space.toml"
    path.write_text(SPACE, encoding="utf-8")
    return str(path)


def asked(space: str, target: str = SLOW, **more: Any) -> WorstPlan:
    return plan(target, **{"space": [space], "against": ["codel"], "by": ["delay"], "budget": RUNS, **more})


def repeated(found: Worst) -> dict[str, Any]:
    """What must repeat."""
    return {key: value for key, value in found.document().items() if key != "engine"}


def test_documents_are_written_as_they_are_read() -> None:
    document = read_toml(SMALL.read_text(encoding="utf-8"), "small")
    again = read_toml(written(document), "again")
    assert again == document
    assert Scenario.parse(written(document), "again").duration == Scenario.parse(SMALL.read_text(), "small").duration


def test_values_are_found_replaced_and_left_out_by_path() -> None:
    document = {"links": [{"name": "a"}, {"name": "b", "rate": "1 Mbit/s"}]}
    path = ("links", 1, "rate")
    assert (get(document, path), named(document, path)) == ("1 Mbit/s", "links.b.rate")
    assert get(document, ("links", 2, "rate")) is None
    changed = put(document, path, "2 Mbit/s")
    assert (get(changed, path), get(document, path)) == ("2 Mbit/s", "1 Mbit/s")
    without = put(document, ("links", 0), None)
    assert written(without) == '\n[[links]]\nname = "b"\nrate = "1 Mbit/s"\n'
    assert named(without, path) == "links.b.rate", "positions stay"
    assert [path for path, _ in leaves(without)] == [("links",), ("links", 1), ("links", 1, "name"), path]


def test_ranges_are_linear_or_logarithmic() -> None:
    linear = Range((), 10.0, 30.0, "ms", log=False, whole=False)
    assert [linear.at(part) for part in (0, 0.5, 1)] == [10.0, 20.0, 30.0]
    logarithmic = Range((), 1.0, 100.0, "Mbit/s", log=True, whole=False)
    assert [round(logarithmic.at(part), 9) for part in (0, 0.5, 1)] == [1.0, 10.0, 100.0]
    assert (logarithmic.text(2.3456), logarithmic.text(40.0)) == ("2.35 Mbit/s", "40 Mbit/s")
    count = Range((), 1, 8, "", log=False, whole=True)
    assert (count.text(0.2), count.text(3.6)) == (1, 4)


@given(st.floats(0, 1), st.booleans())
def test_a_position_is_found_again(part: float, is_log: bool) -> None:
    span = Range((), 0.5, 80.0, "ms", log=is_log, whole=False)
    assert span.position(span.at(part)) == pytest.approx(part, abs=1e-9)


def test_a_draw_has_the_parts_that_are_there(space: str) -> None:
    found = read([space])
    drawn = [found.scenario(found.draw(random.Random(i))) for i in range(200)]
    with_datagrams = [each for each in drawn if each["flows"][1] is not None]
    assert 70 < len(with_datagrams) < 130
    for each in with_datagrams:
        link, datagrams = each["links"][0], each["flows"][1]
        share = quantities.quantity(datagrams["rate"]) / quantities.quantity(link["rate"])
        assert 0.0495 < share < 0.202, "of rounded numbers"
        assert "odds" not in datagrams


def _refused(document: Document) -> str:
    try:
        Scenario.parse(written(document), "drawn")
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", spaces.BUILT_IN)
def test_built_in_spaces_are_scenarios_with_the_link(name: str) -> None:
    found = read(["link", name])
    drawn = [found.scenario(found.draw(random.Random(f"{name}-{i}"))) for i in range(40)]
    refused = [reason for each in drawn if (reason := _refused(each))]
    assert all("reorder" in reason for reason in refused), "the only part that needs another"
    assert len(refused) < 5


def test_a_scenario_is_a_space_around_its_numbers() -> None:
    found = read([], around=str(SMALL))
    known = {name: (each.low, each.high, each.unit) for name, each in found.by_name.items()}
    assert known
    document = read_toml(SMALL.read_text(encoding="utf-8"), "small")
    for name, (low, high, unit) in known.items():
        path = found.by_name[name].path
        value = get(document, path)
        if unit:
            assert high == pytest.approx(16 * low)
            assert str(value).endswith(unit)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('rate = { from = "8 Mbit/s", to = "2 Mbit/s" }', "links.link.rate: 8 Mbit/s to 2 Mbit/s: is empty"),
        ('rate = { from = "8 Mbit/s", to = "2 s" }', "expected two numbers in one unit"),
        ('rate = { from = "1 Mbit/s", to = "2 Mbit/s", scale = "lag" }', 'unknown scale "lag"'),
        ('rate = { from = 0.1, to = 2, of = "links.link.buffr" }', "did you mean"),
        ('rate = { from = "1 Mbit/s", till = "2 Mbit/s" }', 'unknown key "till"'),
        ("rate = { any = [] }", "expected a list of values"),
        ('rate = { any = ["1 Mbit/s"], odds = 2 }', "expected a probability"),
        ('rate = "1 Mbit/s"', "nothing varies"),
    ],
)
def test_a_bad_space_is_rejected_by_name(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        f'schema = 1\n[[links]]\nname = "link"\nbuffer = "9 packets"\n{text}\n[[flows]]\nname = "main"\nrtt = "9 ms"\n'
    )
    with pytest.raises(InputError, match="space") as error:
        read([str(path)])
    assert told in str(error.value)


def test_regret_is_a_ratio_above_a_floor() -> None:
    delay, utilisation, *_ = OF_SCHEMES
    # (95 + 5) / (5 + 5) ms = 10; (0.95 + 0.05) / (0.45 + 0.05) = 2.
    assert exp(delay.regret(0.095, 0.005, 0.005)) == pytest.approx(10)
    assert exp(utilisation.regret(0.45, 0.95, 0.05)) == pytest.approx(2)
    # 1 ms against 0.1 ms is below the floor: 6 / 5.1.
    assert exp(delay.regret(0.001, 0.0001, 0.005)) == pytest.approx(6 / 5.1)


def test_the_best_peer_is_the_best_on_average() -> None:
    delay = OF_SCHEMES[0]
    peers = {"a": [0.015, 0.015], "b": [0.005, 0.095]}
    found = regrets(delay, [0.035, 0.035], peers, 0.005)
    assert found is not None
    assert (found.best, found.target, found.peers["b"]) == ("a", 0.035, pytest.approx(0.05))
    assert found.mean == pytest.approx(2)
    assert found.interval == pytest.approx((2, 2))
    assert found.holds()
    assert regrets(delay, [0.035, None], peers, 0.005) is None
    better = regrets(delay, [0.005], {"a": [0.015]}, 0.005)
    assert better is not None
    assert (better.mean, better.holds()) == (pytest.approx(0.5), False)
    other = regrets(delay, [0.005], {"a": [0.015]}, 0.005, either_way=True)
    assert other is not None
    assert other.mean == pytest.approx(2)


def test_measures_are_named_or_rejected() -> None:
    [delay, failed] = criteria(["delay"], OF_SCHEMES)
    assert (delay.measure, failed.name) == ("link.queue_delay_p99", "failed")
    [queue, _] = criteria(["queue_delay_mean"], OF_SCHEMES)
    assert (queue.measure, queue.sign) == ("link.queue_delay_mean", 1)
    with pytest.raises(InputError, match='no measure "dely"'):
        criteria(["dely"], OF_SCHEMES)
    with pytest.raises(InputError, match="neither more nor less"):
        criteria(["link.arrived"], OF_SCHEMES)


def test_a_target_is_a_scheme_or_a_controller() -> None:
    scheme, controller = plan("pie"), plan("bbr")
    assert [each.name for each in scheme.peers] == ["codel", "fq-codel"]
    assert [each.name for each in controller.peers] == ["reno", "cubic"]
    document = controller.space.scenario(controller.space.draw(random.Random(1)))
    assert document["flows"][0]["tcp"] == {"profile": "linux", "congestion_control": None}
    assert controller.target.overrides(document) == [("flows.main.tcp.congestion_control", "bbr")]
    assert scheme.space.scenario(scheme.space.draw(random.Random(1)))["links"][0]["aqm"] is None
    assert document["links"][0]["aqm"] is not None


def test_a_target_against_itself_has_other_random_numbers() -> None:
    [peer] = plan("codel", against=["codel"]).peers
    assert peer.shift == OTHER_STREAM


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target": "codle"}, 'did you mean "codel"'),
        ({"against": ["bbr"]}, "is a controller"),
        ({"against": ["pie"], "between": ["red"]}, "cannot be combined"),
        ({"between": ["red", "pie"]}, "expected sim,linux"),
        ({"space": ["lnik"]}, 'did you mean "link"'),
        ({"space": ["losses"]}, "has no links or no flows"),
        ({"budget": "soon"}, "write a number of runs or a time"),
        ({"budget": "20 runs"}, "at least"),
        ({"around": "nowhere/at-all"}, "no built-in scenario and no file"),
    ],
)
def test_a_bad_search_is_rejected_by_name(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as error:
        plan(**{"target": "codel", **options})
    assert told in str(error.value)


def test_a_space_that_contradicts_itself_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(SPACE.replace('warmup = "0.5 s"', 'warmup = "5 s"'), encoding="utf-8")
    with pytest.raises(InputError, match="none of 200 scenarios can run; warmup"):
        find_worst(asked(str(path)))


def test_smaller_documents_have_fewer_parts_or_digits() -> None:
    document = {
        "duration": "3 s",
        "links": [{"name": "link", "rate": "2.34 Mbit/s"}],
        "flows": [{"name": "main", "count": 5, "rtt": "40 ms"}],
    }
    smaller = [written(each) for each in _smaller(document)]
    whole = written(document)
    assert any("flows" not in each for each in smaller)
    assert whole.replace("count = 5\n", "") in smaller
    assert [whole.replace("count = 5", f"count = {fewer}") in smaller for fewer in (1, 2, 3)] == [True, True, False]
    assert whole.replace("3 s", "1.5 s") in smaller
    assert whole.replace("2.34 Mbit/s", "2 Mbit/s") in smaller


def test_likelihood_is_the_product_of_its_parts(space: str) -> None:
    found = read([space])
    document = found.scenario(found.draw(random.Random(1)))
    extents = [
        Extent("links.link.rate", "", "", 0.5, False, False),
        Extent("flows.main.rtt", "", "", 0.2, False, False),
    ]
    there = 1.0 if document["flows"][1] is None else 0.5
    assert likelihood(found, document, extents) == pytest.approx(0.1 * there)


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Worst:
    path = tmp_path_factory.mktemp("space") / "space.toml"
    path.write_text(SPACE, encoding="utf-8")
    return find_worst(asked(str(path)), jobs=1)


def test_a_search_finds_confirms_and_shrinks(search: Worst) -> None:
    finding = search.finding
    assert finding is not None
    assert finding.regret.n == 10
    assert finding.regret.holds()
    assert finding.regret.mean > 3
    assert len(written(finding.document)) < len(finding.found)
    assert search.sentence.startswith("The 99th percentile of the queueing delay is ")
    assert " under CoDel (target=100ms,interval=1s) and " in search.sentence
    document = json.loads(search.json())
    assert document["measure"] == "link.queue_delay_p99"
    assert document["best_peer"]["name"] == "codel"
    assert Scenario.parse(document["scenario"], "worst").links == ["link"]


def test_a_search_is_the_same_with_more_jobs(search: Worst) -> None:
    assert repeated(find_worst(search.plan, jobs=3)) == repeated(search)


def test_the_budget_is_kept(search: Worst) -> None:
    assert search.used < 1.6 * 500


def test_a_killed_search_continues_to_the_same_finding(search: Worst, tmp_path: Path, space: str) -> None:
    options = ["--against", "codel", "--by", "delay", "--space", space, "--runs", "500", "--jobs", "1", "--json"]
    command = [str(COMMAND), "break", SLOW, *options, "--out", "out"]
    out = tmp_path / "out"
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    ) as process:
        wait_for_more(process, out, 0)
        process.send_signal(signal.SIGKILL)
    again = find_worst(replace(search.plan, space=read([space]), about=search.plan.about), out, resume=True, jobs=1)
    assert repeated(again) == repeated(search)


def test_a_folder_continues_only_its_own_search(search: Worst, tmp_path: Path) -> None:
    find_worst(search.plan, tmp_path / "out", jobs=1)
    with pytest.raises(InputError, match="continue with --resume"):
        find_worst(search.plan, tmp_path / "out", jobs=1)
    with pytest.raises(InputError, match="differs in seed"):
        find_worst(replace(search.plan, seed=2), tmp_path / "out", resume=True, jobs=1)


def test_the_command_prints_the_scenario(aqmlab: Aqmlab, space: str) -> None:
    done = aqmlab("break", SLOW, "--against", "codel", "--by", "delay", "--space", space, "--runs", "500")
    assert done.returncode == 0, done.stderr
    assert "See it\naqmlab compare worst.toml --aqms codel:target=100ms,interval=1s,codel" in done.stdout
    assert "[[links]]" in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["codel", "--time", "5min", "--runs", "900"], "cannot be combined with --runs"),
        (["codel", "--resume"], "needs --out DIR"),
        (["codle"], "no scheme and no controller"),
        (["codel", "--space", "none.toml"], "no such file"),
    ],
)
def test_bad_options_are_named(aqmlab: Aqmlab, options: list[str], told: str) -> None:
    done = aqmlab("break", *options)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_failing_scheme_is_the_worst(tmp_path: Path, space: str) -> None:
    file = tmp_path / "fragile.py"
    file.write_text(
        "from aqmlab import Aqm\n\n\nclass Fragile(Aqm):\n    def on_enqueue(self, packet, queue):\n"
        "        if queue.packets > 3:\n            raise ValueError('too long')\n"
    )
    found = find_worst(asked(space, str(file)), jobs=1)
    assert found.finding is not None
    assert found.finding.criterion == "failed"
    assert "too long" in next(iter(found.failures.values()))


def test_the_space_of_a_plan_is_part_of_it(space: str) -> None:
    assert (
        asked(space).document()["space"]
        != plan(SLOW, against=["codel"], by=["delay"], space=["link"], budget=RUNS).document()["space"]
    )


def test_the_sentence_names_flows_and_link() -> None:
    document = {
        "links": [{"name": "link", "rate": "4 Mbit/s", "loss": "1 %"}],
        "flows": [
            {"name": "main", "count": None, "rtt": "3 ms"},
            {"name": "others", "count": 2, "rtt": "9 ms", "tcp": {"congestion_control": "reno"}},
            {"name": "datagrams", "kind": "udp-cbr", "rate": "1 Mbit/s"},
        ],
        "changes": [None, {"at": "5 s", "path": "links.link.rate", "value": "1 Mbit/s"}],
    }
    told = (
        "one CUBIC flow with 3 ms of round-trip time, two Reno flows with 9 ms of round-trip time and one UDP stream of"
    )
    after = "the link loses 1 % of the packets and the rate becomes 1 Mbit/s at 5 s"
    assert setting(plan("pie"), document) == f"{told} 1 Mbit/s share 4 Mbit/s, {after}"
