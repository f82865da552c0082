"""The memory that all sessions may take together, and what each has of it."""

import threading
from dataclasses import dataclass, field

from aqmlab._core import Watch
from aqmlab.problems import InputError
from aqmlab.studio.gate import SOCKETS

WHOLE = 1.8e9
"""Bytes of all sessions, as estimated and counted; with all else the server takes at most 2.5 GB."""
OWN = 20e6
"""Bytes of these that each session has, whatever the others take."""
LIMIT = 2e9
"""Bytes of the engine above which simulations that hold more than `OWN` are ended while they step."""


class MemoryPool:
    """The memory of all sessions. Each has `OWN`; more comes from the rest, which they share."""

    def __init__(self, whole: float = WHOLE, own: float = OWN) -> None:
        self.own, self.common = own, whole - SOCKETS * own
        self._lock = threading.Lock()
        self._shares: list[Share] = []

    def share(self) -> "Share":
        """Return the share of a new session."""
        found = Share(self)
        with self._lock:
            self._shares.append(found)
        return found

    def leave(self, share: "Share") -> None:
        """Forget what a session held."""
        with self._lock:
            self._shares.remove(share)

    def hold(self, share: "Share", held: float, more: float) -> None:
        """Let a session hold so many bytes, and take `more`; InputError if they are too many."""
        with self._lock:
            share.held = held
            others = sum(max(0.0, each.held - self.own) for each in self._shares if each is not share)
            most = self.own + max(0.0, self.common - others)
            if held + more > most:
                raise InputError(
                    "memory",
                    f"about {(held + more) / 1e9:.3g} GB for the lanes and marks of this session; at most "
                    f"{most / 1e9:.3g} GB with the other sessions: use fewer flows, lanes or marks",
                )
            share.held += more


@dataclass(eq=False)
class Share:
    """The memory of one session."""

    budget: MemoryPool
    held: float = 0
    """Bytes, those included that it is about to take."""
    watch: Watch = field(default_factory=lambda: Watch(LIMIT, OWN / LIMIT))
    """Ends simulations that outgrow all estimates."""

    def hold(self, held: float, more: float) -> None:
        """Hold so many bytes, and take `more`; InputError if they are too many."""
        self.budget.hold(self, held, more)

    def close(self) -> None:
        """Give everything back."""
        self.budget.leave(self)


POOL = MemoryPool()
"""The budget of this process."""
