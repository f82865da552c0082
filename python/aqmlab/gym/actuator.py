"""What an action does; needs no Gymnasium, for exported schemes are made from it."""

from dataclasses import dataclass

MOVES = ("linear", "log", "square")
"""How an action in [-1, 1] becomes a value between two ends: evenly, by factors, evenly in the square root."""


@dataclass(frozen=True)
class Move:
    """A parameter that is moved: between the ends (the declared ones if None), or `by` at most `step` an action."""

    name: str
    ends: tuple[float, float] | None
    how: str | None
    step: float = 0.0


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
    def moved(self) -> list[tuple[str, tuple[float, float] | None, str | None, float]]:
        """As the engine takes it."""
        return [(move.name, move.ends, move.how, move.step) for move in self.moves]
