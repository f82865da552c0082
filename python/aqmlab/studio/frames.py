"""Samples on their way to the browser: gathered, thinned out by minimum and maximum, packed as binary frames."""

import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
"""A row for each sample, the time first; NaN where there is no value."""

MAGIC = b"AQM1"
HEAD = struct.Struct("<4s5I2d")
"""Magic, epoch, sequence, rows, columns, numbers of the content; the present (s) and the speed measured."""

MOST_ROWS = 20_000
"""How many rows wait for a slow client before they are thinned out further."""


def thinned(rows: Rows, width: float) -> Rows:
    """Return two rows for each `width` seconds: of each column the minimum and the maximum, as they came.

    Rows that are hardly more than that already are returned as they are.
    """
    buckets = np.floor(rows[:, 0].astype(np.float64) / width)
    starts = np.flatnonzero(np.diff(buckets, prepend=-np.inf))
    if len(rows) <= 3 * len(starts):
        return rows
    low, high = np.fmin.reduceat(rows, starts), np.fmax.reduceat(rows, starts)
    bucket = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
    at = np.arange(len(rows))[:, None]

    def first(extreme: Rows) -> NDArray[np.intp]:
        """The first index of the extreme of each bucket and column."""
        return np.minimum.reduceat(np.where(rows == extreme[bucket], at, len(rows)), starts)

    rising = first(low) <= first(high)
    found = np.empty((2 * len(starts), rows.shape[1]), np.float32)
    found[0::2], found[1::2] = np.where(rising, low, high), np.where(rising, high, low)
    return found


class Frames:
    """Samples that have not been sent yet; one thread adds, another takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[Rows] = []
        self._count = 0
        self._content: Sequence[int] = ()
        self._now = self._speed = 0.0
        self._epoch = 0
        self._is_new = self._is_held = False
        self._before: list[_Waiting] = []
        self.width = 1e-6
        """Seconds of a pixel."""

    def restart(self, epoch: int, now: float, *, goes_on: bool) -> None:
        """Begin another epoch. What waits is forgotten, unless the same run `goes_on` with other columns.

        Nothing of the epoch is taken until the client has heard of it: `release`.
        """
        with self._lock:
            self._is_held = True
            self._before = [*self._before, self._waiting()] if goes_on and self._rows else []
            self._epoch, self._now = epoch, now
            self._rows, self._count, self._is_new = [], 0, False

    def release(self) -> None:
        """The client has heard of the epoch."""
        with self._lock:
            self._is_held = False

    def add(self, rows: Rows, now: float, speed: float) -> None:
        """Take in rows, and thin out those that wait where there are too many."""
        with self._lock:
            self._now, self._speed = now, speed
            if not len(rows):
                return
            self._rows.append(rows)
            self._count += len(rows)
            self._is_new = True
            width = self.width
            while self._count > MOST_ROWS:
                self._rows = [thinned(np.concatenate(self._rows), width)]
                self._count, width = len(self._rows[0]), 2 * width

    def show(self, content: Sequence[int]) -> None:
        """Take in how many packets wait now, by lane, link and group."""
        with self._lock:
            self._content, self._is_new = content, True

    @property
    def has_before(self) -> bool:
        """True if samples of an earlier epoch wait, which must be sent before the client hears of the present one."""
        return bool(self._before)

    def take(self, sequence: int) -> bytes | None:
        """Return what is new as a frame, earlier epochs first; None if nothing is."""
        with self._lock:
            if self._before:
                waiting = self._before.pop(0)
            elif self._is_new and not self._is_held:
                waiting = self._waiting()
                self._rows, self._count, self._is_new = [], 0, False
            else:
                return None
        return waiting.packed(sequence, self.width)

    def _waiting(self) -> "_Waiting":
        return _Waiting(self._rows, self._content, self._now, self._speed, self._epoch)


@dataclass(frozen=True)
class _Waiting:
    """The parts of a frame."""

    rows: Sequence[Rows]
    content: Sequence[int]
    now: float
    speed: float
    epoch: int

    def packed(self, sequence: int, width: float) -> bytes:
        rows = thinned(np.concatenate(self.rows), width) if self.rows else np.empty((0, 0), np.float32)
        head = HEAD.pack(MAGIC, self.epoch, sequence, *rows.shape, len(self.content), self.now, self.speed)
        columns = np.ascontiguousarray(rows.T, "<f4")
        return head + columns.tobytes() + np.asarray(self.content, "<f4").tobytes()
