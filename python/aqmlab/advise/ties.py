"""The choice between schemes that are equally good, and whether a scheme that is not tested is worth it."""

from collections.abc import Sequence

from aqmlab.catalogue import halves
from aqmlab.tc.openwrt import SCRIPTS
from aqmlab.tc.qdiscs import TABLE, UNTESTED

ALIKE = 0.98
"""Schemes whose score is at least this share of the first one's are as good in practice."""

WORTH = 1.10
"""An untested scheme is advised only if its score is at least this multiple of the best tested one's."""

WHY = "tests on a kernel, then support in OpenWrt's SQM or else in Linux, then the fewest commands and parameters"
"""The criteria between tied schemes, in order."""


def is_tested(scheme: str) -> bool:
    """Return whether a kernel has been given commands of this scheme, and what it then did was compared."""
    return not _kinds(scheme) <= set(UNTESTED)


def preferred(schemes: Sequence[str], *, is_access: bool) -> str:
    """Return the one to take of schemes that are equally good, best score first.

    It is tested, shipped and simple, in this order: tested on a kernel; in OpenWrt's SQM, or else in Linux; with the
    fewest commands (on an access link only CAKE needs no separate shaper) and then the fewest parameters to set.
    Remaining ties keep the order of the scores.
    """
    return min(schemes, key=lambda scheme: _standing(scheme, is_access))


def _standing(scheme: str, is_access: bool) -> tuple[bool, int, int, int]:
    """Return the criteria as a sort key; less is better."""
    kinds = _kinds(scheme)
    shipped = 0 if kinds & SCRIPTS.keys() else 1 if kinds else 2
    needs_shaper = is_access and "cake" not in kinds
    return not is_tested(scheme), shipped, int(needs_shaper), halves(scheme)[1].count("=")


def _kinds(scheme: str) -> set[str]:
    """Return the names of a scheme in Linux; none if Linux does not support it."""
    name, _ = halves(scheme)
    return {each.kind for each in TABLE if each.scheme == name}
