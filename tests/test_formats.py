"""What earlier versions have written is read, and what a later one writes is refused by its number."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import aqmlab as lab
from aqmlab.bundle import artefact
from aqmlab.runs import findings, store
from aqmlab.runs import sweep as sweeps
from aqmlab.runs.simulate import run
from aqmlab.tune.plan import plan
from aqmlab.tune.result import tune
from conftest import SMALL, Aqmlab

LATER = ("transient", "queue_mean_settled", "queue_error", "settling", "schemes")
"""Measures of a link that came after the first store."""


def rows_without(path: Path, drop: Any) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if not drop(name)} for row in parquet.read_table(path).to_pylist()
    ]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """As the first version did: without checksums."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
    blank = {name: column.cast(pa.string()) for name, column in columns.items() if pa.types.is_null(column.type)}
    parquet.write_table(pa.table({**columns, **blank}), path, compression="zstd")


def as_first(folder: Path) -> None:
    """Turn the store of a sweep into what schema 1 was: texts alone, fewer measures, several parts, few facts."""
    late = tuple(f".{measure}" for measure in LATER)
    for name in ("plan.parquet", "runs.parquet"):
        write(folder / name, rows_without(folder / name, lambda each: each.endswith((")", *late))))
    [part] = (folder / "parts").glob("*.parquet")
    rows = parquet.read_table(part).to_pylist()
    for row in rows:
        document = json.loads(row["result"])
        for link in document["links"].values():
            for measure in LATER:
                link.pop(measure, None)
        row["result"] = json.dumps(document)
    part.unlink()
    for i, row in enumerate(rows):
        write(folder / "parts" / f"{i}.parquet", [row])
    sessions = json.loads((folder / "environment.json").read_text())
    kept = ("started", "aqmlab", "build", "python", "system", "cpu", "cores", "executor")
    old = [{name: session[name] for name in kept} for session in sessions]
    (folder / "environment.json").write_text(json.dumps(old))


def as_second(folder: Path) -> None:
    """Turn the store of a sweep into one of schema 2 from before sessions said so."""
    sessions = json.loads((folder / "environment.json").read_text())
    for session in sessions:
        del session["schema"]
    (folder / "environment.json").write_text(json.dumps(sessions))


@pytest.fixture(params=[as_first, as_second], ids=["schema 1", "schema 2"])
def stored(request: pytest.FixtureRequest, swept: Path, tmp_path: Path) -> Path:
    """A finished sweep of 24 runs as an earlier version left it, with its experiment."""
    shutil.copytree(swept, tmp_path / "out")
    shutil.copy(swept.parent / "e.toml", tmp_path)
    shutil.copy(SMALL, tmp_path)
    request.param(tmp_path / "out")
    return tmp_path / "out"


def test_an_earlier_store_is_read(stored: Path, swept: Path) -> None:
    old, new = lab.load_experiment(stored), lab.load_experiment(swept)
    assert len(old) == 24
    shared = [name for name in old.columns if name in new.columns]
    assert {"key", "set.links.bottleneck.rate", "pi.w", "links.bottleneck.queue_mean", "total.goodput"} <= {*shared}
    assert list(old.columns) == shared
    for name in shared:
        assert old[name].astype(str).tolist() == new[name].astype(str).tolist()


def test_an_earlier_store_is_reported(stored: Path, aqmlab: Aqmlab) -> None:
    assert findings.findings(stored).measured.runs
    done = aqmlab("report", stored, "--format", "csv", "--measure", "link.queue_mean")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 5


def test_an_earlier_store_is_gone_on_with(stored: Path, swept: Path) -> None:
    """Runs of this version's engine are not done again; the tables become those of this version."""
    again = sweeps.sweep(stored.parent / "e.toml", stored, resume=True)
    assert (len(again.rows), again.done_now, again.failures) == (24, 0, [])
    assert json.loads((stored / "environment.json").read_text())[-1]["schema"] == store.SCHEMA
    now, new = lab.load_experiment(stored), lab.load_experiment(swept)
    missing = {name.rpartition(".")[2] for name in new.columns if name not in now.columns}
    assert missing <= {*LATER}


