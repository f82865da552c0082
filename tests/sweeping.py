"""What the tests of sweeps share: a small experiment, and what its folder holds."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from aqmlab.runs import sweep as sweeps
from aqmlab.runs.store import Store
from conftest import COMMAND


def write(folder: Path, text: str) -> Path:
    path = folder / "e.toml"
    path.write_text(text)
    return path


def sweep(folder: Path, out: str = "out", **options: object) -> sweeps.Sweep:
    return sweeps.sweep(folder / "e.toml", folder / out, **options)  # type: ignore[arg-type]


def table(folder: Path, out: str = "out") -> bytes:
    return (folder / out / "runs.parquet").read_bytes()


def stored(out: Path) -> list[str]:
    """The keys of all stored runs; one that was done twice is there twice until the sweep has ended."""
    return [key for path in (out / "parts").glob("*.parquet") for key in parquet.read_table(path)["key"].to_pylist()]


def split(out: Path, size: int) -> list[Path]:
    """Lay the stored runs out in parts of `size` again, as they are while a sweep goes on, and return their files."""
    store, [whole] = Store(out), list((out / "parts").iterdir())
    rows = list(store.results().values())
    whole.unlink()
    return [out / "parts" / store.add(rows[i : i + size]) for i in range(0, len(rows), size)]


LONG = """
schema = 1
title = "Long enough to be stopped"
scenarios = ["small.toml"]
aqms = ["droptail", "pi", "red"]
seeds = 80
[set]
duration = "200 s"
"""


def start(folder: Path, *options: str, before: Callable[[], object] = lambda: None) -> "subprocess.Popen[str]":
    """Start a sweep as a user does; `before` is done in its process first."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        before()

    return subprocess.Popen(
        [str(COMMAND), "sweep", "e.toml", "--out", "out", "--json", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,  # noqa: PLW1509 - no thread runs here
    )


def wait_for_more(process: "subprocess.Popen[str]", out: Path, before: int) -> None:
    """Return once more than `before` batches are stored, or the process has ended."""
    for _ in range(6000):
        if process.poll() is not None or len(list((out / "parts").glob("[!.]*.parquet"))) > before:
            return
        time.sleep(0.005)
    pytest.fail("no batch was stored within half a minute")
