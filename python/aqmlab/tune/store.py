"""The runs of a tune, remembered: a tune that goes on does everything again but for the runs that are there."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aqmlab import files
from aqmlab.problems import InputError
from aqmlab.runs.columns import StoreError

RUNS, PLAN, JOURNAL = "runs.jsonl", "tune.json", "optuna.journal"


@dataclass(frozen=True)
class Done:
    """What one run measured, or why it failed, and the seconds of the engine."""

    values: Mapping[str, float | None]
    failed: str | None = None
    wall: float = 0.0


Key = tuple[str, str, int]
"""A run: scenario as it was asked for, scheme with parameters, seed."""


class Store:
    """The runs that are done, in memory and, with a folder, in its file runs.jsonl, a line each."""

    def __init__(self, folder: Path | None, plan: Mapping[str, Any], *, resume: bool) -> None:
        self.folder = folder
        self.runs: dict[Key, Done] = {}
        self.before = 0.0
        """Seconds of the engine in earlier sessions."""
        self.asked: set[Key] = set()
        """The runs that this process has asked for."""
        if folder is None:
            return
        text = json.dumps(plan, indent=1, sort_keys=True) + "\n"
        if (folder / PLAN).exists():
            self._check(folder / PLAN, text, resume=resume)
            self._load(folder / RUNS)
            self.before = sum(done.wall for done in self.runs.values())
        else:
            folder.mkdir(parents=True, exist_ok=True)
            files.write(folder / PLAN, text.encode())
        for name in (JOURNAL, f"{JOURNAL}.lock"):
            with suppress(FileNotFoundError):
                (folder / name).unlink()  # it is written again from the runs

    @staticmethod
    def _check(path: Path, text: str, *, resume: bool) -> None:
        if not resume:
            raise InputError("out", f"{path.parent}: has a tune already; go on with --resume, or choose another folder")
        old, new = (json.loads(each) for each in (path.read_text(encoding="utf-8"), text))
        changed = [key for key in new if old.get(key) != new[key]]
        if changed:
            raise InputError(
                "out",
                f"{path.parent}: the tune there differs in {', '.join(changed)}; only budget, jobs and held-out "
                "runs may change",
            )

    def _load(self, path: Path) -> None:
        """Read the lines; the last one may be torn, and is then cut off."""
        if not path.exists():
            return
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(path, len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            key, done = _read(line, f"{path}: line {number}")
            self.runs[key] = done

    @property
    def ahead(self) -> set[Key]:
        """The stored runs that this process has not asked for yet."""
        return self.runs.keys() - self.asked

    def add(self, found: Sequence[tuple[Key, Done]]) -> None:
        """Remember runs, in the file too; what a crash of the machine takes away is done again."""
        self.runs.update(found)
        if self.folder is None:
            return
        with (self.folder / RUNS).open("a", encoding="utf-8") as file:
            for (scenario, aqm, seed), done in found:
                entry = {"scenario": scenario, "aqm": aqm, "seed": seed, **vars(done)}
                file.write(json.dumps(entry) + "\n")


def _read(line: bytes, where: str) -> tuple[Key, Done]:
    try:
        entry = json.loads(line)
        return (entry["scenario"], entry["aqm"], entry["seed"]), Done(entry["values"], entry["failed"], entry["wall"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{where} is damaged ({error}); delete it, and its run is done again") from error
