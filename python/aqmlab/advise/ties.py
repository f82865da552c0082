"""The choice between schemes that are equally good."""

from collections.abc import Sequence

from aqmlab.catalogue import halves
from aqmlab.tc.openwrt import SCRIPTS
from aqmlab.tc.qdiscs import TABLE, UNTESTED

ALIKE = 0.98
"""Schemes whose score is at least this share of the first one's are as good in practice."""

WHY = "held against a kernel, shipped in OpenWrt's SQM or at least in Linux, and with the fewest lines and parameters"
"""What decides between equals, in this order."""


def preferred(schemes: Sequence[str], *, is_access: bool) -> str:
    """Return the one to take of schemes that are equally good, best score first.

    It is tested, shipped and simple, in this order: held against a kernel; in OpenWrt's SQM, or else in Linux; with the
    fewest commands (on an access line only CAKE needs no shaper beside it) and then the fewest parameters to set. What
    is alike in all that keeps the order of the scores.
    """
    return min(schemes, key=lambda scheme: _standing(scheme, is_access))


def _standing(scheme: str, is_access: bool) -> tuple[bool, int, int, int]:
    """Return what decides, less of which is better."""
    name, parameters = halves(scheme)
    kinds = {each.kind for each in TABLE if each.scheme == name}
    untested = not kinds or kinds <= set(UNTESTED)
    shipped = 0 if kinds & SCRIPTS.keys() else 1 if kinds else 2
    needs_shaper = is_access and "cake" not in kinds
    return untested, shipped, int(needs_shaper), parameters.count("=")
