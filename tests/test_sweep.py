"""A sweep: what an experiment asks for, that nothing finished is lost or done twice, and what its numbers say."""

import json
import re
from pathlib import Path

import pytest
from pyarrow import parquet

import aqmlab as lab
from aqmlab import _core
from aqmlab.runs import columns, plan
from aqmlab.runs import sweep as sweeps
from conftest import BASIC, SMALL, Aqmlab
from sweeping import sweep, table, write

# The experiment file


def test_every_combination_once(folder: Path) -> None:
    runs = plan.read(folder / "e.toml").runs()
    assert [(run.condition.case.overrides[0][1], run.condition.arm.aqm, run.seed) for run in runs] == [
        (rate, aqm, seed)
        for rate in ("5 Mbit/s", "10 Mbit/s")
        for aqm in ("droptail", "pi:w=85 Hz", "pi:w=170 Hz")
        for seed in (1, 2)
    ]
    assert len({run.key for run in runs}) == 12


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ('{ from = "50 Hz", to = "200 Hz", steps = 4 }', ["50 Hz", "100 Hz", "150 Hz", "200 Hz"]),
        ('{ from = "1 Hz", to = "100 Hz", steps = 3, scale = "log" }', ["1 Hz", "10 Hz", "100 Hz"]),
        ('["85 Hz", "170 Hz", "85 Hz"]', ["85 Hz", "170 Hz"]),
        ('"85 Hz"', ["85 Hz"]),
    ],
)
def test_ranges_and_lists(folder: Path, given: str, values: list[str]) -> None:
    write(folder, f'schema = 1\nscenarios = ["small.toml"]\naqms = [{{ name = "pi", w = {given} }}]')
    assert [arm.aqm for arm in plan.read(folder / "e.toml").arms] == [f"pi:w={value}" for value in values]


def test_the_same_run_has_the_same_key_however_it_is_written(folder: Path) -> None:
    [first] = plan.read(write(folder, 'schema = 1\nscenarios = ["small.toml"]\naqms = ["pi:w=170Hz"]')).runs()
    (folder / "other.toml").write_text("# The same scenario\n" + SMALL.read_text())
    text = 'schema = 1\nscenarios = ["other.toml"]\naqms = [{ name = "pi", w = "170 Hz" }]\nset.duration = "2000 ms"'
    [second] = plan.read(write(folder, text)).runs()
    assert first.key == second.key
    [third] = plan.read(write(folder, text.replace("2000", "2001"))).runs()
    assert third.key != first.key


def test_a_row_of_schemes_has_a_key_of_its_own(folder: Path) -> None:
    rows = ["codel@up", "codel:target=8ms@up", "codel@up+codel@down", "codel@down", "pie@up"]
    text = f"""schema = 1\nscenarios = ["home/call"]\naqms = {json.dumps(rows)}\n"""
    text += """set.duration = "4 s"\nset.warmup = "3 s\""""
    planned = plan.read(write(folder, text))
    assert [arm.aqm for arm in planned.arms] == rows
    assert len({run.key for run in planned.runs()}) == len(rows)
    assert not sweep(folder).failures
    for wrong, told in (("mine.py@up", "a file cannot be the scheme"), ("codel@upp", "unknown link")):
        with pytest.raises(lab.InputError, match=told):
            plan.read(write(folder, text.replace("pie@up", wrong)))


