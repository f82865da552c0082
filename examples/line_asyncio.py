"""Protocols of asyncio over a line in virtual time: a minute takes a fraction of a second, and each repeat is the same.

python line_asyncio.py

`VirtualLoop` is an event loop whose clock jumps to the next timer. `Wire` gives two `asyncio.DatagramProtocol`s the two
ends of a path; whatever is built on datagrams and `loop.time()` runs unchanged.
"""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, cast

import aqmlab

ACCESS = """
schema = 1
duration = "60 s"
[[links]]
name = "up"
rate = "2 Mbit/s"
buffer = "300 packets"
[[links]]
name = "down"
rate = "20 Mbit/s"
buffer = "300 packets"
[[flows]]
rtt = "30 ms"
"""
HEADERS = 28  # IPv4 and UDP


class JumpingSelector(selectors.SelectSelector):
    """Waits for nothing: time goes to the end of the wait at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass; nothing is ever ready."""
        if timeout is None:
            raise RuntimeError("nothing is left to happen")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time that begins at 0."""

    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return the time, s."""
        return self._jumping.now


class End(asyncio.DatagramTransport):
    """One end of a path, for a protocol."""

    def __init__(self, wire: "Wire", line: aqmlab.Line[bytes], flow: int) -> None:
        super().__init__()
        self._wire, self._line, self._flow = wire, line, flow

    def sendto(self, data: Any, addr: Any = None) -> None:  # noqa: ARG002
        """Send a datagram to the other end, the only one there is."""
        self._line.push(self._wire.now(), len(data) + HEADERS, bytes(data), flow=self._flow)
        self._wire.look()


class Wire:
    """Moves datagrams through a path as the loop's time goes on."""

    def __init__(
        self, path: aqmlab.Path[bytes], client: asyncio.DatagramProtocol, server: asyncio.DatagramProtocol
    ) -> None:
        self._loop, self._path = asyncio.get_running_loop(), path
        self._receivers = {"up": server, "down": client}
        self._look: asyncio.TimerHandle | None = None
        client.connection_made(End(self, path.up, 1))
        server.connection_made(End(self, path.down, 1))

    def now(self) -> int:
        """The loop's time, ns."""
        return max(round(self._loop.time() * 1e9), self._path.up.now, self._path.down.now)

    def look(self) -> None:
        """Deliver what is due, and look again when something is."""
        while (due := self._path.next_event()) is not None and due <= self.now():
            if out := self._path.pop(self.now()):
                side, delivery = out
                self._receivers[side].datagram_received(delivery.payload, (side, 0))
        if self._look:
            self._look.cancel()
        self._look = None if due is None else self._loop.call_at(due / 1e9, self.look)


class Echo(asyncio.DatagramProtocol):
    """Sends back what it gets."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the end."""
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:  # noqa: ARG002
        """Answer."""
        self._transport.sendto(data)


class Client(Echo):
    """Notes when each datagram has come back."""

    def __init__(self, time: Callable[[], float]) -> None:
        self.sent: dict[bytes, float] = {}
        self.round_trips: list[float] = []
        self._time = time

    def ask(self, number: int, length: int) -> None:
        """Send a datagram that is its number."""
        data = number.to_bytes(length, "big")
        self.sent[data] = self._time()
        self._transport.sendto(data)

    def datagram_received(self, data: bytes, addr: Any) -> None:  # noqa: ARG002
        """Note the round trip."""
        self.round_trips.append(self._time() - self.sent.pop(data))


async def ask(aqm: str) -> tuple[int, float]:
    """Ask 3000 times in 12 s, which is a little more than the line carries; answers, and the longest round trip, s."""
    client = Client(asyncio.get_running_loop().time)
    Wire(aqmlab.Path(ACCESS, aqm), client, Echo())
    for number in range(3000):
        client.ask(number, 1000)
        await asyncio.sleep(0.004)
    await asyncio.sleep(5)
    return len(client.round_trips), max(client.round_trips)


def main() -> None:
    """Show what a scheme does to them."""
    for aqm in ("droptail", "codel", "pie"):
        loop = VirtualLoop()
        answers, longest = loop.run_until_complete(ask(aqm))
        loop.close()
        print(f"{aqm}: {answers} of 3000 answered, the longest round trip {1000 * longest:.1f} ms")


if __name__ == "__main__":
    main()
