"""The view of a live run: a row of the terminal that says what each direction of the link does."""

from collections.abc import Mapping
from typing import IO

from aqmlab import catalogue
from aqmlab.runs.live import View

REFRESH = 0.1
"""Seconds between two looks of a `Dial`."""


class Dial:
    """One row of a terminal while a command runs: queue, rate, p, drops and marks per second of each direction."""

    def __init__(self, out: IO[str], schemes: Mapping[str, str]) -> None:
        """`schemes` are the schemes of the directions, "up" and "down"."""
        self.out = out
        self.places = {name: _place_of_p(scheme) for name, scheme in schemes.items()}
        self.before: tuple[float, dict[str, View]] = (0.0, {})

    def __call__(self, seconds: float, up: View, down: View) -> None:
        """Show the present; rates are over the time since the last one."""
        then, before = self.before
        now = {"up": up, "down": down}
        if seconds - then < REFRESH:
            return
        parts = [
            self._part(name, view, before.get(name, (0, 0, 0, 0, [])), seconds - then) for name, view in now.items()
        ]
        self.out.write(f"\r\x1b[K{seconds:6.1f} s  {'   '.join(parts)}")
        self.out.flush()
        self.before = (seconds, now)

    def _part(self, name: str, now: View, before: View, span: float) -> str:
        queue, *counts, shown = now
        _, *counted, _ = before
        sent, dropped, marked = ((count - then) / span for count, then in zip(counts, counted, strict=True))
        place = self.places.get(name)
        p = "" if place is None or place >= len(shown) else f", p {shown[place]:.4f}"
        return f"{name}: {queue} packets, {8e-6 * sent:.2f} Mbit/s{p}, {dropped:.0f} drops/s, {marked:.0f} marks/s"

    def close(self) -> None:
        """Clear the row."""
        self.out.write("\r\x1b[K")
        self.out.flush()


def _place_of_p(scheme: str) -> int | None:
    """The place of a scheme's drop probability among what it shows."""
    names = [shown.name for shown in catalogue.find(catalogue.halves(scheme)[0]).observables]
    return names.index("p") if "p" in names else None