def test_patterns_leave_out_other_names_of_the_same(folder: Path) -> None:
    write(folder, 'schema = 1\nscenarios = ["li2014/*"]\naqms = ["pi"]')
    names = [file.name for file in plan.read(folder / "e.toml").scenarios]
    assert "li2014/table-1" in names
    assert "li2014/table-16" not in names  # its file says same_as


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seeds = 2", "sedes = 2", ["sedes", "seeds"]),
        ("schema = 1", "schema = 2", ["schema", "2"]),
        ("schema = 1", "", ["schema", "missing"]),
        ("schema = 1", "schema = [", ["e.toml:3:7: is not TOML"]),
        ('["small.toml"]', '["smal.toml"]', ["smal.toml", "no such file"]),
        ('["small.toml"]', '["li2014/tabel-1"]', ["tabel-1", "li2014/table-1"]),
        ('["small.toml"]', '["li2015/*"]', ["li2015/*"]),
        ('["small.toml"]', "[]", ["scenarios"]),
        ("droptail", "doptail", ["doptail", "droptail"]),
        ('name = "pi"', 'nam = "pi"', ["aqms.1", "name"]),
        ('w = ["85 Hz", "170 Hz"]', 'w = ["85", "170 Hz"]', ["w", "85", "unit"]),
        ('w = ["85 Hz", "170 Hz"]', "w = []", ["w", "expected"]),
        ('w = ["85 Hz", "170 Hz"]', 'wa = ["85 Hz", "170 Hz"]', ["wa"]),
        ('["85 Hz", "170 Hz"]', '{ from = "1 Hz", to = "1 s", steps = 2 }', ["Hz", "one unit"]),
        ('["85 Hz", "170 Hz"]', '{ from = "1 Hz", to = "2 Hz", steps = 1 }', ["steps", "1"]),
        ('["85 Hz", "170 Hz"]', '{ from = "1 Hz", too = "2 Hz", steps = 2 }', ["too", '"to"']),
        ('["85 Hz", "170 Hz"]', '{ from = "0 Hz", to = "2 Hz", steps = 2, scale = "log" }', ["log", "0"]),
        ("seeds = 2", "seeds = 0", ["seeds", "0"]),
        ("seeds = 2", "seeds = [1, 1]", ["seeds", "[1, 1]"]),
        ("seeds = 2", 'seeds = "two"', ["seeds", "two"]),
        ("seeds = 2", "seeds = 1000000000", ["seeds", "1000000000"]),
        ("bottleneck", "botleneck", ["small", "botleneck", "bottleneck"]),
        ("5 Mbit/s", "5 Mbit", ["small", "5 Mbit"]),
    ],
)
def test_a_mistake_in_an_experiment(aqmlab: Aqmlab, folder: Path, old: str, new: str, words: list[str]) -> None:
    assert old in BASIC
    write(folder, BASIC.replace(old, new, 1))
    answer = aqmlab("sweep", "e.toml", "--out", "out")
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.startswith("Error: ")
    assert all(word in answer.stderr for word in words), answer.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--executor", "slurm://here"], ["slurm://here", "dask://"]),
        pytest.param(
            ["--executor", "dask://127.0.0.1:9"], ["dask://127.0.0.1:9", "scheduler"], marks=pytest.mark.nightly
        ),
        (["--precision", "two"], ["two", "2%"]),
        (["--precision", "total.jian=2%"], ["total.jian", "total.jain"]),
        (["--out", "small.toml"], ["out", "small.toml"]),
    ],
)
def test_a_mistake_on_the_command_line(aqmlab: Aqmlab, folder: Path, options: list[str], words: list[str]) -> None:
    answer = aqmlab("sweep", "e.toml", "--out", "out", *options)
    assert answer.returncode == 2, answer.stderr
    assert all(word in answer.stderr for word in words), answer.stderr
    assert "Traceback" not in answer.stderr
    assert not (folder / "out").exists()


# Results


def test_the_table_has_what_single_runs_have(folder: Path) -> None:
    swept = sweep(folder)
    frame = lab.load_experiment(folder / "out")
    assert len(frame) == swept.done_now == 12
    assert set(frame["state"]) == {"done"}
    row = frame[(frame["aqm"] == "pi:w=85 Hz") & (frame["set.links.bottleneck.rate"] == "5 Mbit/s")].iloc[1]
    run = lab.run(folder / "small.toml", "pi:w=85Hz", 2, set={"links.bottleneck.rate": "5 Mbit/s"})
    assert (row["seed"], row["pi.w"], row["scenario"], row["link"]) == (2, "85 Hz", "small", "bottleneck")
    assert (row["pi.w (Hz)"], row["set.links.bottleneck.rate (bit/s)"]) == (85.0, 5e6)
    assert row["links.bottleneck.queue_mean"] == run.links["bottleneck"].queue_mean
    assert row["links.bottleneck.drops.overflow"] == run.links["bottleneck"].drops["overflow"]
    assert row["flows.ftp.goodput"] == run.flows["ftp"].goodput
    assert row["total.jain"] == run.total.jain
    assert row["events"] == run.engine.events
    assert not [name for name in frame if "wall" in name]


def test_the_same_bytes_on_any_number_of_threads(folder: Path) -> None:
    sweep(folder, "one", jobs=1)
    sweep(folder, "three", jobs=3)
    assert table(folder, "one") == table(folder, "three")


def test_the_folder_repeats_itself(folder: Path) -> None:
    sweep(folder)
    again = sweeps.sweep(folder / "out" / "experiment.toml", folder / "again")
    assert again.done_now == 12
    assert table(folder, "again") == table(folder)


