"""Controllers of shapers: who sets the rate of a link from what pings and loads tell, built in or a user's own."""

from aqmlab.control import cake_autorate, delay
from aqmlab.control.controller import Observed, RateController, Shaper, build
from aqmlab.control.loop import check, run

__all__ = ["Observed", "RateController", "Shaper", "build", "cake_autorate", "check", "delay", "run"]
