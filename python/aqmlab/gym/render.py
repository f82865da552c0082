"""Pictures of an episode: the queue and its target above, p below, of the last steps."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 400, 240
"""Size of a picture; each column is a step."""
QUEUE, TARGET, P, PAPER = (31, 119, 180), (214, 39, 40), (127, 127, 127), (255, 255, 255)
SPLIT = 170
"""Rows for the queue; the others are for p."""


class History:
    """The readings of the last steps."""

    def __init__(self) -> None:
        self.rows: deque[dict[str, float]] = deque(maxlen=WIDTH)
        self.time = 0.0

    def add(self, readings: dict[str, float], every: float) -> None:
        """Note a step."""
        self.rows.append(readings)
        self.time += every


def frame(history: History, mode: str) -> Any:
    """Return one row of text or a picture."""
    return _line(history) if mode == "ansi" else _picture(history)


def _line(history: History) -> str:
    if not history.rows:
        return "0.000 s: nothing yet"
    now = history.rows[-1]
    bar = "#" * round(20 * min(now["queue"] / (2 * now["target"]), 1))
    return (
        f"{history.time:.3f} s: queue {now['queue']:.0f} of {now['target']:.0f} [{bar:<20}] "
        f"sojourn {1000 * now['sojourn']:.1f} ms, p {now['p']:.4f}"
    )


def _picture(history: History) -> NDArray[np.uint8]:
    picture = np.full((HEIGHT, WIDTH, 3), PAPER, dtype=np.uint8)
    if not history.rows:
        return picture
    queue, target, p = (np.array([row[name] for row in history.rows]) for name in ("queue", "target", "p"))
    top = max(float(queue.max()), 2 * float(target.max()), 1.0)
    for x, (length, aim, probability) in enumerate(zip(queue, target, np.sqrt(p), strict=True)):
        picture[SPLIT - round(length / top * (SPLIT - 1)) : SPLIT, x] = QUEUE
        picture[SPLIT - 1 - round(aim / top * (SPLIT - 1)), x] = TARGET
        picture[HEIGHT - round(float(probability) * (HEIGHT - SPLIT - 5)) : HEIGHT, x] = P
    return picture
