"""A verified bundle in the terminal."""

from typing import Any

from aqmlab.bundle.verify import MOST, Number, Verified
from aqmlab.present.terminal.console import aside, console, note, table, title


def verified(found: Verified) -> None:
    """Print the count of numbers in each state, and those that were not found again."""
    out = console()
    out.print(title(found.title))
    made, here = (f"aqmlab {each.get('aqmlab')}, {each.get('system')}" for each in (found.made_by, found.here))
    out.print(aside(f"Stored by {made}; repeated with {here}"))
    within, neither = found.within, found.neither
    out.print(f"{found.runs:,} runs, {found.files:,} files as in the manifest")
    counts = table("", "Numbers", "", numbers=["Count"])
    counts.add_row("bit-identical", "under every seed", f"{found.same:,}")
    counts.add_row("within the interval", "mean within the stored 95 % interval", f"{len(within):,}")
    counts.add_row("different", "", f"{len(neither):,}")
    out.print(counts)
    for name, numbers in (("Within the interval", within), ("Different", neither)):
        _numbers(name, numbers)
    if neither and any(found.made_by.get(part) != found.here.get(part) for part in ("aqmlab", "source", "system")):
        out.print(note("another version or system than the one that stored the numbers"))


def _numbers(name: str, numbers: list[Number]) -> None:
    if not numbers:
        return
    shown = table(name, "Number", numbers=["Stored", "Repeated"])
    for number in numbers[:MOST]:
        shown.add_row(number.name, _value(number.stored), _value(number.again))
    console().print(shown)
    if len(numbers) > MOST:
        console().print(aside(f"and {len(numbers) - MOST:,} more; --json has all"))


def _value(value: Any) -> str:
    text = repr(value) if isinstance(value, int | float) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
