"""The recommendation of an AQM for a link: candidates, conditions, needs, and the ranking."""

from aqmlab.advise.advice import Advice, Score, advise
from aqmlab.advise.scenarios import LineSpec, conditions

__all__ = ["Advice", "LineSpec", "Score", "advise", "conditions"]
