"""Draw a picture of docs/live.md: one scheme on one link, simulated, analysed and live; writes docs/landing.png.

The line and the scheme are those of `aqmlab analyse pi --design --rate "20 Mbit/s" --rtt "60 ms" --flows 20 --packet
"1448 B" --target "60 packets"`, whose gains are taken. The live run needs iperf3, and half a minute.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from aqmlab import _core, analysis
from aqmlab._core import Scenario
from aqmlab.present.plots import style
from aqmlab.present.plots.data import envelope
from aqmlab.present.plots.paper import DASHED
from aqmlab.runs.live import EmulatedLine, beside, live

PICTURE = Path(__file__).parent / "landing.png"
FLOWS, SECONDS, SETTLED, TARGET = 20, 30, 10, 60

Curve = tuple[Any, Any]


def line() -> EmulatedLine:
    """Return one direction at 20 Mbit/s; the kernel's Reno has no more options than ours."""
    return EmulatedLine(
        up="20 Mbit/s",
        down=None,
        rtt="60ms",
        law="reno",
        flows={"up": FLOWS, "down": 0},
        values={"links.up.target": f"{TARGET} packets"},
    )


def gains() -> str:
    """Return PI with the gains of its design rule."""
    return analysis.analyse(
        "pi",
        rate="20 Mbit/s",
        rtt="60 ms",
        flows=FLOWS,
        packet="1448 B",
        target=f"{TARGET} packets",
        design=True,
    ).scheme


def fluid(scheme: str) -> Curve:
    """Return the fluid model's queue, with an ACK for each segment: Linux's Reno counts segments."""
    scenario = line().scenario()
    values = [*scenario.overrides, ("duration", f"{SECONDS} s"), ("flows.up.tcp.delayed_ack", "false")]
    series = _core.fluid(Scenario.parse(scenario.text, "line", values), scheme, series=True).series()
    return series["time"], series["queue"]


def curves(scheme: str) -> dict[str, Curve]:
    """Return the queue over time: from the simulator, the fluid model and the kernel's packets."""
    command = ["sh", "-c", f"iperf3 -c server -t {SECONDS} -P {FLOWS} > /dev/null"]
    sysctls = [("net.ipv4.tcp_congestion_control", "reno")]
    real = live(line().scenario(), command, scheme, serve=["iperf3 -s > /dev/null"], sysctls=sysctls)
    if not real.is_valid:
        sys.exit("the machine was too busy for the live run; nothing is drawn")
    simulated = beside(real, line(), scheme).series["up"]
    return {
        "Simulated": (simulated["time"], simulated["queue"]),
        "Analysed (fluid model)": fluid(scheme),
        "Live (TCP of Linux)": (real.series["up"]["time"], real.series["up"]["queue"]),
    }


def picture(found: dict[str, Curve]) -> Figure:
    """Draw the curves beside each other, on the same axes, with their means once all have started."""
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.WIDTH, 2.2), layout="constrained")
        for axes, (title, (time, queue)) in zip(
            figure.subplots(1, len(found), sharey=True), found.items(), strict=True
        ):
            mean = queue[(time > SETTLED) & (time < SECONDS)].mean()
            axes.plot(*envelope(time, queue), color=style.LINE, linewidth=0.8)
            axes.axhline(TARGET, linewidth=1.0, **DASHED)
            axes.set_title(f"{title}: {mean:.0f} packets")
            axes.set_xlabel("Time (s)")
            axes.set_xlim(0, SECONDS)
            axes.set_ylim(0, 3 * TARGET)
        figure.axes[0].set_ylabel("Queue (packets)")
    return figure


def main() -> None:
    """Measure and draw."""
    picture(curves(gains())).savefig(PICTURE, dpi=200)


if __name__ == "__main__":
    main()
