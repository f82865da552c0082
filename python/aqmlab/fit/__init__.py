"""The twin of a measured access link: readers, estimators, and a search over simulated runs."""

from aqmlab.fit.result import Fit, fit

__all__ = ["Fit", "fit"]
