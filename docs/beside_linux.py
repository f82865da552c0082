"""Draw the simulator beside Linux for the pages of the schemes and laws that Linux has; needs `aqmlab kernel build`.

`python docs/beside_linux.py [NAME ...]` draws those of the schemes and laws named, or all; `make docs` puts them in
their pages.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

import aqmlab
from aqmlab import catalogue
from aqmlab._core import Scenario
from aqmlab.kernel.images import newest
from aqmlab.present.plots import style
from aqmlab.present.plots.data import envelope
from aqmlab.problems import InputError
from aqmlab.runs import linux
from aqmlab.runs.task import LINUX, SIM
from aqmlab.scenario import load

DOCS = Path(__file__).parent
SCENARIO, LINK = "catalogue/beside-linux", "bottleneck"
SCHEMES, LAWS = DOCS / "schemes" / "linux", DOCS / "tcp" / "linux"
MARKED = {"dctcp": ("codel:ce_threshold=1ms", {"flows.bulk.ecn": "true", f"links.{LINK}.ecn": "true"})}
"""The scheme, and what is set, for laws that need marks; all others are shown with DropTail."""

BOUNDS = {"ared": ["bottom=0.01"]}
"""What Linux has no parameter for."""


def as_linux(scheme: catalogue.Scheme) -> str:
    """Return the scheme with the rules of Linux, where its own are others."""
    has_flavour = any(each.name == "flavour" and each.default != "linux" for each in scheme.parameters)
    values = (["flavour=linux"] if has_flavour else []) + BOUNDS.get(scheme.name, [])
    return f"{scheme.name}:{','.join(values)}" if values else scheme.name


class Subject(NamedTuple):
    """What a picture is about: a scenario with a scheme, and where the picture goes."""

    scenario: Scenario
    aqm: str
    file: Path


def subjects() -> Iterator[Subject]:
    """Yield the schemes and laws that Linux has. InputError if no kernel is built."""
    newest()
    every = [
        Subject(load(SCENARIO), as_linux(scheme), SCHEMES / f"{scheme.name}.png") for scheme in catalogue.schemes()
    ]
    for law in catalogue.laws():
        aqm, values = MARKED.get(law.name, ("droptail", {}))
        tcp = f'{{ profile = "linux", congestion_control = "{law.name}" }}'
        every.append(Subject(load(SCENARIO, {"flows.bulk.tcp": tcp, **values}), aqm, LAWS / f"{law.name}.png"))
    for each in every:
        with suppress(InputError):  # not in Linux
            linux.check(each.scenario, each.aqm)
            yield each


def picture(of: Subject) -> Figure:
    """Queue over time by both engines, one below the other, each with its means."""
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.WIDTH, 2.4), layout="constrained")
        panels = figure.subplots(2, 1, sharex=True, sharey=True)
        for axes, engine, name in zip(panels, (SIM, LINUX), ("Simulator", "Linux"), strict=True):
            run = aqmlab.run(of.scenario, of.aqm, series=True, engine=engine)
            series, link = run.series[LINK], run.links[LINK]
            axes.plot(*envelope(series["time"], series["queue"]), color=style.LINE, linewidth=0.7)
            told = f"mean {link.queue_mean:.1f}, std {link.queue_std:.1f} packets, drops {100 * link.drop_ratio:.2f} %"
            style.heading(axes, name, f"{told}, {100 * link.utilisation:.1f} % used")
            axes.set_xlim(0, of.scenario.duration)
            axes.set_ylabel("Queue (packets)")
        panels[1].set_ylim(0, None)  # of both, once both are drawn
        panels[1].set_xlabel("Time (s)")
    return figure


def main() -> None:
    """Draw what is named, or all."""
    for each in subjects():
        if len(sys.argv) == 1 or each.file.stem in sys.argv[1:]:
            each.file.parent.mkdir(exist_ok=True)
            picture(each).savefig(each.file, dpi=110)
            print(each.file.relative_to(DOCS))


if __name__ == "__main__":
    main()
