"""Faults planted in schemes and in BBRv3, and how many of them `aqmlab break` finds.

    python validation/break_mutants.py --list            the twenty faults of schemes, as they are drawn
    python validation/break_mutants.py [--only ID...]    build and search those without a row; resumable
    python validation/break_mutants.py --prove ID        compare 200 random scenarios with and without a fault
    python validation/break_mutants.py --null NAME       search codel or reno against itself, twenty times per measure

A fault of a scheme is drawn under a fixed seed from all numbers, comparisons and assignments of the code of six files,
outside of tests, comments, texts and declarations of parameters: a number is doubled (0 becomes 1), a comparison is
reversed, an assignment is left out, and += becomes -=. One that does not compile is replaced by the next of the draw.
`tests/bbr3_mutants.py` lists the faults of BBRv3. Each search has the budget of `RUNS`, which was fixed before
the first one.
`mutants.jsonl` has a row for each search that is done.

The faulty engine runs in a separate process. The original is the engine of this process.
"""

import argparse
import json
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from aqmlab.runs.task import Task, do
from aqmlab.worst import spaces
from aqmlab.worst.plan import Contender, WorstPlan, plan
from aqmlab.worst.result import Worst, find_worst
from aqmlab.worst.trials import case_of

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

ROWS = Path(__file__).with_name("mutants.jsonl")
NULLS = Path(__file__).with_name("mutants-null.jsonl")
SEED, COUNT = 66, 20
"""Of the draw."""
RUNS = "6000 runs"
"""Budget of a search: about five minutes of one core, at 50 ms per run."""
PROOFS = 200
"""Random scenarios in which an excluded fault must change nothing."""
NULL_SEARCHES = 20

FILES = {
    "crates/aqm/src/schemes/codel.rs": "codel",
    "crates/aqm/src/schemes/pie.rs": "pie",
    "crates/aqm/src/disciplines/fair.rs": "fq-codel",
    "crates/aqm/src/schemes/cake.rs": "cake",
    "crates/aqm/src/schemes/dualpi2.rs": "dualpi2",
    "crates/aqm/src/schemes/red.rs": "red",
}
"""The files, and the scheme that a search of a fault there has as its target. FQ-CoDel's own code is its queues."""

NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
COMPARISON = re.compile(r" (<=|>=|==|!=|<|>) ")
ASSIGNMENT = re.compile(r"^ +((?:self\.)?[\w.\[\]]+) ([-+*]?=) [^=].*;$")
REVERSED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Fault:
    """A changed line of a file: its number from 1, and the line before and after."""

    id: str
    file: str
    line: int
    right: str
    wrong: str
    target: str

    def patched(self, source: str) -> str:
        """Return the source of its file with the fault. ValueError if the line is another one by now."""
        lines = source.split("\n")
        if lines[self.line - 1] != self.right:
            raise ValueError(f"{self.id}: line {self.line} of {self.file} has changed; draw again")
        lines[self.line - 1] = self.wrong
        return "\n".join(lines)


