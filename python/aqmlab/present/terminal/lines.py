"""The progress of work as messages on stderr, where no bar can move: occasionally, and only for long work."""

import sys
import time

TELL_EVERY = 10
"""Seconds between two lines, at least."""

TELL_STEP = 0.1
"""Share of the work between two lines, at least."""


class ProgressLines:
    """Says on stderr how much of a work is done, and about how long the rest takes."""

    def __init__(self, title: str) -> None:
        self._title, self._began, self._told_at, self._told = title, time.monotonic(), 0.0, 0.0

    def __call__(self, done: float, total: float) -> None:
        """Take in that so much of the whole is done."""
        now, share = time.monotonic() - self._began, done / max(total, 1e-9)
        if now - self._told_at < TELL_EVERY or not self._told + TELL_STEP <= share < 1:
            return
        self._told_at, self._told = now, share
        left = clock((1 - share) / share * now)
        print(f"{self._title}: {100 * share:.0f} % done, about {left} left", file=sys.stderr)


def clock(seconds: float) -> str:
    """Seconds as people say them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
