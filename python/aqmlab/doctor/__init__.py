"""The findings of `aqmlab doctor`: packages, the speed of this machine, the kernel that is built, and live runs."""

from aqmlab.doctor.finding import Finding
from aqmlab.doctor.machine import findings

__all__ = ["Finding", "findings"]
