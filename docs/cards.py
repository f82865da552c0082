"""Draw the pictures of the cards on the landing page, one panel each; writes docs/cards/.

Most show stored results, from tables of the pages of evidence. Two simulate: a paper's first table and an own AQM.
`python docs/cards.py [NAME ...]` draws the pictures named, or all.
"""

import re
import sys
import tempfile
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

from matplotlib.ticker import LogLocator, ScalarFormatter

import aqmlab
from aqmlab.present.labels import label
from aqmlab.present.plots import style
from aqmlab.present.plots.data import envelope

DOCS = Path(__file__).parent
FOLDER = DOCS / "cards"
SIZE = style.Size(3.3, inf, 9)
HEIGHT = 1.75
"""Inches of a panel, on the page of a journal."""
STUDY, TABLE, MEASURE = "li2014", "1", "queue_mean"
FIFO = "modem's FIFO"
"""The only queue without commands."""
GAIN = "1e-3"
"""Of the own AQM."""
NUMBER = r"[-+]?\d[\d.]*"


def rows(page: str, head: str) -> list[dict[str, str]]:
    """The rows of the first table of a page whose first line contains `head`, by column."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("|") and head in line), None)
    if start is None:
        raise SystemExit(f"{page} contains no table with {head!r}")
    heads, _, *found = [cells(line) for line in lines[start : start + next(end(lines, start))]]
    return [dict(zip(heads, row, strict=True)) for row in found]


def end(lines: list[str], start: int) -> Any:
    """The numbers of lines that a table of Markdown may have, the first of which is right."""
    return (i for i in range(len(lines) - start + 1) if start + i == len(lines) or not lines[start + i].startswith("|"))


def cells(line: str) -> list[str]:
    """The cells of a line of a table, without marks of code."""
    return [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]


def numbers(cell: str) -> list[float]:
    """The numbers in a cell."""
    return [float(number) for number in re.findall(NUMBER, cell)]


def bars(axes: Any, values: dict[str, float], about: str) -> None:
    """Horizontal bars on a logarithmic axis, the first at the top, each with its value."""
    names = [*values][::-1]
    axes.barh(names, [values[name] for name in names], color=style.LINE, height=0.6, log=True)
    for i, name in enumerate(names):
        axes.text(values[name] * 1.15, i, f"{values[name]:.0f}", va="center")
    axes.set(xlim=(min(values.values()) / 2, max(values.values()) * 4), xlabel=about)
    axes.xaxis.set_major_locator(LogLocator(10))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.grid(visible=False, axis="y")


def advise(axes: Any) -> None:
    """The delay of pings on an access link under the schemes that `aqmlab advise` ranks."""
    delays = {label(row[""]): numbers(row["ping, p99 (ms)"])[0] for row in rows("advise-evidence.md", "ping, p99 (ms)")}
    bars(axes, dict(sorted(delays.items(), key=lambda each: each[1])), "Ping under load, p99 (ms)")


def compare(axes: Any) -> None:
    """Mean ranks of delay and goodput in the experiments of RFC 7928."""
    ranks = {row["experiment"]: row for row in rows("rfc7928-evidence.md", "| experiment |")}
    delay, goodput = (ranks[f"Mean rank, {measure}"] for measure in ("Delay p95", "Goodput"))
    for name, look in style.looks(name for name in delay if name != "experiment").items():
        at = float(delay[name]), float(goodput[name])
        axes.plot(*at, look.marker, color=look.colour, markersize=6)
        axes.annotate(name, at, (6, 4), textcoords="offset points")
    axes.set(xlim=(1, 4.6), ylim=(4, 1), xlabel="Mean rank, delay p95", ylabel="Mean rank, goodput")


def reproduce(axes: Any) -> None:
    """The mean queue that a paper prints, and the one that aqmlab measures."""
    found = [cell for cell in aqmlab.reproduce(STUDY, tables=[TABLE]).cells if cell.column == MEASURE and cell.ours]
    places = range(len(found))
    axes.plot([cell.published for cell in found], places, "o", color=style.LINE, fillstyle="none", markersize=7)
    axes.plot([cell.ours.mean for cell in found if cell.ours], places, "x", color=style.TARGET, markersize=5)
    axes.set_yticks(places, [label(cell.scheme) for cell in found])
    axes.invert_yaxis()
    axes.set(xlim=(0, 1.1 * max(cell.published for cell in found)), xlabel="Mean queue (packets)")
    axes.legend(["paper", "aqmlab"], loc="lower left")


def own(axes: Any) -> None:
    """The queue under the class that the page on own schemes shows first."""
    block = re.search(r"```python\n(.*?)```", (DOCS / "own-scheme-python.md").read_text(encoding="utf-8"), re.DOTALL)
    if block is None:
        raise SystemExit("own-scheme-python.md contains no class")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "my_scheme.py"
        file.write_text(block[1], encoding="utf-8")
        names = {"pi": "PI", f"{file}:gain={GAIN}": f"MyAqm (gain={GAIN})"}
        for scheme, look in style.looks(names).items():
            series = aqmlab.run(f"{STUDY}/table-{TABLE}", scheme, series=True).series["bottleneck"]
            line = look.line | {"linestyle": "-"}
            axes.plot(*envelope(series["time"], series["queue"]), linewidth=0.9, label=names[scheme], **line)
    axes.set(xlim=(0, None), ylim=(0, None), xlabel="Time (s)", ylabel="Queue (packets)")
    axes.legend(loc="lower right")


def controller(axes: Any) -> None:
    """The change of others' rates by BBRv3, median and range over the paths of its card."""
    found = {row["RFC 9743"]: row["BBRv3"] for row in rows("card-bbr3.md", "| RFC 9743 |")}
    others = {"one CUBIC flow": "a CUBIC flow (RFC 9438)", "one Reno flow": "a Reno flow (RFC 5681, 9002)"}
    others |= {"eight CUBIC flows": "eight CUBIC flows"}
    for i, (name, wanted) in enumerate(others.items()):
        [row] = (
            cell
            for said, cell in found.items()
            if re.fullmatch(rf"against {re.escape(wanted)}: .* rate, change \(%\)", said)
        )
        median, low, high = numbers(row)
        axes.plot([low, high], [i, i], color=style.PALE, linewidth=5, solid_capstyle="butt")
        axes.plot(median, i, "o", color=style.LINE, markersize=6)
        axes.text(low, i - 0.22, name)
    axes.axvline(0, color=style.GREY, linewidth=0.8)
    axes.set(ylim=(len(others) - 0.6, -0.8), yticks=[], xlabel="Change of the others' rate by BBRv3 (%)")
    axes.spines["left"].set_visible(False)


