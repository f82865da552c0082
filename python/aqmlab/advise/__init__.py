"""The advice for a line: candidates, conditions, needs, and the ranking of the schemes."""

from aqmlab.advise.advice import Advice, Score, advise
from aqmlab.advise.scenarios import LineSpec, conditions

__all__ = ["Advice", "LineSpec", "Score", "advise", "conditions"]