def test_a_folder_with_results_is_left_alone(aqmlab: Aqmlab, folder: Path) -> None:
    sweep(folder)
    before = table(folder)
    answer = aqmlab("sweep", "e.toml", "--out", "out")
    assert answer.returncode == 2
    assert "--resume" in answer.stderr
    assert table(folder) == before


@pytest.mark.parametrize(
    ("old", "new", "runs", "done_now"),
    [
        ("seeds = 2", "seeds = 3", 18, 6),
        ("seeds = 2", "seeds = [2]", 6, 0),
        ('"170 Hz"]', '"340 Hz"]', 12, 4),
        ('"10 Mbit/s"]', '"10 Mbit/s", "20 Mbit/s"]', 18, 6),
        ('title = "Small"', 'title = "Other"', 12, 0),
    ],
)
def test_a_changed_experiment_does_exactly_what_is_new(
    folder: Path, old: str, new: str, runs: int, done_now: int
) -> None:
    sweep(folder)
    write(folder, BASIC.replace(old, new))
    swept = sweep(folder, resume=True)
    assert (len(swept.rows), swept.done_now) == (runs, done_now)
    sweep(folder, "fresh")
    assert table(folder) == table(folder, "fresh")


def test_a_changed_scenario_is_run_again(folder: Path) -> None:
    sweep(folder)
    (folder / "small.toml").write_text(SMALL.read_text().replace("count = 10", "count = 11"))
    assert sweep(folder, resume=True).done_now == 12


def test_dry_run_writes_nothing(aqmlab: Aqmlab, folder: Path) -> None:
    answer = aqmlab("sweep", "e.toml", "--dry-run", "--json", "--out", "out")
    assert json.loads(answer.stdout) == {"schema": 1, "title": "Small", "runs": 12, "done": 0}
    assert not (folder / "out").exists()
    assert "12 runs" in aqmlab("sweep", "e.toml", "--dry-run").stdout


def test_the_command_tells_means_and_ranks(aqmlab: Aqmlab, folder: Path) -> None:
    answer = aqmlab("sweep", "e.toml", "--out", "out", "--json")
    document = json.loads(answer.stdout)
    assert (document["runs"], document["done_now"], document["failures"]) == (12, 12, [])
    assert len(document["summary"]) == 6 * 6
    assert document["ranking"]["total.goodput"]["blocks"] == 2
    page = aqmlab("sweep", "e.toml", "--out", "out", "--resume").stdout
    assert "12 runs, 0 of them done now; 0 failed" in page
    assert "critical difference" in page


def test_a_difference_is_paired_by_seed(folder: Path) -> None:
    swept = sweep(folder)
    case, (droptail, pi, _) = swept.cases[0], swept.schemes
    ours, theirs = (list(swept.measured.values(case, aqm, "link.queue_mean").values()) for aqm in (pi, droptail))
    found = swept.measured.difference(case, pi, droptail, "link.queue_mean")
    assert found is not None
    assert found.difference.mean == pytest.approx(((ours[0] - theirs[0]) + (ours[1] - theirs[1])) / 2)


def test_precision_adds_the_same_seeds_whatever_happened_before(folder: Path) -> None:
    write(folder, 'schema = 1\nscenarios = ["small.toml"]\naqms = ["pi", "droptail"]')
    precise = sweeps.precision("3%", 20)
    swept = sweep(folder, "whole", precise=precise)
    for aqm in swept.schemes:
        summary = swept.measured.summary(swept.cases[0], aqm, "link.queue_mean")
        assert summary is not None
        assert summary.half_width is not None
        assert summary.n == 20 or summary.half_width <= 0.03 * summary.mean
        assert summary.n >= 3
    sweep(folder)
    sweep(folder, resume=True, precise=precise)
    assert table(folder) == table(folder, "whole")


# What a run is known by


def test_the_sources_of_the_engine_are_part_of_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [before, *_] = plan.read(folder / "e.toml").runs()
    plan._made_by.cache_clear()
    monkeypatch.setattr("aqmlab._core.source", lambda: "another")
    [after, *_] = plan.read(folder / "e.toml").runs()
    plan._made_by.cache_clear()
    assert before.key != after.key


