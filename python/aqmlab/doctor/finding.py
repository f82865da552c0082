"""A finding of `aqmlab doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One check: whether it is good, the state that was found, and the command that fixes it."""

    name: str
    is_good: bool
    found: str
    mend: str = ""
    is_needed: bool = True
    """Live runs need it; other findings improve results."""
