"""Controllers of shapers: who sets the rate of a link from what pings and loads tell, built in or a user's own."""

from aqmlab.control import cake_autorate, delay
from aqmlab.control.controller import RateController, Seen, Shaper, build
from aqmlab.control.loop import check, run

__all__ = ["RateController", "Seen", "Shaper", "build", "cake_autorate", "check", "delay", "run"]
