"""Bundles: what is in one, that it verifies, and that every change is found."""

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from aqmlab.bundle import archive, artefact, build, verify
from aqmlab.bundle.artefact import RESULTS, RUNS, SUMMARY
from aqmlab.bundle.verify import NEITHER, SAME, WITHIN, Verified
from conftest import COMMAND, SMALL, Aqmlab

InputError = build.InputError

OWN = '''
import aqmlab


class Steady(aqmlab.Aqm):
    """Signals in proportion to the queue."""

    gain = aqmlab.Param(1.0, (0.0, 10.0))
    tick = "10 ms"

    def on_tick(self, queue):
        self.p = min(1.0, 0.001 * self.gain * queue.packets)
'''

EXPERIMENT = """
schema = 1
title = "Own"
scenarios = ["small.toml"]
aqms = ["droptail", "own.py:Steady:gain=2"]
seeds = 3
[set]
duration = "1 s"
flows.ftp.start_spread = "1"
"""


@pytest.fixture(scope="module")
def study() -> dict[str, bytes]:
    """The files of a bundle of a table: eight schemes, and the control of its claims, DropTail."""
    return files(build.bundle("li2014", tables=["1"]).data)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a bundle of a sweep with a scheme of its own."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "small.toml").write_text(SMALL.read_text())
    (folder / "own.py").write_text(OWN)
    (folder / "e.toml").write_text(EXPERIMENT)
    subprocess.run([COMMAND, "bundle", "e.toml"], cwd=folder, check=True, capture_output=True)
    return files((folder / "e.zip").read_bytes())


def files(data: bytes) -> dict[str, bytes]:
    """The files of a bundle without its manifest."""
    with ZipFile(archive.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist() if name != archive.MANIFEST}


def again(contents: dict[str, bytes]) -> Verified:
    """Verify files as if their maker had signed them."""
    return verify.verify(artefact.read(contents))


def runs(contents: dict[str, bytes]) -> list[artefact.BundledRun]:
    return list(artefact.read(contents).runs)


def with_runs(contents: dict[str, bytes], changed: list[artefact.BundledRun]) -> dict[str, bytes]:
    """The same bundle with other runs, its summary and manifest in order."""
    return {**contents, RUNS: artefact.lines(changed), SUMMARY: artefact.summary(changed)}


def test_a_study_verifies_to_the_bit(study: dict[str, bytes]) -> None:
    found = again(study)
    assert (found.runs, found.within, found.neither) == (9, [], [])
    assert found.same > 9 * len({"queue_mean", "drop_ratio"})
    cells = json.loads(study[RESULTS])["cells"]
    values = len(runs(study)[0].values)
    assert found.same >= len(cells) + 9 * (values - 1)


def test_the_same_results_give_the_same_bytes(study: dict[str, bytes]) -> None:
    packed = build.bundle("li2014", tables=["1"]).data
    assert packed == archive.pack(study)
    with ZipFile(archive.BytesIO(packed)) as file:
        entries = file.infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert {entry.date_time for entry in entries} == {archive.EPOCH}
    assert {entry.filename for entry in entries if entry.external_attr >> 16 & stat.S_IXUSR} == {"reproduce.sh"}


@pytest.mark.nightly
def test_a_reproduced_folder_gives_the_bundle_of_its_study(aqmlab: Aqmlab, tmp_path: Path) -> None:
    assert aqmlab("reproduce", "sun2007", "--table", "1", "--out", "out").returncode == 0
    assert aqmlab("bundle", "out", "--out", "a.zip").returncode == 0
    assert aqmlab("bundle", "sun2007", "--table", "1", "--out", "b.zip").returncode == 0
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    results = tmp_path / "out" / "results.json"
    results.write_text(results.read_text().replace('"ours": ', '"ours": 9', 1))
    refused = aqmlab("bundle", "out", "--out", "c.zip")
    assert (refused.returncode, "measures other numbers" in refused.stderr) == (2, True)


def test_code_is_run_only_if_it_is_named(swept: dict[str, bytes], aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "e.zip").write_bytes(archive.pack(swept))
    silent = aqmlab("verify", "e.zip")
    assert silent.returncode == 2
    assert "--run-code schemes/own.py" in silent.stderr
    other = aqmlab("verify", "e.zip", "--run-code", "schemes/other.py")
    assert (other.returncode, "is not a scheme of the bundle" in other.stderr) == (2, True)
    named = aqmlab("verify", "e.zip", "--run-code", "schemes/own.py", "--json")
    document = json.loads(named.stdout)
    assert (named.returncode, document["runs"], document["within"], document["neither"]) == (0, 6, [], [])
    printed = aqmlab("verify", "e.zip", "--run-code", "schemes/own.py", "--format", "markdown").stdout
    assert "6 runs, " in printed
    assert "| bit-identical | under every seed | " in printed


def test_code_that_is_not_named_is_not_even_read(swept: dict[str, bytes], aqmlab: Aqmlab, tmp_path: Path) -> None:
    evil = {**swept, "schemes/own.py": b"open('ran', 'w')\n" + swept["schemes/own.py"]}
    (tmp_path / "e.zip").write_bytes(archive.pack(evil))
    assert aqmlab("verify", "e.zip").returncode == 2
    assert not (tmp_path / "ran").exists()
    assert aqmlab("verify", "e.zip", "--run-code", "schemes/own.py").returncode == 0
    assert (tmp_path / "ran").exists()