def test_runs_of_another_engine_are_done_again(stored: Path) -> None:
    for path in [stored / "plan.parquet", *(stored / "parts").iterdir()]:
        rows = rows_without(path, lambda _: False)
        for row in rows:
            row["key"] = row["key"][::-1]
        write(path, rows)
    again = sweeps.sweep(stored.parent / "e.toml", stored, resume=True)
    assert (len(again.rows), again.done_now) == (24, 24)


def test_a_later_store_is_refused_by_its_number(stored: Path, aqmlab: Aqmlab) -> None:
    environment = stored / "environment.json"
    environment.write_text(json.dumps([{"schema": store.SCHEMA + 1}]))
    for arguments in (
        ["report", stored],
        ["plot", stored, "ranking"],
        ["sweep", "e.toml", "--out", stored, "--resume"],
    ):
        refused = aqmlab(*arguments)
        assert refused.returncode == 2, arguments
        assert "newer version (store schema 3)" in refused.stderr
    assert len(json.loads(environment.read_text())) == 1


def test_an_earlier_tune_is_done_again_beside_its_file(tmp_path: Path) -> None:
    """Its runs were lines of a file that held the measures of the goals only."""
    pytest.importorskip("optuna", reason="optuna is not installed")
    wanted = plan("pi", [str(SMALL)], ["min link.queue_mean"], budget="8 runs", seeds=1, held_out_seeds=2)
    first = tune(wanted, tmp_path)
    shutil.rmtree(tmp_path / "parts")
    earlier = '{"scenario": "x", "aqm": "pi", "seed": 1, "values": {}, "wall": 0}\n'
    (tmp_path / "runs.jsonl").write_text(earlier)
    again = tune(wanted, tmp_path, resume=True)
    assert (again.trials, again.rivals) == (first.trials, first.rivals)
    assert (tmp_path / "runs.jsonl").read_text() == earlier


@pytest.mark.parametrize("schema", ["0", "2", ""])
def test_schemas_of_what_people_write(schema: str, tmp_path: Path) -> None:
    """Scenarios and experiments have schema 1, the first and only one; it must be said."""
    line = f"schema = {schema}\n" if schema else ""
    (tmp_path / "small.toml").write_text(SMALL.read_text().replace("schema = 1\n", line))
    with pytest.raises(lab.InputError, match="schema"):
        lab.load(tmp_path / "small.toml")
    (tmp_path / "e.toml").write_text(f'{line}scenarios = ["li2014/table-1"]\naqms = ["pi"]\n')
    with pytest.raises(lab.InputError, match="schema"):
        sweeps.sweep(tmp_path / "e.toml", tmp_path / "out")


RESULT = {"schema", "scenario", "aqm", "seed", "links", "flows", "total", "engine"}
OF_LINK = {"utilisation", "drop_ratio", "mark_ratio", "queue_mean", "queue_std", "queue_p95", "queue_delay_mean"}
OF_LINK |= {"queue_delay_std", "queue_delay_p99", "settling_time", "arrived", "departed", "dropped", "marked", "lost"}
OF_FLOWS = {"count", "goodput", "goodput_min", "goodput_max", "jain", "received", "retransmits", "timeouts"}


def test_a_result_keeps_what_schema_1_had() -> None:
    """New measures may come; none of these may go or change its name while the schema is 1."""
    document: Mapping[str, Any] = json.loads(run(SMALL, "red", set={"duration": "1 s"}).json())
    assert document["schema"] == 1
    assert document.keys() >= RESULT
    assert document["links"]["bottleneck"].keys() >= OF_LINK
    assert document["flows"]["ftp"].keys() >= OF_FLOWS
    assert document["total"].keys() >= OF_FLOWS


def test_a_bundle_of_another_schema_is_refused_by_its_number() -> None:
    for schema in (0, 2, "1", None):
        told = json.dumps({"schema": schema, "title": "x", "made_by": {}, "scenarios": {}, "schemes": {}})
        with pytest.raises(lab.InputError, match="reads schema 1"):
            artefact.read({artefact.ABOUT: told.encode()})
