"""Measure the tables of docs/wifi-evidence.md again and draw its picture (a minute).

`python docs/wifi.py` rewrites the blocks between `<!-- NAME -->` and `<!-- end -->`, and docs/wifi.png.
"""

import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from tables import table

import aqmlab
from aqmlab.present.plots import style
from aqmlab.runs.results import RunResult

PAGE = Path(__file__).with_name("wifi-evidence.md")
PICTURE = Path(__file__).with_suffix(".png")
STATES: dict[str, dict[str, str | float]] = {
    "FIFO": {"wifi.queues": "shared"},
    "FQ-CoDel": {"wifi.queues": "shared", "wifi.aqm": "fq-codel"},
    "mac80211, turns": {"wifi.airtime_fairness": False},
    "mac80211, airtime": {},
}
"""The queues of the access point, oldest first."""
SEEDS = (1, 2, 3)
CONSTANTS = {"5/100": (5, 100), "8/80": (8, 80), "20/100": (20, 100), "50/300": (50, 300)}
"""CoDel's target and interval, ms: RFC 8289; proposed with the revert; mac80211; its slow stations before."""
ALIKE = [(stations, rate) for stations in (1, 3, 10, 30) for rate in (6.5, 65, 300)]
"""Stations and the rate of each, Mbit/s."""


def runs(scenario: str, values: dict[str, str | float]) -> list[RunResult]:
    """A scenario under every seed."""
    return [aqmlab.run(scenario, set=values, seed=seed) for seed in SEEDS]


def mean(values: list[float]) -> float:
    """Of the seeds."""
    return sum(values) / len(values)


def flood() -> str:
    """Airtime and goodput of flooded stations."""
    rows = []
    for state, values in STATES.items():
        found = runs("wifi/flood", values)
        shares = [100 * mean([run.stations[name].airtime_share for run in found]) for name in ("fast", "slow")]
        rates = [mean([run.flows[f"flood-{name}"].goodput / 1e6 for run in found]) for name in ("fast", "slow")]
        frames = mean([run.stations["fast"].ampdu_mean or 0 for run in found])
        fast, slow = rates[0] / 2, rates[1]
        cells = [f"{share:.1f} %" for share in shares] + [f"{rate:.1f}" for rate in (fast, slow, 2 * fast + slow)]
        rows.append([state, *cells, f"{frames:.1f}"])
    heads = ["Access point", "airtime, each fast", "slow", "Mbit/s, each fast", "slow", "all", "MPDUs of a fast A-MPDU"]
    return table(heads, rows, of_numbers=True)


def anomaly() -> tuple[str, dict[str, dict[str, float]]]:
    """Goodput of downloads and the delay of concurrent pings."""
    rows, delays = [], {}
    for state, values in STATES.items():
        found = runs("wifi/anomaly", values)
        rates = [mean([run.flows[f"down-{name}"].goodput / 1e6 for run in found]) for name in ("fast", "slow")]
        delays[state] = {name: 1e3 * mean([_there(run, name) for run in found]) for name in ("fast", "slow", "idle")}
        cells = [f"{rates[0] / 2:.1f}", f"{rates[1]:.1f}", *(f"{delay:.0f}" for delay in delays[state].values())]
        rows.append([state, *cells])
    return table(
        ["Access point", "Mbit/s, each fast", "slow", "ms, fast", "slow", "idle"], rows, of_numbers=True
    ), delays


def _there(run: RunResult, name: str) -> float:
    """Median delay of the pings to a station, s."""
    delay = run.flows[f"ping-{name}"].packet_delay_p50
    assert delay is not None
    return delay


def thirty() -> str:
    """Goodput of thirty stations."""
    rows = []
    for state, values in STATES.items():
        found = runs("wifi/thirty", values)
        rates = [mean([run.flows[f"down-{name}"].goodput / 1e6 for run in found]) for name in ("fast", "slow")]
        share = 100 * mean([run.stations["slow"].airtime_share for run in found])
        rows.append([state, f"{rates[0]:.1f}", f"{rates[1]:.2f}", f"{share:.1f} %"])
    return table(["Access point", "Mbit/s, 29 fast together", "slow", "airtime of the slow one"], rows, of_numbers=True)


def codel() -> str:
    """Goodput of all and the queueing delay, by stations, their rate and CoDel's constants."""
    rows = []
    for stations, rate in ALIKE:
        cells = []
        for target, interval in CONSTANTS.values():
            scheme = f"fq-codel:flows=4096,quantum=300B,drop_batch=32,target={target}ms,interval={interval}ms"
            values = {"stations.station.rate": f"{rate} Mbit/s", "wifi.aqm": scheme}
            found = runs("wifi/alike", {**values, "stations.station.count": stations})
            goodput = mean([run.flows["down"].goodput / 1e6 for run in found])
            wait = 1e3 * mean([run.links["station-down"].queue_delay_mean or 0 for run in found])
            cells.append(f"{goodput:.1f}, {wait:.0f}")
        rows.append([f"{stations} of {rate:g} Mbit/s", *cells])
    return table(["Stations", *CONSTANTS], rows, of_numbers=True)


def picture(delays: dict[str, dict[str, float]]) -> Figure:
    """Median delay of pings by station and state."""
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.WIDTH, 2.2), layout="constrained")
        axes = figure.subplots()
        for i, name in enumerate(("fast", "slow", "idle")):
            places = [at + 0.25 * (i - 1) for at in range(len(delays))]
            shades = dict(zip(("fast", "slow", "idle"), ("0.35", "0.65", "0.85"), strict=True))
            axes.bar(places, [of[name] for of in delays.values()], width=0.22, color=shades[name], label=name)
        axes.set_xticks(range(len(delays)), list(delays))
        axes.set_yscale("log")
        axes.set_ylabel("Median delay of pings (ms)")
        axes.legend()
    return figure


def main() -> None:
    """Run all, rewrite the page's blocks and draw."""
    downloads, delays = anomaly()
    text = PAGE.read_text(encoding="utf-8")
    blocks = {"flood": flood(), "anomaly": downloads, "thirty": thirty(), "codel": codel()}
    for name, block in blocks.items():
        text = re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\1\n{block}\n\n\2", text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")
    picture(delays).savefig(PICTURE, dpi=200)


if __name__ == "__main__":
    main()
