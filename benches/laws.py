"""Measure the cost of a packet under each congestion controller, and store it in `benches/laws.json`.

`python benches/laws.py` measures all, and `make bench` writes the stored results onto its page.
"""

import json
from pathlib import Path
from time import process_time

import aqmlab
from aqmlab import Scenario

STORED = Path(__file__).resolve().parent / "laws.json"
SCENARIO = """schema = 1
duration = "{duration} s"
[[links]]
name = "bottleneck"
rate = "100 Mbit/s"
delay = "20 ms"
buffer = "{buffer} packets"
[[flows]]
name = "bulk"
count = {flows}
rtt = "40 ms"
tcp = {{ profile = "linux", congestion_control = "{law}" }}
"""
LAWS = ["reno", "cubic", "abe", "ledbat", "dctcp", "prague", "vegas", "westwood", "bbr", "bbr3"]
BDP = 333
"""Packets of 100 Mbit/s and 40 ms."""
CASES = [(10, BDP, 60), (10, 4 * BDP, 60), (500, BDP, 20), (500, 4 * BDP, 20)]
"""Flows, packets of buffer, seconds."""
ROUNDS = 7


def main() -> None:
    """Run every controller in every case, in turn; keep the best times."""
    rows = []
    for flows, buffer, duration in CASES:
        texts = [SCENARIO.format(flows=flows, buffer=buffer, duration=duration, law=law) for law in LAWS]
        scenarios = [Scenario.parse(text, law) for text, law in zip(texts, LAWS, strict=True)]
        found = [[measured(scenario) for scenario in scenarios] for _ in range(ROUNDS)]
        for law, runs in zip(LAWS, zip(*found, strict=True), strict=True):
            _, arrived, departed = runs[0]
            best = min(seconds for seconds, *_ in runs)
            rows.append(
                {
                    "flows": flows,
                    "buffer": round(buffer / BDP),
                    "law": law,
                    "seconds": best,
                    "arrived": arrived,
                    "departed": departed,
                }
            )
            print(*rows[-1].values(), flush=True)
    STORED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def measured(scenario: Scenario) -> tuple[float, float, float]:
    """Return the processor's seconds of a run, and the packets that reached the queue and left it."""
    start = process_time()
    result = aqmlab.run(scenario, "droptail", seed=1)
    spent = process_time() - start
    link = result.links["bottleneck"]
    return spent, link.arrived, link.departed


if __name__ == "__main__":
    main()