def code(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of code: number and text, outside of tests, comments, declarations and attributes."""
    is_declared = False
    for number, line in enumerate(source.partition("#[cfg(test)]")[0].split("\n"), 1):
        if re.match(r"(params|choice)! \{|    const (INFO|FAIR|FAIR_DEFAULTS|OBSERVABLES|TC|FAIR_TC)\b|use ", line):
            is_declared = not line.endswith((";", "};"))
        elif is_declared:
            is_declared = not re.match(r"\}|    \}\)?;|    \];", line)
        elif not line.lstrip().startswith(("//", "#[")):
            yield number, line


def changes(line: str) -> Iterator[str]:
    """Yield the lines that a line may become, one fault each."""
    text = re.sub(r'"[^"]*"|//.*', lambda found: " " * len(found[0]), line)
    for found in NUMBER.finditer(text):
        value = found[0].replace("_", "")
        wrong = f"{2 * float(value) or 1.0!r}" if "." in value or "e" in value else str(2 * int(value) or 1)
        yield line[: found.start()] + wrong + line[found.end() :]
    for found in COMPARISON.finditer(text):
        yield line[: found.start(1)] + REVERSED[found[1]] + line[found.end(1) :]
    if assigned := ASSIGNMENT.match(text):
        yield line[: len(line) - len(line.lstrip())]
        if assigned[2] in ("+=", "-="):
            yield line.replace(f" {assigned[2]} ", " -= " if assigned[2] == "+=" else " += ", 1)


def drawn() -> list[Fault]:
    """Return all faults in the order of the draw."""
    every = []
    for file, target in FILES.items():
        for number, line in code((ROOT / file).read_text(encoding="utf-8")):
            for i, wrong in enumerate(changes(line)):
                name = f"{Path(file).stem}-{number}{'abcdefgh'[i % 8]}"
                every.append(Fault(name, file, number, line, wrong, target))
    random.Random(SEED).shuffle(every)
    return every


def copied(folder: Path) -> Path:
    """Copy the sources, once, for builds with faults."""
    if not (folder / "Cargo.toml").exists():
        left_out = shutil.ignore_patterns("target", ".venv", ".git", "node_modules", "__pycache__", "site")
        shutil.copytree(ROOT, folder, ignore=left_out, dirs_exist_ok=True)
    return folder


def built(folder: Path, fault: Fault) -> Path | None:
    """Build the package with a fault, and return its folder for PYTHONPATH; None if it does not compile."""
    package = folder / "built" / fault.id
    if not (package / "aqmlab").exists():
        source = copied(folder / "source")
        file, original = source / fault.file, (ROOT / fault.file).read_text(encoding="utf-8")
        file.write_text(fault.patched(original), encoding="utf-8")
        try:
            module = compiled(source, folder / "target")
        finally:
            file.write_text(original, encoding="utf-8")
        if module is None:
            return None
        shutil.copytree(ROOT / "python" / "aqmlab", package / "aqmlab.part")
        [before] = (package / "aqmlab.part").glob("_core*.so")
        shutil.copy(module, before)
        (package / "aqmlab.part").rename(package / "aqmlab")
    return package


def compiled(source: Path, target: Path) -> Path | None:
    """Build the extension of a copy of the sources; None if it does not compile."""
    fast = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16", "CARGO_INCREMENTAL": "0"}
    features = ("--features", "pyo3/extension-module")
    done = subprocess.run(
        ["cargo", "rustc", "--locked", "--quiet", "--release", "--lib", "--crate-type", "cdylib", *features],
        cwd=source / "crates" / "python",
        env=os.environ | fast | {"CARGO_TARGET_DIR": str(target)},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(done.stderr[-600:], file=sys.stderr)
        return None
    [module] = [path for path in (target / "release").iterdir() if path.suffix == ".so"]
    return module


SERVER = """
import pickle, sys
from aqmlab.runs.task import do
while batch := pickle.load(sys.stdin.buffer):
    pickle.dump(do(batch), sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""
FAULTY = "faulty"
"""The engine of a task that the faulty package runs; any name but "linux" is the simulator."""


class TwoEngines(Executor):
    """Runs the tasks of the faulty engine in a process of their own, and all others here."""

    def __init__(self, package: Path, variables: Mapping[str, str]) -> None:
        environment = os.environ | {"PYTHONPATH": str(package)} | dict(variables)
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def submit(self, _: Callable[..., Any], /, batch: Sequence[Task]) -> "Future[Any]":  # type: ignore[override]
        """Run a batch now."""
        faulty = [i for i, task in enumerate(batch) if task.engine == FAULTY]
        if faulty:
            self._send([batch[i] for i in faulty])
        here = do([task for task in batch if task.engine != FAULTY])
        there = pickle.load(self._process.stdout) if faulty and self._process.stdout else []
        outcomes = iter(here), iter(there)
        done: Future[Any] = Future()
        done.set_result([next(outcomes[task.engine == FAULTY]) for task in batch])
        return done

    def close(self) -> None:
        """End the process."""
        self._send([])
        self._process.wait()

    def _send(self, batch: Sequence[Task]) -> None:
        if self._process.stdin:
            pickle.dump(batch, self._process.stdin)
            self._process.stdin.flush()


@contextmanager
def engines(package: Path, variables: Mapping[str, str]) -> Iterator[TwoEngines]:
    """Give the two engines of a search."""
    found = TwoEngines(package, variables)
    try:
        yield found
    finally:
        found.close()


def asked(target: str) -> WorstPlan:
    """Return the search of a faulty target against its original, with the settings that all searches have."""
    found = plan(target, against=[target], budget=RUNS)
    original = Contender("original", found.target.spec, found.target.kind)
    return replace(found, target=replace(found.target, engine=FAULTY), peers=(original,))


def row(name: str, about: str, found: Worst) -> dict[str, Any]:
    """Return what is stored of a search."""
    document = found.document()
    keys = ("by", "target_value", "best_peer", "ratio", "interval", "scenario", "runs", "failures")
    busy = round(found.engine, 1)
    return {
        "id": name,
        "about": about,
        "found": found.finding is not None,
        **{key: document[key] for key in keys},
        "busy": busy,
    }


def search(folder: Path, only: Sequence[str]) -> None:
    """Search the faults without a row, and store a row for each."""
    known = {each["id"]: each for each in stored(ROWS)}
    count = 0
    for fault in drawn():
        if count == COUNT:
            break
        wanted = not only or fault.id in only
        if fault.id in known:
            count += known[fault.id].get("compiles", True)
        elif wanted or not only:
            package = built(folder, fault)
            about = f"{fault.file}:{fault.line}: {fault.right.strip()} -> {fault.wrong.strip() or 'left out'}"
            if package is None:
                keep(ROWS, {"id": fault.id, "about": about, "compiles": False})
                continue
            count += 1
            with engines(package, {}) as executor:
                keep(ROWS, row(fault.id, about, find_worst(asked(fault.target), executor=executor, jobs=1)))
            shutil.rmtree(package)
        else:
            count += 1
    if not only or any(name.startswith("bbr3-") for name in only):
        of_bbr3(folder, known, only)
    summary()


def of_bbr3(folder: Path, known: Mapping[str, Any], only: Sequence[str]) -> None:
    """Search the faults of BBRv3, which one build has."""
    faults = import_module("bbr3_mutants")
    wanted = [(i, each) for i, each in enumerate(faults.MUTANTS, 1) if f"bbr3-{i}" not in known]
    wanted = [(i, each) for i, each in wanted if not only or f"bbr3-{i}" in only]
    if not wanted:
        return
    package = folder / "bbr3" / "python"
    if not (folder / "bbr3" / "target" / "release").exists():
        package = faults.build(folder / "bbr3")
    for i, mutant in wanted:
        with engines(package, {"AQMLAB_MUTANT": str(i)}) as executor:
            found = find_worst(asked("bbr3"), executor=executor, jobs=1)
        keep(ROWS, row(f"bbr3-{i}", mutant.name, found))


def prove(folder: Path, name: str) -> None:
    """Print how many of 200 random scenarios a fault changes, and the command that compares the frozen digests."""
    fault = next(each for each in drawn() if each.id == name)
    package = built(folder, fault)
    if package is None:
        sys.exit(f"{name}: does not compile")
    changed = 0
    search_plan = asked(fault.target)
    with engines(package, {}) as executor:
        for i in range(PROOFS):
            document = spaces.read(spaces.BUILT_IN).scenario(search_plan.space.draw(random.Random(f"proof-{i}")))
            case = case_of(search_plan, document)
            tasks = [Task(case.scenarios[0], fault.target, 1, engine=engine) for engine in (FAULTY, "original")]
            ours, theirs = (getattr(run, "text", str(run)) for run in executor.submit(do, tasks).result())
            changed += without_engine(ours) != without_engine(theirs)
    print(f"{name}: {changed} of {PROOFS} random scenarios change")
    print(f"PYTHONPATH={package} python validation/frozen.py --only {fault.target}")


def without_engine(text: str) -> str:
    """Return the JSON of a run without its cost."""
    return re.sub(r'"engine":\{[^}]*\}', "", text)


def null(name: str) -> None:
    """Search a target against itself under other random numbers, for each default measure."""
    done = {(each["target"], each["by"], each["seed"]) for each in stored(NULLS)}
    for criterion in plan(name, against=[name]).criteria[:-1]:
        for seed in range(1, NULL_SEARCHES + 1):
            if (name, criterion.name, seed) not in done:
                found = find_worst(plan(name, against=[name], by=[criterion.name], budget=RUNS, seed=seed))
                document = found.document()
                keys = ("seed", "target_value", "best_peer", "ratio", "interval", "scenario", "runs")
                is_found = found.finding is not None
                keep(
                    NULLS,
                    {"target": name, "by": criterion.name, "found": is_found, **{key: document[key] for key in keys}},
                )


def stored(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines; a missing file has none."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def keep(path: Path, found: Mapping[str, Any]) -> None:
    """Append a row."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(found, ensure_ascii=False) + "\n")
    print(json.dumps({key: value for key, value in found.items() if key != "scenario"}, ensure_ascii=False), flush=True)


def summary() -> None:
    """Print the share of the faults that were found."""
    rows = [each for each in stored(ROWS) if each.get("compiles", True)]
    for title, group in (
        ("schemes", [each for each in rows if not each["id"].startswith("bbr3-")]),
        ("BBRv3", [each for each in rows if each["id"].startswith("bbr3-")]),
    ):
        print(f"{title}: {sum(each['found'] for each in group)} of {len(group)} faults found")


def main() -> None:
    """List, build and search, prove, or test against itself."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the draw")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="these faults, such as pie-210a or bbr3-5")
    parser.add_argument("--prove", metavar="ID", help="compare random scenarios with and without a fault")
    parser.add_argument("--null", choices=("codel", "reno"), help="search a target against itself")
    parser.add_argument("--folder", type=Path, default=ROOT / "target" / "mutants", help="where faults are built")
    given = parser.parse_args()
    if given.list:
        for fault in drawn()[: 2 * COUNT]:
            print(
                f"{fault.id}: {fault.file}:{fault.line}: {fault.right.strip()} -> {fault.wrong.strip() or 'left out'}"
            )
    elif given.prove:
        prove(given.folder, given.prove)
    elif given.null:
        null(given.null)
    else:
        search(given.folder, given.only)


if __name__ == "__main__":
    main()
