"""Which scheme for a line: candidates, conditions, what matters, and the ranking."""

from aqmlab.advise.advice import Advice, Score, advise
from aqmlab.advise.scenarios import Line, conditions

__all__ = ["Advice", "Line", "Score", "advise", "conditions"]
