"""Compare random scenarios with Linux 7.3 in virtual time (docs/kernel.md); both engines run the same scenario.

It measures missing seeds and writes docs/validation-random.md. `--add SEED N` first draws N more scenarios under a seed
and stores them. `--draw SEED N` judges N fresh scenarios and stores nothing.

`kernel/random.jsonl` contains the scenarios and the results of Linux under seeds 1 to 10, or at least 1 to 5. If the
means over these seeds do not agree, it contains seeds 1 to 40. `exceptions.toml` lists the scenarios that do not agree,
and their causes. No scenario is excluded once it is drawn. Linux is measured only if a kernel is built.
"""

import argparse
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import both_engines
import exceptions
import pages
from both_engines import Checked, Row, Tolerance

from aqmlab.kernel.images import newest

ROWS = Path(__file__).parent / "kernel" / "random.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "validation-random.md"
SEEDS, MORE_SEEDS = range(1, 11), range(1, 41)
"""Seeds of every scenario, and of those whose means over the first do not agree."""
ERRORS = 2.0
"""Standard errors of Linux's mean by which a measure may differ, up to twice its tolerance."""
SHARING = 0.05
"""Share of the total goodput by which the goodput of a group may always differ."""
TOLERANCES = {
    "goodput": Tolerance(0, 0.15),
    "queue_delay_mean": Tolerance(0.001, 0.25),
    "queue_delay_p99": Tolerance(0.001, 0.25),
    "drop_ratio": Tolerance(0.002, 0.3),
    "mark_ratio": Tolerance(0.002, 0.3),
    "utilisation": Tolerance(0.03, 0),
}
MEASURES = [name for name in TOLERANCES if name != "goodput"]
FEWEST = 0.9
"""Share of the scenarios of a discipline that should agree."""

DISCIPLINES = {
    "droptail": "droptail",
    "codel": "codel:flavour=linux,mtu=1514B",
    "pie": "pie:flavour=linux,mean_packet=1514B",
    "fq-codel": "fq-codel",
    "fq-pie": "fq-pie",
    "cake": "cake",
    "dualpi2": "dualpi2:flavour=linux",
    "sfb": "sfb",
    "choke": "choke",
    "red": "red:flavour=linux",
}
"""The disciplines as Linux implements them."""
CONTROLLERS = ("cubic", "cubic", "cubic", "reno", "bbr")
"""CUBIC three times as often; with ECN also DCTCP."""


def drawn(draw: int, count: int) -> Iterator[Row]:
    """Yield the scenarios of a draw; the first ones do not depend on how many there are."""
    for i in range(count):
        yield Row(f"{draw}-{i}", scenario(random.Random(f"{draw}-{i}")))


def scenario(chance: random.Random) -> str:
    """Return a random scenario: a link, one to three groups of TCP flows, in a third of them a stream of datagrams."""
    rate = round(10 ** chance.uniform(0, 2), 2)
    name = chance.choice(list(DISCIPLINES))
    ecn = "ecn = true\n" if chance.random() < 0.35 else ""
    buffers = ["0.5 bdp", "1 bdp", "3 bdp", "100 packets", "1000 packets"]
    buffer = chance.choice(buffers) if name == "droptail" else "1000 packets"
    text = f'schema = 1\nduration = "30 s"\nwarmup = "10 s"\n\n[[links]]\nname = "l"\nrate = "{rate} Mbit/s"\n'
    text += f'buffer = "{buffer}"\naqm = "{DISCIPLINES[name]}"\n{ecn}'
    if chance.random() < 0.15:
        text += f'loss = "{chance.choice([0.01, 0.1, 1])}%"\n'
    for group in range(chance.choice([1, 1, 2, 3])):
        text += flows(f"f{group}", ecn, chance)
    return text + datagrams(rate, chance) if chance.random() < 0.3 else text


