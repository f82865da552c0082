"""Compare the share of BBRv3 against CUBIC with published measurements of Google's BBRv3.

Run as a program, it measures the table of docs/bbr-evidence.md (a minute).
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import exceptions

import aqmlab

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "bbr-evidence.md"
TOLERANCE = 0.25
"""Of the mean share of each controller, if the ranges of the runs do not overlap."""
SEEDS = (1, 2, 3, 4, 5)
ACCESS = "100 Gbit/s"
"""The access rate of FABRIC's machines."""


@dataclass(frozen=True)
class Setting:
    """One CUBIC flow and a number of BBRv3 flows on one link."""

    rate: int
    """Mbit/s."""
    rtt: int
    """Milliseconds."""
    buffer: int
    """Bandwidth-delay products."""
    flows: int
    published: Sequence[float]
    """BBRv3's share of the goodput in each trial."""

    @property
    def name(self) -> str:
        """The row in `exceptions.toml`."""
        return f"{self.rate} Mbit/s, {self.rtt} ms, {self.buffer} BDP, BBRv3 flows: {self.flows}"

    def share(self, seed: int) -> float:
        """The share of all BBRv3 flows in the four minutes of a trial; hosts use segmentation offload."""
        values = {
            "links.bottleneck.rate": f"{self.rate} Mbit/s",
            "links.bottleneck.buffer": f"{self.buffer} bdp",
            "flows.flow.rtt": f"{self.rtt} ms",
            "flows.cubic.rtt": f"{self.rtt} ms",
            "flows.flow.access_rate": ACCESS,
            "flows.cubic.access_rate": ACCESS,
            "flows.flow.count": str(self.flows),
            "flows.flow.tcp": '{ profile = "linux", congestion_control = "bbr3", bursts = "gso" }',
            "flows.cubic.tcp": '{ profile = "linux", congestion_control = "cubic", bursts = "gso" }',
            "duration": "240 s",
            "warmup": "0 s",
        }
        run = aqmlab.run("bbr/beside", "droptail", seed=seed, set=values)
        return run.flows["flow"].goodput / run.total.goodput

    def shares(self, seeds: Sequence[int] = SEEDS) -> list[float]:
        """Return the share of each seed."""
        return [self.share(seed) for seed in seeds]

    def agrees(self, shares: Sequence[float]) -> bool:
        """Whether the ranges overlap, or the shares of BBRv3 and CUBIC are near the published ones."""
        if min(shares) <= max(self.published) and min(self.published) <= max(shares):
            return True
        ours, theirs = mean(shares), mean(self.published)
        return abs(ours - theirs) <= TOLERANCE * min(theirs, 1 - theirs)


Checked = Sequence[tuple[Setting, Sequence[float]]]
"""Settings with the simulator's shares."""


def settings() -> list[Setting]:
    """Read the published shares."""
    rows = json.loads((HERE / "shares.json").read_text(encoding="utf-8"))["rows"]
    return [
        Setting(**row, published=[bbr / (bbr + cubic) for bbr, cubic in trials])
        for row in rows
        for trials in [row.pop("trials")]
    ]


def shown(shares: Sequence[float]) -> str:
    """Return mean, minimum and maximum in percent."""
    return f"{100 * mean(shares):.0f} ({100 * min(shares):.0f} to {100 * max(shares):.0f})"


def check() -> Checked:
    """Measure the shares in every setting."""
    return [(each, each.shares()) for each in settings()]


def differing(checked: Checked) -> exceptions.Cells:
    """Return the settings whose share does not agree."""
    return {each.name: ["share"] for each, ours in checked if not each.agrees(ours)}


def table(checked: Checked) -> str:
    """Return the table of docs/bbr-evidence.md."""
    lines = ["| link | buffer | BBRv3 flows | there | here | agrees |", "| --- | --- | --- | --- | --- | --- |"]
    for each, ours in checked:
        lines.append(
            f"| {each.rate} Mbit/s, {each.rtt} ms | {each.buffer} BDP | {each.flows} | {shown(each.published)} "
            f"| {shown(ours)} | {'yes' if each.agrees(ours) else 'no'} |"
        )
    return "\n".join(lines)


def filled(text: str, checked: Checked) -> str:
    """Return the page with its table."""
    before, mark, rest = text.partition("<!-- shares -->")
    assert mark, "the page has no place for the shares"
    return f"{before}{mark}\n\n{table(checked)}\n\n{rest[rest.index('<!-- end -->') :]}"


def main() -> None:
    """Write the table."""
    checked = check()
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), checked), encoding="utf-8")
    print(f"see docs/{PAGE.name}")
    sys.exit("\n".join(exceptions.faults("bbr", differing(checked))) or 0)


if __name__ == "__main__":
    main()
