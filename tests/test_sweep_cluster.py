"""A sweep on executors of others: a Dask cluster on this machine, and any Executor."""

import json
import multiprocessing
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest

import aqmlab as lab
from sweeping import LONG, start, stored, sweep, table, wait_for_more, write

pytestmark = pytest.mark.nightly


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, Sequence["subprocess.Popen[bytes]"]]]:
    """The address of a Dask cluster on this machine, and its processes: a scheduler and two workers."""
    pytest.importorskip("distributed")
    dask = str(Path(sysconfig.get_path("scripts")) / "dask")
    port = free_port()
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        [dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **quiet
    ) as scheduler:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        workers = [subprocess.Popen([dask, "worker", f"tcp://127.0.0.1:{port}", *options], **quiet) for _ in range(2)]
        try:
            wait_for_workers(port, 2)
            yield f"dask://127.0.0.1:{port}", [scheduler, *workers]
        finally:
            for process in (*workers, scheduler):
                process.kill()
            for process in workers:
                process.wait()


def wait_for_workers(port: int, n: int) -> None:
    program = (
        "from distributed import Client\n"
        f"with Client('tcp://127.0.0.1:{port}', timeout=30) as client: client.wait_for_workers({n}, timeout=30)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_a_dask_cluster_gives_the_same_table(folder: Path) -> None:
    """Also when one of its two workers is killed in the middle."""
    write(folder, LONG)
    sweep(folder, "whole")
    with cluster(folder) as (url, processes):
        process = start(folder, "--executor", url)
        wait_for_more(process, folder / "out", 2)
        assert process.poll() is None
        processes[1].kill()
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    document = json.loads(stdout)
    assert (document["runs"], document["failures"]) == (240, [])
    assert document["done_now"] == 240
    assert table(folder) == table(folder, "whole")


def test_a_cluster_that_goes_away(folder: Path) -> None:
    write(folder, LONG)
    with cluster(folder) as (url, processes):
        process = start(folder, "--executor", url)
        wait_for_more(process, folder / "out", 0)
        processes[0].kill()
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    assert stdout == ""
    assert "Error: executor: no longer answers" in stderr
    kept = len(stored(folder / "out"))
    assert 0 < kept < 240
    assert sweep(folder, resume=True).done_now == 240 - kept


def test_any_executor_gives_the_same_table_and_stays_open(folder: Path) -> None:
    sweep(folder, "whole", series="first")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        swept = sweep(folder, executor=pool, series="first")
        assert swept.done_now == 12
        assert pool.submit(len, "open").result() == 4
    assert table(folder) == table(folder, "whole")
    assert lab.load_series(folder / "out").equals(lab.load_series(folder / "whole"))
    assert json.loads((folder / "out" / "environment.json").read_text())[0]["executor"] == "ProcessPoolExecutor"


def test_an_executor_that_breaks(folder: Path) -> None:
    """Its worker is killed while the first batch is under way: what is stored is intact."""
    write(folder, LONG)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:

        def kill(done: float, _: int) -> None:
            if done:
                for process in multiprocessing.active_children():
                    process.kill()

        with pytest.raises(lab.RunError, match="executor: no longer answers"):
            sweep(folder, executor=pool, progress=kill)
    kept = len(stored(folder / "out"))
    assert 0 < kept < 240
    assert sweep(folder, resume=True).done_now == 240 - kept
