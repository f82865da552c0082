"""The effect of an action; needs no Gymnasium, for exported schemes are made from it."""

from dataclasses import dataclass

SCALES = ("linear", "log", "square")
"""How a place between 0 and 1 becomes a value between two ends: evenly, by factors, evenly in the square root."""


@dataclass(frozen=True)
class Move:
    """A parameter that is moved: to a place between the ends (the declared ones if None), or by at most a `step`."""

    name: str
    ends: tuple[float, float] | None
    scale: str | None
    step: float | None = None


@dataclass(frozen=True)
class Actuator:
    """A scheme, parameters of it that are set once, and those that are moved."""

    scheme: str
    fixed: tuple[str, ...]
    moves: tuple[Move, ...]

    @property
    def spec(self) -> str:
        """The scheme as it is written on the command line."""
        return f"{self.scheme}:{','.join(self.fixed)}" if self.fixed else self.scheme

    @property
    def moved(self) -> list[tuple[str, tuple[float, float] | None, str | None, float | None]]:
        """As the engine takes it."""
        return [(move.name, move.ends, move.scale, move.step) for move in self.moves]
