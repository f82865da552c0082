"""The progress of work: a bar on stderr, or occasional messages if stderr is not a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from aqmlab.present.terminal.console import Plain
from aqmlab.present.terminal.lines import TELL_EVERY, TELL_STEP, clock
from aqmlab.runs.executor import Progress as OnDone

ENOUGH = 2
"""Runs done before the time left is estimated: one alone may be the longest, or have waited for the others."""


@contextmanager
def progress(title: str) -> Iterator[OnDone]:
    """Yield a callback that moves a bar on stderr, shown once two seconds have passed."""
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Plain(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=None)
    start = Timer(2.0, bar.start)
    start.daemon = True
    start.start()
    try:
        yield lambda done, total: bar.update(task, completed=done, total=total)
    finally:
        start.cancel()
        start.join()
        bar.stop()


@contextmanager
def pace(title: str) -> Iterator[OnDone]:
    """Yield a callback that shows how far a sweep is, its rate and the time left."""
    if not sys.stderr.isatty():
        yield _Pace(None, time.monotonic())
        return
    heads = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*heads, TimeRemainingColumn(), console=Plain(stderr=True), transient=True) as bar:
        bar.add_task(title, total=None, rate="")
        yield _Pace(bar, time.monotonic())


@dataclass
class _Pace:
    """The pace of a sweep's runs, on stderr: a bar for people, lines in steps where stderr is not a terminal.

    The rate is the mean over all runs since the start, so each message corrects the one before.
    """

    bar: Progress | None
    began: float
    first: float | None = None
    reported_at: float = 0.0
    reported: float = 0.0

    def __call__(self, done: float, total: int) -> None:
        now = time.monotonic() - self.began
        self.first = done if self.first is None else self.first
        rate = (done - self.first) / max(now, 1e-9)
        if self.bar:
            self.bar.update(self.bar.task_ids[0], completed=done, total=total, rate=f"{rate:.1f} runs/s")
        elif self._is_due(now, done, total):
            self.reported_at, self.reported = now, done
            left = clock((total - done) / rate)
            print(f"{done:,.0f} of {total:,} runs done, {rate:.1f} runs/s, about {left} left", file=sys.stderr)

    def _is_due(self, now: float, done: float, total: int) -> bool:
        """Return whether a message is due: enough is known, time has passed, a step is done, and work remains."""
        is_known = done - (self.first or 0.0) >= ENOUGH
        is_step = not self.reported or done - self.reported >= TELL_STEP * total
        return is_known and is_step and done < total and now - self.reported_at >= TELL_EVERY
