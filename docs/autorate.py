"""Draw the picture of docs/autorate.md: what two controllers make of a modem whose rate falls to a third (seconds).

`python docs/autorate.py` writes docs/autorate.png.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import aqmlab
from aqmlab.control import Observed, Shaper
from aqmlab.control.cake_autorate import CakeAutorate
from aqmlab.control.delay import Delay
from aqmlab.present.plots import style

PICTURE = Path(__file__).with_suffix(".png")
PAGE = Path(__file__).with_suffix(".md")
MODEM = [(0, 60), (25, 60), (25, 20), (45, 20), (45, 60), (60, 60)]
"""The rate of the modem in the page's scenario, s and Mbit/s."""

RATES: list[tuple[float, float]] = []
"""Times and rates of the shaper in the run at hand."""


class NotedAutorate(CakeAutorate):
    """cake-autorate, its rates noted."""

    name = "noted-autorate"

    def decide(self, seen: Observed, shapers: Sequence[Shaper]) -> None:
        """Note the rate so far, and decide as it does."""
        RATES.append((seen.now, shapers[0].rate / 1e6))
        super().decide(seen, shapers)


class NotedDelay(Delay):
    """The controller by delay, its rates noted."""

    name = "noted-delay"

    def decide(self, seen: Observed, shapers: Sequence[Shaper]) -> None:
        """Note the rate so far, and decide as it does."""
        RATES.append((seen.now, shapers[0].rate / 1e6))
        super().decide(seen, shapers)


def followed(scenario: Path, law: str) -> tuple[list[tuple[float, float]], Any]:
    """Return the shaper's rates over time, and the time series of the modem."""
    RATES.clear()
    run = aqmlab.run(scenario, set={"controllers.autorate.law": law}, series=True)
    return [*RATES], run.series["modem"]


def main() -> None:
    """Run the page's scenario under both controllers and write the picture."""
    found = re.search(r"```toml\n(# modem\.toml.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise RuntimeError(f"{PAGE}: no scenario modem.toml in it")
    with TemporaryDirectory() as folder, mpl.rc_context(style.STYLE):
        scenario = Path(folder) / "modem.toml"
        scenario.write_text(found[1], encoding="utf-8")
        figure = Figure(figsize=(style.WIDTH, 3.2), layout="constrained")
        panels = figure.subplots(2, 2, sharex=True, sharey="row")
        for (rates, queue), (law, title) in zip(
            panels.T, (("noted-autorate", "cake-autorate"), ("noted-delay", "delay")), strict=True
        ):
            shaped, series = followed(scenario, law)
            rates.plot(*zip(*MODEM, strict=True), color="0.6", linestyle="--", label="modem")
            rates.plot(*zip(*shaped, strict=True), color=style.LINE, label="shaper")
            rates.set_title(title)
            queue.plot(series["time"], series["queue"], color=style.LINE)
            queue.set_xlabel("Time (s)")
        panels[0][0].set_ylabel("Rate (Mbit/s)")
        panels[0][0].set_ylim(bottom=0)
        panels[0][0].legend()
        panels[1][0].set_ylabel("Modem's queue (packets)")
        figure.savefig(PICTURE, dpi=200)


if __name__ == "__main__":
    main()