def test_the_engine_knows_its_sources() -> None:
    """FNV-1a over all sources by name: two builds of the same files have the same key. If it fails: make build."""
    root = Path(__file__).parent.parent
    crates = [path for path in (root / "crates").iterdir() if path.is_dir()]
    files = [root / "Cargo.toml", root / "Cargo.lock", *(crate / "Cargo.toml" for crate in crates)]
    parts = ("src/**/*.rs", "src/**/*.toml", "build.rs")
    files += [file for crate in crates for part in parts for file in crate.glob(part)]
    value = 0xCBF29CE484222325
    for name, file in sorted((file.relative_to(root).as_posix(), file) for file in files):
        for byte in name.encode() + b"\0" + file.read_bytes().replace(b"\r", b"") + b"\0":
            value = (value ^ byte) * 0x100000001B3 % 2**64
    assert _core.source() == f"{value:016x}"


def test_the_environment_says_what_was_run(folder: Path) -> None:
    sweep(folder)
    [session] = json.loads((folder / "out" / "environment.json").read_text())
    assert session["commit"] == "unknown" or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", session["commit"])
    assert (session["source"], session["aqmlab"]) == (_core.source(), lab.__version__)


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ('{ name = "pi", w = "0.1 kHz" }', {"pi.w": "0.1 kHz", "pi.w (Hz)": 100.0}),
        ('{ name = "red", gentle = true }', {"red.gentle": "true"}),
        ('"pie:target=20ms,t_update=15 ms"', {"pie.target": "20ms", "pie.target (s)": 0.02, "pie.t_update (s)": 0.015}),
    ],
)
def test_values_are_there_as_given_and_as_numbers(folder: Path, given: str, columns: dict[str, object]) -> None:
    write(folder, f'schema = 1\nscenarios = ["small.toml"]\naqms = [{given}]')
    [run] = plan.read(folder / "e.toml").runs()
    found = {name: value for name, value in run.labels().items() if "." in name}
    assert found.items() >= columns.items()
    assert not [name for name in found if name.startswith("red.gentle (")]


def test_differences_have_p_values_for_one_test_and_for_all(folder: Path) -> None:
    document = sweep(folder).document()
    entries = [entry for entry in document["summary"] if entry["measure"] == "link.queue_mean"]
    found = [entry["more_than_first"] for entry in entries if entry["more_than_first"]]
    assert len(found) == 4
    least, greatest = min(found, key=lambda than: than["p"]), max(found, key=lambda than: than["p"])
    assert least["p_holm"] == pytest.approx(min(1.0, 4 * least["p"]))
    assert greatest["p_holm"] >= greatest["p"]
    assert all(than["effect"] for than in found)


def test_schemes_set_beside_schemes_are_refused(folder: Path) -> None:
    """They would be run under their names, each as the scheme of `aqms` that took its place."""
    write(folder, BASIC + 'links.bottleneck.aqm = ["red", "codel"]\n')
    with pytest.raises(lab.InputError, match=r"aqm=red: the requested schemes replace it"):
        sweep(folder)
    assert not (folder / "out").exists()


def test_results_become_columns_in_the_order_of_their_first_appearance() -> None:
    texts = [
        None,
        '{"aqm": "pi", "links": {"a.b": {"mean": 0.1, "p95": 3, "drops": {"early": 1}, "settling": [[0.0, null]]}}}',
        '{"aqm": "red", "links": {"a.b": {"mean": null, "p95": 4, "drops": {"full": 2}, "settling": [[0.0, 1.5]]}}}',
    ]
    found = {path: column.to_pylist() for path, column in columns.measured(texts).items()}
    assert found == {
        "links.a.b.mean": [None, 0.1, None],
        "links.a.b.p95": [None, 3, 4],
        "links.a.b.drops.early": [None, 1, None],
        "links.a.b.settling": [None, [[0.0, None]], [[0.0, 1.5]]],
        "links.a.b.drops.full": [None, None, 2],
    }
    assert list(found) == [f"links.a.b.{name}" for name in ("mean", "p95", "drops.early", "settling", "drops.full")]
    assert all(isinstance(value, int) for value in found["links.a.b.p95"][1:])
    assert columns.measured([None]) == {}
    with pytest.raises(ValueError, match="EOF"):
        columns.measured(['{"links": {'])


def test_the_final_table_says_what_the_rows_say(folder: Path) -> None:
    """The table is read by columns, and rows are read one by one: to the bit."""
    swept = sweep(folder)
    stored = parquet.read_table(folder / "out" / "runs.parquet").to_pylist()
    names = {name for row in swept.rows for name in row}
    assert {*stored[0]} == names
    assert stored == [{name: row.get(name) for name in stored[0]} for row in swept.rows]
