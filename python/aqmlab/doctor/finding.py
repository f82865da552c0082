"""A finding of `aqmlab doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it is as it should be, what was found, and a fix."""

    name: str
    is_good: bool
    found: str
    mend: str = ""
    is_needed: bool = True
    """Without it nothing runs live; what is not needed makes results better."""
