"""Write the scenarios of Boudi & Loudini 2018: find how many flows make each level of congestion.

The paper computes its levels (0.1, 0.5 and 1 % loss) as RFC 7928 describes but prints no number of flows. This program
searches them, for each bandwidth and each law of the round trips, with `aqmlab.study.congestion.find_flows`: the number
for which DropTail loses that share between 100 and 200 s, on average over three seeds. It takes ten minutes on two
cores:

    python validation/boudi.py

tests/test_boudi.py searches a few of them again.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import aqmlab
from aqmlab.study.congestion import find_flows

FOLDER = Path(aqmlab.__file__).parent / "scenarios" / "boudi"
BANDWIDTHS = range(10, 101, 10)
LEVELS = {"light": 0.001, "medium": 0.005, "high": 0.01}
LAWS = {
    "": '{ values = ["40 ms", "80 ms", "160 ms", "320 ms", "640 ms"] }',
    "lognormal-": '{ lognormal = { median = "149 ms", sigma = 0.405 } } # sigma = ln 1.5',
}
TYPICAL = {"": 0.248, "lognormal-": 0.149}
"""Seconds; the buffer holds the bandwidth times this, the mean of the five round trips or the median of the law.

RFC 7928 takes the longest round trip, the paper does not say which. With 640 ms DropTail's own queue makes most of the
round trip, and under a scheme that holds 10 ms the same flows lose ten times what the level says.
"""

MTU = 576
SEARCH = {"duration": "200 s", "warmup": "100 s"}

WORLD = """\
# {question}
schema = 1
title = "{title}"
duration = "{duration} s"
warmup = "{warmup} s"
sample = "100 ms"

[[links]]
name = "bottleneck"
rate = "{rate} Mbit/s"
delay = "1 ms"
buffer = "{buffer} packets" # the bandwidth-delay product
target = "10 ms"
aqm = "droptail"

[[flows]]
name = "ftp"
kind = "ftp"
{count}
rtt = {rtt}
packet = "536 B"
ecn = true
rtt_notification = true
tcp = {{ variant = "newreno", profile = "ns2", window = "100000 packets" }}

[schemes.red]
mean_packet = "576 B"

[schemes.codel]
ecn = false # CoDel drops in this paper
"""

START = 'start = { uniform = ["0 s", "2 s"] }'


def buffer(law: str, rate: int) -> int:
    """Return the bandwidth-delay product in packets of 576 B."""
    return round(rate * 1e6 * TYPICAL[law] / 8 / MTU)


def scenario(law: str, level: str, rate: int, count: int) -> str:
    """Return the text of one scenario."""
    spread = "of 40 to 640 ms" if law == "" else "drawn from a lognormal law"
    return WORLD.format(
        question=f"How fair is a scheme to round trips {spread} when DropTail would lose {100 * LEVELS[level]:g} %?",
        title=f"{count} New-Reno flows at {rate} Mbit/s, {level} congestion, round trips {spread} (Boudi & Loudini)",
        duration=100,
        warmup=20,
        rate=rate,
        buffer=buffer(law, rate),
        count=f"count = {count}\n{START}",
        rtt=LAWS[law],
    )


def transient(counts: dict[str, int]) -> str:
    """Return the scenario in which three groups of flows come and go at 50 Mbit/s."""
    light, medium, high = (counts[level] for level in LEVELS)
    groups = [
        f'{{ count = {light}, start = {{ uniform = ["0 s", "2 s"] }} }}',
        f'{{ count = {medium - light}, start = {{ uniform = ["40 s", "42 s"] }}, '
        'stop = { uniform = ["160 s", "162 s"] } }',
        f'{{ count = {high - medium}, start = {{ uniform = ["80 s", "82 s"] }}, '
        'stop = { uniform = ["120 s", "122 s"] } }',
    ]
    return WORLD.format(
        question="How fast does a scheme follow as the congestion rises to medium and high and falls again?",
        title="Light, medium, high, medium and light congestion, 40 s each, at 50 Mbit/s (Boudi & Loudini)",
        duration=200,
        warmup=0,
        rate=50,
        buffer=buffer("", 50),
        count="groups = [\n" + "".join(f"  {group},\n" for group in groups) + "]",
        rtt=LAWS[""],
    )


def search(law: str, level: str, rate: int) -> int:
    """Find the number of flows of one scenario."""
    text = scenario(law, level, rate, 1)
    for name, value in SEARCH.items():
        text = "\n".join(f'{name} = "{value}"' if line.startswith(f"{name} =") else line for line in text.split("\n"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.toml"
        path.write_text(text, encoding="utf-8")
        return find_flows(path, LEVELS[level])


def write(task: tuple[str, str, int]) -> int:
    """Search and write one scenario; return the number of flows."""
    law, level, rate = task
    count = search(law, level, rate)
    (FOLDER / f"{law}{level}-{rate}.toml").write_text(scenario(law, level, rate, count), encoding="utf-8")
    return count


def main() -> None:
    """Write every scenario."""
    tasks = [(law, level, rate) for law in LAWS for level in LEVELS for rate in BANDWIDTHS]
    with ProcessPoolExecutor() as pool:
        counts = dict(zip(tasks, pool.map(write, tasks), strict=True))
    for task, count in counts.items():
        print(*task, count)
    levels = {level: counts["", level, 50] for level in LEVELS}
    (FOLDER / "transient.toml").write_text(transient(levels), encoding="utf-8")


if __name__ == "__main__":
    main()