def test_a_sweep_can_be_done_again_from_its_bundle(swept: dict[str, bytes], aqmlab: Aqmlab, tmp_path: Path) -> None:
    for name, data in swept.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    done = aqmlab("sweep", "experiment.toml", "--out", "out")
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_reproduce_sh_runs_the_command_on_path(study: dict[str, bytes], tmp_path: Path) -> None:
    with ZipFile(archive.BytesIO(archive.pack(study))) as file:
        file.extractall(tmp_path)
    search = {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "reproduce.sh"], cwd=tmp_path, env=search, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "bit-identical" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "is not on PATH; give its wheel"),
        (["some.whl"], "expected (one, as the second argument|[0-9a-f]{64})"),  # pip has noted ours, or has not
        (["some.whl", "0" * 64], "expected 0{64}"),
    ],
)
def test_reproduce_sh_runs_nobodys_package_of_the_same_name(
    arguments: list[str], why: str, study: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "reproduce.sh").write_bytes(study["reproduce.sh"])
    (tmp_path / "some.whl").write_bytes(b"a wheel")
    search = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "reproduce.sh", *arguments], cwd=tmp_path, env=search, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert re.search(why, done.stderr)


def changes(contents: dict[str, bytes]) -> Iterator[tuple[str, dict[str, bytes], str]]:
    """Each way to change a bundle after its manifest was written, and what must be said of it."""
    digit = contents[RESULTS].replace(b'"ours": 0.', b'"ours": 1.', 1)
    assert digit != contents[RESULTS]
    yield "digit", {**contents, RESULTS: digit}, f"{RESULTS}: was changed"
    yield "removed", {name: data for name, data in contents.items() if name != RUNS}, f"{RUNS}: is missing"
    yield "added", {**contents, "results/more.txt": b"x"}, "results/more.txt: is not in SHA256SUMS"


@pytest.mark.parametrize("kind", ["digit", "removed", "added"])
@pytest.mark.parametrize("form", ["zip", "folder"])
def test_a_changed_file_is_refused_with_its_name(
    study: dict[str, bytes], kind: str, form: str, aqmlab: Aqmlab, tmp_path: Path
) -> None:
    changed, said = next((files, said) for name, files, said in changes(study) if name == kind)
    every = {**changed, archive.MANIFEST: archive.manifest(study)}
    path = tmp_path / "bundle"
    if form == "zip":
        with ZipFile(path, "w") as file:
            for name, data in every.items():
                file.writestr(name, data)
    else:
        for name, data in every.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
    refused = aqmlab("verify", path)
    assert refused.returncode == 2
    assert said in refused.stderr


def test_a_changed_digit_with_a_new_manifest_is_found_by_running(study: dict[str, bytes]) -> None:
    cells = study[RESULTS].replace(b'"ours": 0.', b'"ours": 1.', 1)
    [found] = again({**study, RESULTS: cells}).neither
    assert found.name.startswith(f"{RESULTS}.cells.")
    first, *others = runs(study)
    result = json.loads(json.dumps(first.result))
    result["links"]["bottleneck"]["queue_mean"] += 1e-9
    changed = artefact.BundledRun(*first.key, first.seed, result)
    [found] = again(with_runs(study, [changed, *others])).neither
    assert found.name == "li2014/table-1, ared: links.bottleneck.queue_mean"
    assert found.stored - found.again == pytest.approx(1e-9, rel=1e-3)


def test_a_summary_that_is_not_of_the_runs_is_refused(study: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(archive.pack({**study, SUMMARY: study[SUMMARY] + b"x\n"}))
    with pytest.raises(InputError, match="does not follow from"):
        verify.read(tmp_path / "b.zip")


def test_a_run_that_is_left_out_or_added_is_found(study: dict[str, bytes]) -> None:
    first, *others = runs(study)
    more = artefact.BundledRun(first.scenario, (), "codel", 1, first.result)
    found = again(with_runs(study, [first, *others, more]))
    assert {number.name.partition(":")[0] for number in found.neither} == {"li2014/table-1, codel"}


@pytest.mark.parametrize(
    ("stored", "now", "state"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], SAME),
        ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], WITHIN),  # the mean is 2, the interval 2 +- 2.48
        ([1.0, 2.0, 3.0], [4.0, 4.4, 4.8], WITHIN),
        ([1.0, 2.0, 3.0], [4.4, 4.5, 4.6], NEITHER),
        ([1.0], [1.0], SAME),
        ([1.0], [1.0 + 2**-52], NEITHER),  # one seed has no interval
        ([0.0], [-0.0], NEITHER),
        ([None, 2.0, 3.0], [None, 2.0, 3.0], SAME),
        ([None, 2.0, 3.0], [2.5, 2.5, None], WITHIN),
        ([None], [2.0], NEITHER),
        (["a"], ["b"], NEITHER),
        ([[0.0, 1.0]], [[0.0, 2.0]], NEITHER),
    ],
)
def test_states_of_a_number(stored: list[object], now: list[object], state: str) -> None:
    """By hand: t(0.975, 2) = 4.303, so that three values one apart have the half-width 4.303 / sqrt(3) = 2.484."""
    assert verify._state(stored, now) == state


def test_a_file_that_is_no_bundle_is_not_replaced(aqmlab: Aqmlab, tmp_path: Path) -> None:
    (tmp_path / "notes.zip").write_text("mine")
    refused = aqmlab("bundle", "sun2007", "--table", "1", "--out", "notes.zip")
    assert (refused.returncode, (tmp_path / "notes.zip").read_text()) == (2, "mine")


def test_a_comparison_is_told_how_to_be_bundled(aqmlab: Aqmlab, tmp_path: Path) -> None:
    shutil.copy(SMALL, tmp_path)
    aqmlab("compare", "small.toml", "--aqms", "red", "--out", "out")
    refused = aqmlab("bundle", "out")
    assert (refused.returncode, "experiment file" in refused.stderr) == (2, True)
    assert 'did you mean "li2014"?' in aqmlab("bundle", "li2013").stderr
