"""The parts of a verified bundle: the count of numbers in each state, and those that are not the same to the bit."""

from collections.abc import Sequence
from typing import Any

from aqmlab.bundle.verify import MOST, Number, Verified
from aqmlab.notebook import Sheet
from aqmlab.present.parts import Part, Section


def parts(found: Verified) -> list[Part]:
    """Return the counts, and the numbers that are only within the interval or different."""
    made, here = (f"aqmlab {each.get('aqmlab')}, {each.get('system')}" for each in (found.made_by, found.here))
    runs = f"{found.runs:,} runs, {found.files:,} files as in the manifest"
    rows = [
        ["bit-identical", "under every seed", f"{found.same:,}"],
        ["within the interval", "mean within the stored 95 % interval", f"{len(found.within):,}"],
        ["different", "", f"{len(found.neither):,}"],
    ]
    counts = Sheet(f"{found.title}: verified", ["Numbers", "", "Count"], rows, names=2)
    others = {"Within the interval": found.within, "Different": found.neither}
    sections = [Section("", findings=[runs], sheet=counts)]
    sections += [Section(name, sheet=_sheet(numbers)) for name, numbers in others.items() if numbers]
    is_elsewhere = any(found.made_by.get(part) != found.here.get(part) for part in ("aqmlab", "source", "system"))
    elsewhere = ["another version or system than the one that stored the numbers"]
    warnings = elsewhere if found.neither and is_elsewhere else []
    return [Part("verify", found.title, f"Stored by {made}; repeated with {here}", sections, warnings=warnings)]


def _sheet(numbers: Sequence[Number]) -> Sheet:
    rows = [[number.name, _value(number.stored), _value(number.again)] for number in numbers[:MOST]]
    more = len(numbers) - MOST
    return Sheet("", ["Number", "Stored", "Repeated"], rows, about=f"and {more:,} more; --json has all" * (more > 0))


def _value(value: Any) -> str:
    text = repr(value) if isinstance(value, int | float) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
