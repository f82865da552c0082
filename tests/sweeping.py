"""What the tests of sweeps share: sweeps that are run, and what was measured in one made up by hand."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

import aqmlab
from aqmlab.runs import findings
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


def start(
    folder: Path, *options: str, out: str = "out", before: Callable[[], object] = lambda: None
) -> "subprocess.Popen[str]":
    """Start a sweep as a user does; `before` is done in its process first."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        before()

    return subprocess.Popen(
        [str(COMMAND), "sweep", "e.toml", "--out", out, "--json", *options],
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


Values = Mapping[str, Mapping[str, Sequence[float]]]


def by_hand(values: Values, **more: object) -> findings.Findings:
    """Findings with one measure, the drop ratio, by scenario, scheme and seed."""
    rows: list[dict[str, Any]] = [
        {
            "key": f"{scenario}-{aqm}-{seed}",
            "scenario": scenario,
            "link": "a",
            "aqm": aqm,
            "seed": seed,
            "state": "done",
            "error": None,
            "links.a.queue_mean": 100.0,
            "links.a.drop_ratio": value,
            **more,
        }
        for scenario, schemes in values.items()
        for aqm, given in schemes.items()
        for seed, value in enumerate(given, 1)
    ]
    return findings.Findings(Path("nowhere"), rows, len(rows))


THREE = {"droptail": (0.10, 0.12), "pi": (0.01, 0.03), "red": (0.04, 0.06)}
WIDTH = 0.127062  # of two values 0.02 apart: t(0.975, 1) = 12.7062 times 0.01


def store_series(folder: Path) -> None:
    """Write series and delays of two runs of droptail and one of a link that is not the first, as a sweep does."""
    frame = aqmlab.load_experiment(folder)
    rows = frame[(frame["aqm"] == "droptail") & (frame["set.links.bottleneck.rate"] == "5 Mbit/s")]
    keys = dict(zip(rows["seed"], rows["key"], strict=True))
    time = np.arange(100) / 100
    parts = [(keys[3], "bottleneck", 30.0), (keys[2], "bottleneck", 20.0), (keys[1], "elsewhere", 10.0)]
    for name in ("series", "delays"):
        (folder / name).mkdir()
    for i, (key, link, queue) in enumerate(parts):
        series = pd.DataFrame({"key": key, "link": link, "time": time, "queue": queue, "utilisation": 1.0})
        series.to_parquet(folder / "series" / f"{i}.parquet", index=False)
        delays = pd.DataFrame({"key": key, "link": link, "queue_delay": [queue / 1e3, 0.1], "share": [0.25, 1.0]})
        delays.to_parquet(folder / "delays" / f"{i}.parquet", index=False)
