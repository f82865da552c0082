"""PI as a user would write it: deciding on ticks, and deciding on every packet."""

import aqmlab


class TickPi(aqmlab.Aqm):
    """PI that sets the drop probability every millisecond."""

    tick = "1 ms"
    a, b = 3.1e-6, 3.09e-6

    def reset(self, queue: aqmlab.Queue) -> None:
        """Start from an empty queue."""
        self.e_old = -queue.target

    def on_tick(self, queue: aqmlab.Queue) -> None:
        """Take one step of the controller."""
        e = queue.packets - queue.target
        self.p = min(max(self.p + self.a * e - self.b * self.e_old, 0.0), 1.0)
        self.e_old = e


class PacketPi(TickPi):
    """The same, drawing for each packet itself."""

    def on_enqueue(self, packet: aqmlab.Packet, queue: aqmlab.Queue) -> bool:  # noqa: ARG002
        """Draw."""
        return self.random() < self.p
