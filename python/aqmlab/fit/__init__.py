"""The twin of a measured access link: readers, estimators, and a search over simulated runs."""

from aqmlab.fit.fitting import fit
from aqmlab.fit.result import Fit

__all__ = ["Fit", "fit"]
