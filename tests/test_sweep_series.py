"""Time series and delays of a sweep, and the warm-up that pilot runs tell."""

import json
from math import ceil
from pathlib import Path

import numpy as np
import pytest

import aqmlab as lab
from aqmlab import traces
from aqmlab.runs.statistics import mser
from conftest import BASIC, SMALL, Aqmlab
from sweeping import stored, sweep, table, write


def test_series_change_no_result_and_cost_only_the_runs_that_lack_them(aqmlab: Aqmlab, folder: Path) -> None:
    sweep(folder, "plain")
    sweep(folder, series="first")
    assert table(folder) == table(folder, "plain")
    first = set(lab.load_series(folder / "out")["key"])
    frame = lab.load_experiment(folder / "out")
    assert first == set(frame[frame["seed"] == 1]["key"])
    again = json.loads(aqmlab("sweep", "e.toml", "--out", "plain", "--resume", "--series", "all", "--json").stdout)
    assert (again["runs"], again["done_now"]) == (12, 12)
    assert len(stored(folder / "plain")) == 12
    assert table(folder) == table(folder, "plain")
    assert sweep(folder, resume=True, series="first").done_now == 0
    next((folder / "out" / "series").iterdir()).unlink()
    assert sweep(folder, resume=True, series="first").done_now == 1
    assert sweep(folder, resume=True, series="all").done_now == 6
    assert set(lab.load_series(folder / "out")["key"]) == set(frame["key"])


def test_series_are_those_of_single_runs(folder: Path) -> None:
    sweep(folder, series="first")
    frame = lab.load_experiment(folder / "out")
    series = lab.load_series(folder / "out", link="bottleneck")
    for aqm in ("pi:w=85 Hz", "droptail"):
        [key] = frame[
            (frame["aqm"] == aqm) & (frame["seed"] == 1) & (frame["set.links.bottleneck.rate"] == "5 Mbit/s")
        ]["key"]
        ours = series[series["key"] == key]
        run = lab.run(folder / "small.toml", aqm, 1, set={"links.bottleneck.rate": "5 Mbit/s"}, series=True)
        for name, values in run.series["bottleneck"].items():
            np.testing.assert_array_equal(ours[name], values)
        assert ours["p"].isna().all() == (aqm == "droptail")


def test_delays_are_the_distribution_of_what_packets_waited(folder: Path) -> None:
    write(folder, BASIC.replace('"droptail", ', "").replace("[set]", '[set]\nwarmup = "0.5 s"'))
    sweep(folder, series="first")
    key = lab.load_experiment(folder / "out")["key"][0]
    delays = lab.load_delays(folder / "out").set_index("key").loc[key]
    settings = {"links.bottleneck.rate": "5 Mbit/s", "warmup": "0.5 s"}
    run = lab.run(folder / "small.toml", "pi:w=85Hz", 1, set=settings, trace="bottleneck")
    assert run.trace is not None
    events = traces.table(run.trace).to_pandas()
    waited = events[(events["event"] == "dequeue") & (events["time"] >= 0.5)]["sojourn"].to_numpy()
    shares = [(waited < edge + 1e-9).mean() for edge in delays["queue_delay"]]
    np.testing.assert_allclose(delays["share"], shares, atol=1e-12)
    assert delays["queue_delay"].is_monotonic_increasing
    assert delays["share"].iloc[-1] == 1
    assert 20 < len(delays) < 1000


def test_a_sweep_without_series_has_none(folder: Path) -> None:
    sweep(folder)
    assert list(lab.load_series(folder / "out")) == ["key", "link", "time", "queue", "utilisation"]
    assert lab.load_delays(folder / "out").empty
    sweep(folder, resume=True, series="first")
    with pytest.raises(lab.InputError, match=r'no link "botleneck"; did you mean "bottleneck"'):
        lab.load_series(folder / "out", link="botleneck")
    with pytest.raises(lab.InputError, match="holds no sweep"):
        lab.load_series(folder)