def flows(name: str, ecn: str, chance: random.Random) -> str:
    """Return a random group of TCP flows."""
    controller = chance.choice([*CONTROLLERS, "dctcp"] if ecn else CONTROLLERS)
    text = f'\n[[flows]]\nname = "{name}"\ncount = {chance.choice([1, 1, 2, 4, 8])}\n'
    text += f'rtt = "{round(10 ** chance.uniform(0.5, 2.3))} ms"\nstart = {{ uniform = ["0 s", "2 s"] }}\n'
    return f'{text}tcp = {{ profile = "linux", congestion_control = "{controller}" }}\n{ecn}'


def datagrams(rate: float, chance: random.Random) -> str:
    """Return a stream of datagrams through a link of `rate` Mbit/s."""
    text = f'\n[[flows]]\nname = "u"\nkind = "udp-cbr"\nrate = "{round(rate * chance.uniform(0.02, 1.3), 3)} Mbit/s"\n'
    text += f'packet = "{chance.choice([172, 500, 1200, 1472])} B"\n'
    return f'{text}rtt = "{round(10 ** chance.uniform(0.5, 2))} ms"\n'


def check(rows: Iterable[Row]) -> Iterator[Checked]:
    """Yield the scenarios with the results of the simulator."""
    return both_engines.check(rows, MORE_SEEDS, TOLERANCES, SHARING, ERRORS)


def discipline(row: Row) -> str:
    """Return the name of a scenario's discipline."""
    return row.text.partition('aqm = "')[2].partition('"')[0].partition(":")[0]


def controllers(row: Row) -> list[str]:
    """Return a scenario's congestion controllers, and "udp" if it sends datagrams."""
    found = [part.partition('"')[0] for part in row.text.split('congestion_control = "')[1:]]
    return list(dict.fromkeys(found + ["udp"] * ("udp-cbr" in row.text)))


HEAD = f"""\
{pages.FRONT}# Random scenarios on Linux 7.3

<!-- Written by `validation/random_scenarios.py`; do not edit. -->

Each scenario is drawn at random, and both engines run it: [Linux 7.3 in virtual time](kernel.md), with its own TCP and
queueing disciplines, and the simulator. `validation/random_scenarios.py` declares the space, and no scenario is
excluded once it is drawn. `.venv/bin/python validation/random_scenarios.py` writes this page and measures missing rows.

| property | drawn from |
| --- | --- |
| rate | 1 to 100 Mbit/s, uniform in the logarithm |
| round-trip time | 3 to 200 ms, uniform in the logarithm |
| TCP flows | one to three groups of one to eight flows; CUBIC, Reno, BBR or DCTCP |
| ECN | in a third of the scenarios |
| random loss | in a seventh of the scenarios |
| UDP stream | in a third of the scenarios, at 2 to 130 % of the rate |

A scenario agrees if every measure does: the mean over ten seeds or, if that does not, over forty, because some schemes
settle early into one of two states. A scenario that an engine rejects does not agree. A measure may also differ by two
standard errors of Linux's mean, but by at most twice the tolerance.

| measure | tolerance |
| --- | --- |
| goodput of each group | 15 % or 5 % of the total goodput |
| queueing delay, mean and 99th percentile | 25 % or 1 ms |
| drop ratio, mark ratio | 30 % or 0.2 points |
| utilization | 3 points |

"""


def page(checked: Sequence[Checked], listed: int) -> str:
    """Return the validation page; some listed scenarios may have no row yet."""
    agree = sum(not each.differing for each in checked)
    share = f"**{agree} of {len(checked)} scenarios agree in every measure ({agree / len(checked):.1%}).**"
    fewer = sum(each.row.seeds < len(SEEDS) for each in checked)
    share += f" {fewer} scenarios were run with five to nine seeds." if fewer else ""
    more = sum(each.row.seeds == len(MORE_SEEDS) for each in checked)
    share += f" {more} scenarios were run with forty seeds." if more else ""
    parts = [f"{HEAD}{share}{both_engines.left(checked, listed)}", "", "## Scenarios that do not agree", ""]
    wrong = [exception(each) for each in checked if each.differing]
    parts += pages.table(["scenario", "Linux / simulator", "cause"], wrong)
    parts += ["", "## Agreement by discipline and controller"]
    for title, groups in by_group(checked).items():
        rows = [row_of_group(name, groups[name]) for name in sorted(groups)]
        parts += ["", *pages.table([title, "scenarios", "agree", ""], rows)]
    return "\n".join(parts) + "\n"