def live(axes: Any) -> None:
    """Queueing delays of real packets and of simulated ones."""
    found = [numbers(row["queueing delay (ms)"]) for row in rows("live-benchmarks.md", "| scheme | ")]
    both = [delays for delays in found if len(delays) == 2]
    top = 1.1 * max(map(max, both))
    axes.plot([0, top], [0, top], color=style.GREY, linewidth=0.8)
    axes.plot(
        [simulated for _, simulated in both], [measured for measured, _ in both], "o", color=style.LINE, markersize=4
    )
    axes.set(xlim=(0, top), ylim=(0, top), xlabel="Queueing delay, simulated (ms)", ylabel="with real packets (ms)")


def kernel(axes: Any) -> None:
    """The delay of pings on Linux before a modem, without commands and with those that `aqmlab advise` prints."""
    delays: dict[str, float] = {}
    scheme = ""
    for row in rows("advise-evidence.md", "packets in the modem"):
        if row["link"] and delays:
            break
        scheme = row["scheme"] or scheme
        if row["direction"] == "uplink":
            delays[FIFO if scheme == "no commands" else scheme] = numbers(row["ping p95, ms"])[0]
    bars(axes, dict(sorted(delays.items(), key=lambda each: each[1])), "Ping on Linux 7.3, p95 (ms)")


PICTURES: dict[str, Callable[[Any], None]] = {
    each.__name__: each for each in (advise, compare, reproduce, own, controller, live, kernel)
}


def main() -> None:
    """Draw the pictures named, or all."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        with style.printed(style.Print(size=SIZE)), style.page(1, 1, HEIGHT) as (figure, grid):
            PICTURES[name](grid.flat[0])
        figure.savefig(FOLDER / f"{name}.png", dpi=200)


if __name__ == "__main__":
    main()