@pytest.mark.parametrize("kind", ["series", "delays"])
def test_a_damaged_series_is_named(folder: Path, kind: str) -> None:
    sweep(folder, series="first")
    part = next((folder / "out" / kind).iterdir())
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(lab.StoreError, match=rf"{part.name}: cannot be read .* continue with --resume --series"):
        (lab.load_series if kind == "series" else lab.load_delays)(folder / "out")
    part.unlink()
    assert sweep(folder, resume=True, series="first").done_now == 1
    assert len(set(lab.load_delays(folder / "out")["key"])) == 6


def test_unknown_series_are_refused(aqmlab: Aqmlab, folder: Path) -> None:
    answer = aqmlab("sweep", "e.toml", "--out", "out", "--series", "last")
    assert answer.returncode == 2
    assert "last" in answer.stderr
    assert "first" in answer.stderr
    with pytest.raises(lab.InputError, match=r'series: unknown choice "frist"; did you mean "first"'):
        sweep(folder, series="frist")
    assert not (folder / "out").exists()


# Warm-up by pilot runs

PILOTED = """
schema = 1
scenarios = ["small.toml"]
aqms = ["droptail", "pi"]
seeds = [4, 5]
warmup = "mser"
set.duration = "30 s"
"""


def test_the_warm_up_is_the_longest_that_a_pilot_run_of_the_scenario_suggests(folder: Path) -> None:
    write(folder, PILOTED)
    suggested = []
    for aqm in ("droptail", "pi"):
        series = lab.run(SMALL, aqm, 1, set={"duration": "30 s"}, series=True).series["bottleneck"]
        suggested.append(mser(series["time"], series["queue"]))
    longest = ceil(max(suggested))  # type: ignore[type-var]
    assert longest > 0
    swept = sweep(folder)
    frame = lab.load_experiment(folder / "out")
    assert (swept.done_now, set(frame["seed"])) == (4, {4, 5})
    assert set(frame["set.warmup"]) == {f"{longest} s"}
    assert set(frame["set.warmup (s)"]) == {float(longest)}
    settings = {"duration": "30 s", "warmup": f"{longest} s"}
    by_hand = lab.run(SMALL, "pi", 5, set=settings).links["bottleneck"].queue_mean
    assert frame[(frame["aqm"] == "pi") & (frame["seed"] == 5)]["links.bottleneck.queue_mean"].item() == by_hand


def test_the_folder_repeats_its_warm_up_without_pilot_runs(
    aqmlab: Aqmlab, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, PILOTED)
    sweep(folder)
    again = aqmlab("sweep", "out/experiment.toml", "--out", "again")
    assert again.returncode == 0, again.stderr
    assert table(folder, "again") == table(folder)
    assert not (folder / "again" / "warmup.json").exists()
    monkeypatch.setattr("aqmlab.runs.warmup.mser", None)  # no pilot run is judged again
    assert sweep(folder, resume=True).done_now == 0
    dry = json.loads(aqmlab("sweep", "e.toml", "--dry-run", "--json", "--out", "out").stdout)
    assert (dry["runs"], dry["done"]) == (4, 4)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"mser"', '"mesr"', ["warmup", "mesr", "mser"]),
        ('"mser"', "3", ["warmup", "3", "mser"]),
        ('"mser"', '{ smal = "1 s" }', ["warmup", "smal", '"small"']),
        ('"mser"', '{ small = "1 sec" }', ["warmup", "1 sec"]),
        ("set.duration", 'set.warmup = "1 s"\nset.duration', ["warmup", "set.warmup"]),
        ('"30 s"', '"100 ms"', ["small", "droptail", "MSER", "first half", "0.1 s"]),
    ],
)
def test_a_mistake_in_the_warm_up(aqmlab: Aqmlab, folder: Path, old: str, new: str, words: list[str]) -> None:
    assert old in PILOTED
    write(folder, PILOTED.replace(old, new))
    answer = aqmlab("sweep", "e.toml", "--out", "out")
    assert answer.returncode == 2, answer.stderr
    assert all(word in answer.stderr for word in words), answer.stderr
    assert "Traceback" not in answer.stderr
    assert not (folder / "out" / "plan.parquet").exists()
