"""The advice for a line: candidates, conditions, needs, and the ranking of the schemes."""

from aqmlab.advise.advice import Advice, Score, advise
from aqmlab.advise.scenarios import Line, conditions
from aqmlab.advise.tried import Check, check

__all__ = ["Advice", "Check", "Line", "Score", "advise", "check", "conditions"]
