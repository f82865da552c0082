"""Compare scenarios from public reports with Linux 7.3 in virtual time (docs/kernel.md); both engines run the same.

`kernel/reported.jsonl` contains the scenarios and the results of Linux under seeds 1 to 3, `exceptions.toml` the
scenarios that do not agree, and their causes. Run as a program, it measures the scenarios that have no row yet, if a
kernel is built, and writes docs/validation-reported.md.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import both_engines
import exceptions
import pages
from both_engines import Checked, Row, Tolerance

ROWS = Path(__file__).parent / "kernel" / "reported.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "validation-reported.md"
SEEDS = range(1, 4)
SHARING = 0.01
"""Share of the total goodput by which the goodput of a group may always differ."""
TOLERANCES = {"goodput": Tolerance(0, 0.1), "queue_delay_mean": Tolerance(0.001, 0.25)}

HEAD = f"""\
{pages.FRONT}# Reported scenarios on Linux 7.3

<!-- Written by `validation/reported.py`; do not edit. -->

Each scenario repeats the setting of a public report: a bug, a question or a published measurement. Both engines run it:
[Linux 7.3 in virtual time](kernel.md) and the simulator. `validation/kernel/reported.jsonl` contains the scenarios and
the results of Linux. `.venv/bin/python validation/reported.py` writes this page and measures missing rows.

A scenario agrees if these means over three seeds do. A scenario that an engine rejects does not agree.

| measure | tolerance |
| --- | --- |
| goodput of each group of flows | 10 % or 1 % of the total goodput |
| mean queueing delay of each link | 25 % or 1 ms |

In 19 scenarios flows start within the first millisecond, at times that the seed draws. Otherwise a scenario without
random draws gives the same result under every seed, and packets that arrive at the same time determine it. If all flows
start at 0 s, 51 of 54 scenarios agree.

"""


def check(rows: Sequence[Row]) -> Iterator[Checked]:
    """Yield the scenarios with the results of the simulator."""
    return both_engines.check(rows, SEEDS, TOLERANCES, SHARING)


def page(checked: Sequence[Checked], listed: int) -> str:
    """Return the validation page; some listed scenarios may have no row yet."""
    agree = sum(not each.differing for each in checked)
    share = f"**{agree} of {len(checked)} scenarios agree ({agree / len(checked):.1%}).**"
    parts = [f"{HEAD}{share}{both_engines.left(checked, listed)}", "", "## Scenarios that do not agree", ""]
    wrong = [
        (f"`{each.row.id}`", exceptions.of_row("reported", each.row.id).cause) for each in checked if each.differing
    ]
    parts += [*pages.table(["scenario", "cause"], wrong), "", "## All scenarios", ""]
    parts += ["Linux / simulator; measures that do not agree are bold. Goodput in Mbit/s, delay in ms.", ""]
    heads = ["scenario", "goodput of each group", "mean queueing delay of each link"]
    parts += pages.table(heads, [row_of(each) for each in checked])
    return "\n".join(parts) + "\n"


def row_of(checked: Checked) -> list[str]:
    """Return a scenario as a row of the table."""
    if checked.refused:
        return [f"`{checked.row.id}`", f"**{checked.refused}**", ""]
    columns = (("goodput", 1e-6, "2f"), ("queue_delay_mean", 1e3, "1f"))
    texts = [", ".join(_texts(checked, measure, scale, digits)) for measure, scale, digits in columns]
    return [f"`{checked.row.id}`", *texts]


def _texts(checked: Checked, measure: str, scale: float, digits: str) -> Iterator[str]:
    for cell in checked.cells:
        if cell.name.startswith(measure):
            theirs, ours = (f"{scale * sum(values) / len(values):.{digits}}" for values in (cell.theirs, cell.ours))
            text = f"{cell.name.partition(' of ')[2]} {theirs} / {ours}"
            yield text if cell.agrees else f"**{text}**"


def main() -> None:
    """Measure the missing scenarios and write the page."""
    rows = both_engines.store(ROWS, both_engines.read(ROWS), SEEDS, [name for name in TOLERANCES if name != "goodput"])
    checked = list(check([row for row in rows if row.is_tried]))
    both_engines.publish("reported", checked, PAGE, page(checked, len(rows)))


if __name__ == "__main__":
    main()
