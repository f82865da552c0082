"""Count the instructions of eleven fixed runs and hold them to benches/instructions.json, whatever the load.

    python benches/instructions.py                 # the built extension; exits with 1 if a run takes 1 % more
    python benches/instructions.py --store         # store the counts of the built extension
    python benches/instructions.py --release       # build HEAD as for a release, and store its counts beside those
    python benches/instructions.py --commit NAME   # the same of another commit, stored under its name

A commit that does not know a run is counted without it. `python benches/stored.py` writes the counts of release builds
onto the benchmark page.

Needs valgrind. Only the event loop is counted, neither set-up nor results. A count depends on the compiler: if
it is not the stored one, the parent commit is built and counted as well, and the counts are held to those.
"""

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STORED = HERE / "instructions.json"
EXTENSION = ROOT / "python" / "aqmlab" / "_core.abi3.so"
MOST = 1.01
"""A run may take so many times the stored instructions."""

LOOP = "*NetworkState*advance*"
"""The function that is counted, with all that it calls."""
PUSH_AND_POP = "*python::line::Line::__pymethod_p*"
GUIDE = "target/pgo/runs.profdata"
"""What a release is optimized for, as the Makefile names it."""
LOOPS = {"6f37adff": "*Simulation*advance*"}
"""Its name in other commits."""

FLOWS = """schema = 1
duration = "2 s"
warmup = "0 s"
links = [{ name = "bottleneck", rate = "450 Mbit/s", buffer = "1000 packets", target = "500 packets" }]
[[flows]]
name = "ftp"
count = 5000
rtt = { uniform = ["40 ms", "200 ms"] }
start = { uniform = ["0 s", "1 s"] }
tcp = "rfc"
"""
LINE = "rate = '7.9 Gbit/s'\nbuffer = '2000 packets'\ndelay = '100 us'\naqm = 'codel'"
PACKETS = 100_000
"""Through the link in virtual time."""

RUNS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "Table 1, DropTail": ("li2014/table-1", "droptail", {}),
    "Table 1, RED": ("li2014/table-1", "red", {}),
    "Table 1, PI": ("li2014/table-1", "pi", {}),
    "bulk, CoDel": ("deployed/bulk", "codel", {}),
    "bulk, FQ-CoDel": ("deployed/bulk", "fq-codel", {}),
    "bulk, CAKE": ("deployed/bulk", "cake", {}),
    "bulk, DualPI2": ("deployed/bulk", "dualpi2", {}),
    "bulk, BBRv3": ("deployed/bulk", "fq-codel", {"duration": "30 s", "flows.ftp.tcp.congestion_control": "bbr3"}),
    "5,000 mixed round trips": ("", "pi", {}),
    "Wi-Fi cell": ("wifi/thirty", "fq-codel", {"duration": "20 s", "warmup": "2 s"}),
    "link in virtual time": ("", "", {}),
}
"""Scenario, scheme, and the values that are set."""


def main() -> int:
    """Count and hold to what is stored, or store; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--commit")
    options = parser.parse_args()
    stored: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    if options.release or options.commit:
        extension = of_commit(options.commit or "HEAD", "release")
        found = counts(extension, LOOPS.get(options.commit, LOOP), is_other=bool(options.commit))
        stored[options.commit or "release"] = found
    elif options.store:
        stored |= {"compiler": compiler(), "build": counts(EXTENSION)}
    else:
        return verdict(stored)
    STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return 0


def verdict(stored: Mapping[str, Any]) -> int:
    """Print the counts beside the stored ones; return 1 if a run takes more."""
    before: Mapping[str, int] = stored["build"]
    if stored["compiler"] != compiler():
        print(f"Counts are stored for {stored['compiler']}, this is {compiler()}: the parent commit is counted as well")
        before = counts(of_commit("HEAD~1", "quick"))
    worse = 0
    for name, count in counts(EXTENSION).items():
        ratio = count / before[name] if before.get(name) else 1.0
        worse += ratio > MOST
        print(f"{name:<26}{count / 1e6:10.1f} million, {ratio:.4f} of the stored count{' (more)' * (ratio > MOST)}")
    if worse:
        print("More instructions. If they buy something: `benches/instructions.py --store`, and say in the commit what")
    return min(worse, 1)


def compiler(asked: str = "--version") -> str:
    """The version of the compiler, or what else it is asked for."""
    return subprocess.run(["rustc", asked], capture_output=True, text=True, check=True).stdout.strip()


def of_commit(commit: str, profile: str) -> Path:
    """Return the extension of a commit, built with a profile of Cargo.toml; a release of HEAD as `make wheel` does."""
    target = ROOT / "target" / "instructions"
    environment = os.environ | {"CARGO_TARGET_DIR": str(target)}
    built = target / profile
    options: list[str] = []
    if (commit, profile) == ("HEAD", "release"):
        subprocess.run(["make", GUIDE], cwd=ROOT, check=True)
        environment["RUSTFLAGS"] = f"-Cprofile-use={ROOT / GUIDE}"
        [host] = re.findall("host: (.+)", compiler("-vV"))
        options, built = ["--target", host], target / host / profile  # names of functions depend on it
    build = [
        "cargo",
        "rustc",
        "--profile",
        profile,
        "--locked",
        "--quiet",
        "-p",
        "aqmlab-python",
        "--lib",
        "--crate-type",
        "cdylib",
        *options,
    ]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder, commit], cwd=ROOT, check=True)
        try:
            subprocess.run([*build, "--features", "pyo3/extension-module"], cwd=folder, env=environment, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)
    [extension] = built.glob("lib*.so")
    return extension


def counts(extension: Path, loop: str = LOOP, *, is_other: bool = False) -> dict[str, int]:
    """Return the instructions of each run, two runs at a time; of another commit those of the runs that it can do."""

    def counted(name: str) -> int | None:
        try:
            return count(extension, name, loop)
        except (LookupError, subprocess.CalledProcessError):
            if is_other:
                return None
            raise

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = zip(RUNS, threads.map(counted, RUNS), strict=True)
        return {name: number for name, number in found if number is not None}


def count(extension: Path, name: str, loop: str) -> int:
    """Return the instructions of a run."""
    counted = loop if RUNS[name][1] else PUSH_AND_POP
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={counted}"]
    this = [
        sys.executable,
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import instructions as i; i.go(*sys.argv[1:])",
    ]
    done = subprocess.run([*command, *this, str(extension), name], capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None or found[1] == "0":
        raise LookupError(f"{counted} is not in {extension}: {done.stderr}")
    return int(found[1])


def go(file: str, name: str) -> None:
    """Do one run with an extension, which is loaded without the package."""
    spec = importlib.util.spec_from_file_location("aqmlab._core", file)
    assert spec
    assert spec.loader
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    scenario, scheme, values = RUNS[name]
    if not scheme:
        return through(core.Line(LINE, 1))
    text = (
        (ROOT / "python" / "aqmlab" / "scenarios" / f"{scenario}.toml").read_text(encoding="utf-8")
        if scenario
        else FLOWS
    )
    core.run(core.Scenario(text, name, [*values.items()]), scheme)
    return None


def through(line: Any) -> None:
    """Send packets through a link, one each microsecond."""
    for number in range(1, PACKETS + 1):
        now = 1000 * number
        line.push(now, 1000, number, "ect0", number % 16, 0, 0)
        while (due := line.next_event()) is not None and due <= now:
            line.pop(due)


if __name__ == "__main__":
    sys.exit(main())
