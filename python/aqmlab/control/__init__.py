"""Controllers of shapers: they set the rate of a link from pings and loads; built in, or written by the user."""

from aqmlab.control import cake_autorate, delay
from aqmlab.control.controller import Observed, RateController, Shaper, build
from aqmlab.control.loop import check, run

__all__ = ["Observed", "RateController", "Shaper", "build", "cake_autorate", "check", "delay", "run"]
