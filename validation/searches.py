"""Searches whose findings belong to the catalogue: faults that the literature knows, and the deployed schemes.

    python validation/searches.py            run those that are not in the catalogue, and add what they find
    python validation/searches.py NAME...    run these, again if they are in the catalogue
    python validation/searches.py --list     print their commands

Each runs `RUNS` runs under seed 1, which gives the same finding on every machine, and continues in `--folder` if it was
interrupted. A search without a finding is printed and adds nothing.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import found

from aqmlab.catalogue import DEPLOYED
from aqmlab.worst.plan import plan
from aqmlab.worst.result import find_worst

RUNS = 4000
FOLDER = Path(__file__).parent.parent / "target" / "searches"
CONTROLLERS = ("reno", "cubic", "bbr", "bbr3", "prague", "ledbat")
"""Controllers of the page, each with its worst case."""


@dataclass(frozen=True)
class Asked:
    """A search, and what is known of its finding before it is run."""

    name: str
    target: str
    against: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    space: tuple[str, ...] = ()
    whose: str = ""
    cause: str = ""
    source: str = ""

    def command(self) -> str:
        """Return the command line."""
        options = {"--against": self.against, "--by": self.by, "--space": self.space}
        given = " ".join(f"{name} {','.join(values)}" for name, values in options.items() if values)
        return " ".join(part for part in (f"aqmlab break {self.target}", given, f"--runs {RUNS}") if part)


KNOWN = (
    Asked(
        "bbr-shallow-buffer",
        "bbr",
        ("cubic",),
        ("loss",),
        ("link",),
        "controller",
        "BBR (v1) does not respond to loss: with less than 1.5 BDP of buffer, each of its flows keeps the queue full.",
        "Hock, Bless & Zitterbart, ICNP 2017",
    ),
    Asked(
        "bbr-deep-buffer",
        "bbr",
        ("cubic",),
        ("flows.main.goodput",),
        ("link", "mix"),
        "controller",
        "BBR (v1) limits its data in flight to two BDP of the path without a queue, and CUBIC fills a deep buffer.",
        "Hock, Bless & Zitterbart, ICNP 2017",
    ),
    Asked(
        "fq-codel-many-flows",
        "fq-codel",
        ("codel",),
        (),
        ("link", "arrivals", "mix"),
        "scheme",
        "Flows share 1,024 queues, and each keeps at least one packet.",
        "RFC 8290, section 5.3",
    ),
    Asked(
        "red-few-flows",
        "red",
        ("pie",),
        ("utilisation",),
        ("link",),
        "scheme",
        "The average queue lags behind the queue, so RED oscillates if few flows share the link.",
        "Floyd, Gummadi & Shenker, 2001",
    ),
    Asked(
        "dualpi2-unresponsive-ect1",
        "dualpi2",
        ("fq-codel",),
        ("delay",),
        ("link", "mix"),
        "scheme",
        "An unresponsive ECT(1) flow fills the low-latency queue, whose packets are marked, not dropped.",
        "RFC 9332, section 4.2",
    ),
    Asked("pie-slow-link", "pie", ("codel",), ("delay",), ("link",), "scheme"),
    Asked(
        "ledbat-latecomer",
        "ledbat",
        ("cubic",),
        ("starvation",),
        ("link", "arrivals"),
        "controller",
        "A flow that starts later takes the queue of the earlier ones for its base delay, and they yield to it.",
        "Carofiglio et al., GLOBECOM 2010",
    ),
    Asked(
        "copa-mode-switch",
        "copa",
        ("cubic",),
        ("throughput", "harm"),
        ("link", "mix"),
        "controller",
        "",
        "Arun & Balakrishnan, NSDI 2018, section 2.2",
    ),
)
"""Faults that the literature knows."""


def every() -> Iterator[Asked]:
    """Yield all searches: the known faults, then each deployed scheme and each controller with all default measures."""
    yield from KNOWN
    for name in DEPLOYED:
        yield Asked(f"worst-{name}", name, whose="scheme")
    for name in CONTROLLERS:
        yield Asked(f"worst-{name}", name, whose="controller")


def run(asked: Asked, folder: Path) -> found.Found | None:
    """Run a search, or continue it; return its row of the catalogue if it finds something."""
    wanted = plan(asked.target, against=asked.against, by=asked.by, space=asked.space, budget=f"{RUNS} runs")
    out = folder / asked.name
    worst = find_worst(wanted, out, resume=out.exists())
    print(f"{asked.name}: {worst.sentence}", flush=True)
    if worst.finding is None:
        return None
    (out / "results.json").write_text(worst.json() + "\n", encoding="utf-8")
    row = found.add(out, asked.name)
    return found.completed(
        replace(row, whose=asked.whose, cause=asked.cause, source=asked.source, command=asked.command())
    )


def main() -> None:
    """Run the searches that are wanted, and write the catalogue after each."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="these searches; default: those without a finding")
    parser.add_argument("--list", action="store_true", help="print the commands")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the runs are stored")
    given = parser.parse_args()
    if given.list:
        print(*(f"{each.name}: {each.command()}" for each in every()), sep="\n")
        return
    known = {row.name for row in found.read()}
    for asked in every():
        if asked.name in given.names or not (given.names or asked.name in known):
            row = run(asked, given.folder)
            if row:
                found.publish([*(each for each in found.read() if each.name != row.name), row])


if __name__ == "__main__":
    main()
