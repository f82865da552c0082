"""A run in virtual time twice under one seed: whether both give the same result, and the first difference if not."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest, sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aqmlab import own
from aqmlab._core import CommandError, Scenario, SchemeError
from aqmlab.csv_text import csv_text
from aqmlab.kernel.machine import StuckError
from aqmlab.runs.columns import flat
from aqmlab.runs.live import LiveRun, Watch
from aqmlab.runs.virtual import FILES, Stream, run_virtual

WRITTEN = ("*.log", "*.pcapng")
"""The files that a run writes into its folder."""


class Digested:
    """A stream that digests what is written to it, and passes it on to another one, if there is one."""

    def __init__(self, to: Stream | None = None) -> None:
        self._to, self._found = to, sha256()

    def write(self, data: bytes) -> None:
        """Take data."""
        self._found.update(data)
        if self._to:
            self._to.write(data)

    def flush(self) -> None:
        """Flush the other stream."""
        if self._to:
            self._to.flush()

    @property
    def digest(self) -> str:
        """SHA-256 of everything written."""
        return self._found.hexdigest()


def run_twice(
    scenario: Scenario,
    command: Sequence[str],
    aqm: own.Scheme | None = None,
    seed: int = 1,
    *,
    folder: Path | None = None,
    output: tuple[Stream, Stream] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> LiveRun:
    """Run a command twice under the same seed, as `run_virtual` does, and return the first run.

    Its document says under `live.repeat` whether the second run gave the same: every measure, the packets and series,
    the programs' output, and the files in `folder`. `digest` is the first run's SHA-256, `first_difference` names the
    first measure with both values, or the first file; None if there is none. A second run that fails is a difference.
    """
    first = [Digested(stream) for stream in output or (sys.stdout.buffer, sys.stderr.buffer)]
    run = run_virtual(scenario, command, aqm, seed, folder=folder, output=(first[0], first[1]), watch=watch, **options)
    parts = _parts(run, first, folder)
    with TemporaryDirectory(prefix="aqmlab-") as kept:
        _move(folder, Path(kept))
        second = [Digested(), Digested()]
        try:
            again = run_virtual(scenario, command, aqm, seed, folder=folder, output=(second[0], second[1]), **options)
            difference = _difference(parts, _parts(again, second, folder))
        except (CommandError, SchemeError, StuckError) as error:
            difference = f"the second run failed: {error.args[0]}"
        if folder:
            _move(Path(kept), folder)
    run.document["live"]["repeat"] = {
        "repeatable": difference is None,
        "digest": sha256(json.dumps(parts).encode()).hexdigest(),
        "first_difference": difference,
    }
    return run


def _move(source: Path | None, target: Path) -> None:
    """Move the files that a run has written, so that the next run finds the folder as this one has."""
    for path in _written(source):
        shutil.move(path, target / path.name)


def _written(folder: Path | None) -> Iterator[Path]:
    return chain.from_iterable(sorted(folder.glob(pattern)) for pattern in WRITTEN) if folder else iter(())


def _parts(run: LiveRun, streams: Sequence[Digested], folder: Path | None) -> dict[str, Any]:
    """Return all that a run gave: its measures, then its files by their digests."""
    document = {"live": run.document["live"], **run.document}  # first the code and the duration, which explain the rest
    measures = {name: value for part, values in document.items() for name, value in flat(part, values).items()}
    series = {link: {name: values.tolist() for name, values in found.items()} for link, found in run.series.items()}
    tables = {"flows.csv": csv_text(run.flows), "series.csv": json.dumps(series)}
    files = {name: sha256(text.encode()).hexdigest() for name, text in tables.items()}
    files |= {name: stream.digest for name, stream in zip(FILES, streams, strict=True)}
    for path in _written(folder):
        with path.open("rb") as file:
            files[path.name] = file_digest(file, "sha256").hexdigest()
    return {**measures, "warnings": list(run.warnings), **files}


def _difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str | None:
    """Return the first part that differs, with its values if it is a number; None if none differs."""
    for name in dict.fromkeys([*first, *second]):
        values = first.get(name), second.get(name)
        if values[0] != values[1]:
            are_numbers = any(isinstance(value, int | float) for value in values)
            return f"{name}: {values[0]}, then {values[1]}" if are_numbers else name
    return None
