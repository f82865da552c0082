"""Hold scenarios made from public reports to Linux 7.3 in virtual time (docs/kernel.md), the same by both engines.

`kernel/reported.jsonl` has the scenarios and what Linux measured in each under seeds 1 to 3, `exceptions.toml` which do
not agree, and why. Run as a program, it measures those that have no row yet, if a kernel is built, and writes
docs/validation-reported.md.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import both_engines
import exceptions
from both_engines import Checked, Row, Tolerance

ROWS = Path(__file__).parent / "kernel" / "reported.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "validation-reported.md"
SEEDS = range(1, 4)
SHARING = 0.01
"""Share of the goodput of all by which that of a group may differ at least."""
TOLERANCES = {"goodput": Tolerance(0, 0.1), "queue_delay_mean": Tolerance(0.001, 0.25)}

HEAD = """\
# Validation by scenarios from public reports

<!-- Written by `validation/reported.py`; do not edit. -->

Each scenario repeats the setting of a public report: a bug, a question or a measurement that somebody published. Both
engines run it: [Linux 7.3 in virtual time](kernel.md) and the simulator. A scenario agrees if the goodput of each group
of flows is within **10 %** (or 1 % of the goodput of all), and the mean queueing delay of each link within **25 % or
1 ms**, as means over three seeds. A scenario that an engine refuses does not agree. Where a scenario draws nothing,
each engine would take one course under every seed, and packets that arrive at one instant decide it: in 19 of them
flows start within the first millisecond, at times that the seed draws. With all starts at 0 s, 51 of 54 agreed.
`validation/kernel/reported.jsonl` has the scenarios and what Linux measured.

"""


def check(rows: Sequence[Row]) -> Iterator[Checked]:
    """Yield the scenarios beside what the simulator has."""
    return both_engines.check(rows, SEEDS, TOLERANCES, SHARING)


def page(checked: Sequence[Checked], listed: int) -> str:
    """Return the validation page; some of those that are listed may have no row yet."""
    agree = sum(not each.differing for each in checked)
    share = f"**{agree} of {len(checked)} scenarios agree ({agree / len(checked):.1%}).**"
    parts = [f"{HEAD}{share}{both_engines.left(checked, listed)}", ""]
    parts += ["Linux / simulator; a measure that does not agree is bold. Goodput in Mbit/s, delay in ms.", ""]
    parts += ["| scenario | goodput of each group | mean queueing delay of each link |", "|---|---|---|"]
    parts += [row_of(each) for each in checked]
    parts += ["", "## Scenarios that do not agree", ""]
    wrong = [each for each in checked if each.differing]
    parts += [f"- `{each.row.id}`: {exceptions.of_row('reported', each.row.id).cause}" for each in wrong] or ["None."]
    return "\n".join(parts) + "\n"


def row_of(checked: Checked) -> str:
    """Return a scenario as a row of the table."""
    if checked.refused:
        return f"| `{checked.row.id}` | **{checked.refused}** | |"
    columns = (("goodput", 1e-6, "2f"), ("queue_delay_mean", 1e3, "1f"))
    texts = [", ".join(_texts(checked, measure, scale, digits)) for measure, scale, digits in columns]
    return f"| `{checked.row.id}` | {' | '.join(texts)} |"


def _texts(checked: Checked, measure: str, scale: float, digits: str) -> Iterator[str]:
    for cell in checked.cells:
        if cell.name.startswith(measure):
            theirs, ours = (f"{scale * sum(values) / len(values):.{digits}}" for values in (cell.theirs, cell.ours))
            text = f"{cell.name.partition(' of ')[2]} {theirs} / {ours}"
            yield text if cell.agrees else f"**{text}**"


def main() -> None:
    """Measure what is missing and write the page."""
    rows = both_engines.store(ROWS, both_engines.read(ROWS), SEEDS, [name for name in TOLERANCES if name != "goodput"])
    checked = list(check([row for row in rows if row.is_tried]))
    both_engines.publish("reported", checked, PAGE, page(checked, len(rows)))


if __name__ == "__main__":
    main()
