"""A program in a guest of the kernel that was built last, with a file of cases to read and one of rows to write."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aqmlab.kernel.images import newest

HERE = Path(__file__).parent


def measure(program: str, orders: Sequence[dict[str, Any]], rows: Path) -> None:
    """Run the orders with a program of `kernel/`, and store its results."""
    with tempfile.TemporaryDirectory() as folder:
        cases, out = Path(folder, "cases.json"), Path(folder, "rows.jsonl")
        cases.write_text(json.dumps(orders))
        options = ("mem=512M", "time-travel=inf-cpu", "seccomp=auto", "quiet", f"uml_dir={folder}/")
        root = ("rootfstype=hostfs", "rootflags=/", "rw", f"init={HERE}/linux/init.sh", "con=null", "con0=null,fd:1")
        told = (f"HERE={HERE}/kernel", f"PROGRAM={program}", f"CASES={cases}", f"ROWS={out}")
        subprocess.run(
            [newest().path, *options, *root, *told], stdin=subprocess.DEVNULL, start_new_session=True, check=False
        )
        shutil.copy(out, rows)


def given(rows: Path) -> dict[str, Any]:
    """Return the results of the kernel, by the name of the case."""
    found = map(json.loads, rows.read_text(encoding="utf-8").splitlines())
    return {row["name"]: row["given"] for row in found}
