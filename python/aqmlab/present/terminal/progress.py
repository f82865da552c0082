"""How far the work is: a bar on stderr, or one line where stderr is not a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from aqmlab.runs.executor import Progress as OnDone

ESTIMATE_AFTER = 5
"""Seconds of a sweep before its time is estimated."""


@contextmanager
def progress(title: str) -> Iterator[OnDone]:
    """Yield a callback that moves a bar on stderr, shown once two seconds have passed."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
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
    with Progress(*heads, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        bar.add_task(title, total=None, rate="")
        yield _Pace(bar, time.monotonic())


@dataclass
class _Pace:
    """How fast the runs of a sweep go, on stderr: a bar for people, one line where stderr is not a terminal."""

    bar: Progress | None
    began: float
    first: float | None = None
    told: bool = False

    def __call__(self, done: float, total: int) -> None:
        now = time.monotonic()
        self.first = done if self.first is None else self.first
        rate = (done - self.first) / max(now - self.began, 1e-9)
        if self.bar:
            self.bar.update(self.bar.task_ids[0], completed=done, total=total, rate=f"{rate:.1f} runs/s")
        elif rate and not self.told and now - self.began > ESTIMATE_AFTER:
            self.told = True
            left = _clock((total - done) / rate)
            print(f"{done:,.0f} of {total:,} runs done, {rate:.1f} runs/s, about {left} left", file=sys.stderr)


def _clock(seconds: float) -> str:
    """Seconds as people say them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
