"""The findings of `aqmlab doctor`: installed packages, the speed of this machine, and what it allows of live runs."""

from aqmlab.doctor.machine import Finding, findings

__all__ = ["Finding", "findings"]