def by_group(checked: Sequence[Checked]) -> dict[str, dict[str, list[Checked]]]:
    """Return the scenarios by discipline and by congestion controller; one with two controllers is in both groups."""
    found: dict[str, dict[str, list[Checked]]] = {"discipline": {}, "congestion controller": {}}
    for each in checked:
        found["discipline"].setdefault(discipline(each.row), []).append(each)
        for name in controllers(each.row):
            found["congestion controller"].setdefault(name, []).append(each)
    return found


def row_of_group(name: str, group: Sequence[Checked]) -> list[str]:
    """Return a group as a row of a table, with its share in bold if it is too small."""
    agree = sum(not each.differing for each in group)
    share = f"{agree / len(group):.0%}"
    return [name, f"{len(group)}", f"{agree}", share if agree >= FEWEST * len(group) else f"**{share}**"]


def exception(checked: Checked) -> list[str]:
    """Return a scenario that does not agree as a row of a table: its cells, and the cause."""
    return [summary(checked.row), str(checked), exceptions.of_row("random", checked.row.id).cause]


def summary(row: Row) -> str:
    """Return a summary of a scenario."""
    scenario = row.scenario
    link = scenario.link("l")
    groups = (f"{name} {scenario.group(name).count}" for name in scenario.flows)
    return f"`{row.id}` ({discipline(row)}, {link.rate / 1e6:g} Mbit/s, {', '.join(groups)})"


def measured(rows: Sequence[Row], seeds: Sequence[int]) -> Iterator[Row]:
    """Yield the rows with the results of Linux under their missing seeds. InputError if no kernel is built."""
    return both_engines.measured(rows, newest().version, seeds, MEASURES)


def judge(draw: int, count: int) -> None:
    """Print how many scenarios of a fresh draw agree, and each that does not. InputError if no kernel is built."""
    checked = []
    for first in check(measured(list(drawn(draw, count)), SEEDS)):
        [each] = check(measured([first.row], MORE_SEEDS)) if first.differing else [first]
        checked.append(each)
        if first.differing:
            print(each.row.text, f"{first}; over {len(MORE_SEEDS)} seeds: {each}", sep="\n", end="\n\n", flush=True)
    print(f"{sum(not each.differing for each in checked)} of {count} scenarios of draw {draw} agree in every measure")
    for name, group in sorted(by_group(checked)["discipline"].items()):
        print(f"  {name}: {sum(not each.differing for each in group)} of {len(group)}")


def main() -> None:
    """Measure the missing seeds and write the page, or judge a fresh draw."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument("--add", nargs=2, type=int, metavar=("SEED", "N"), help="draw scenarios and store them")
    wanted.add_argument("--draw", nargs=2, type=int, metavar=("SEED", "N"), help="judge a fresh draw; store nothing")
    asked = parser.parse_args()
    if asked.draw:
        judge(*asked.draw)
        return
    rows = both_engines.read(ROWS)
    known = {row.id for row in rows}
    rows += [row for row in drawn(*asked.add or (0, 0)) if row.id not in known]
    rows = both_engines.store(ROWS, rows, SEEDS, MEASURES)
    checked = list(check([row for row in rows if row.is_tried]))
    rows = both_engines.store(ROWS, rows, MORE_SEEDS, MEASURES, both_engines.differing(checked))
    checked = list(check([row for row in rows if row.is_tried]))
    both_engines.publish("random", checked, PAGE, page(checked, len(rows)))


if __name__ == "__main__":
    main()
