"""Measure the board: controllers under schemes on links; writes docs/board.json, and tables of docs/board*.md.

`python docs/board.py` does the runs of board.toml that target/board does not contain yet (half an hour on two cores),
and writes the pages. `--linux` measures the cells that Linux supports and that validation/board/linux.jsonl does not
contain, on the newest kernel. `--verify N` repeats N cells, drawn by `--seed`, with their commands. `--release VERSION`
stores the present numbers as those of a release, from which later boards differ.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import marks
import numpy as np
import tables

import aqmlab
from aqmlab import catalogue
from aqmlab._core import Scenario
from aqmlab.kernel.images import newest
from aqmlab.present.labels import label
from aqmlab.problems import InputError
from aqmlab.runs import linux, plan
from aqmlab.runs.executor import run_many
from aqmlab.runs.metrics import find
from aqmlab.runs.results import RunResult
from aqmlab.runs.statistics import summarise
from aqmlab.runs.store import load_experiment, load_series
from aqmlab.runs.sweep import sweep
from aqmlab.runs.task import LINUX, Task
from aqmlab.scenario import load

ROOT = Path(__file__).parent.parent
EXPERIMENT, DATA, PAGE, LINKS = (ROOT / "docs" / f"board{end}" for end in (".toml", ".json", ".md", "-links.md"))
STORE = ROOT / "target" / "board"
ON_LINUX, RELEASED = (ROOT / "validation" / "board" / name for name in ("linux.jsonl", "released.json"))
CONTROLLER = "flows.bulk.tcp.congestion_control"
MEASURES = {
    "flows.ping.packet_delay_p99": "Delay of pings, p99",
    "flows.bulk.goodput": "Goodput",
    "flows.bulk.jain": "Jain's index",
}
"""The numbers of a cell, and their heads."""
DELAY, GOODPUT, _ = MEASURES
POINTS = 40
"""Points of the picture of a queue."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""Heights of the points, from empty to the maximum of the run."""
ENOUGH = 0.9
"""Share of the highest goodput on a link from which on the delays of cells are compared."""

Numbers = list[list[float] | None]
"""Mean and half-width of the 95 % interval of each measure, in the units of tables; None for no value."""


class Place(NamedTuple):
    """The place of a cell on the board."""

    link: str
    controller: str
    scheme: str

    @property
    def command(self) -> str:
        """The command that prints the numbers of the cell."""
        return f"aqmlab compare {self.link} --cc {self.controller} --aqms {self.scheme} --seeds {len(wanted().seeds)}"

    @property
    def scenario(self) -> Scenario:
        """The scenario with the controller."""
        return load(self.link, {CONTROLLER: self.controller})


@cache
def wanted() -> plan.Plan:
    """Return the experiment."""
    return plan.read(EXPERIMENT)


def places() -> list[Place]:
    """Return all cells in the order of the board."""
    return [
        Place(each.case.scenario, dict(each.case.overrides)[CONTROLLER], each.arm.aqm) for each in wanted().conditions
    ]


def numbers(runs: Sequence[Mapping[str, Any]]) -> Numbers:
    """Return the numbers of a cell from the values of its runs, rounded as tables show them."""
    found: Numbers = []
    for path in MEASURES:
        values = [run[path] for run in runs]
        if None in values or np.isnan(values).any():
            found.append(None)
        else:
            of = summarise(values).scaled(find(path).shown.scale)
            found.append([round(of.mean, digits(path)), round(of.half_width or 0.0, digits(path))])
    return found


def digits(path: str) -> int:
    """Return the decimals of a measure: one more for delays than in tables, for those of a data centre are short."""
    return find(path).shown.digits + (path == DELAY)


def picture(queue: Sequence[float]) -> dict[str, Any]:
    """Return the maximum of a queue over time, and its course as one digit per point."""
    means = [part.mean() for part in np.array_split(np.asarray(queue), POINTS)]
    peak = max(means)
    heights = (round((len(DIGITS) - 1) * mean / peak) if peak else 0 for mean in means)
    return {"peak": round(float(peak), 1), "queue": "".join(DIGITS[height] for height in heights)}


def simulated(folder: Path) -> dict[Place, dict[str, Any]]:
    """Return the cells whose runs a sweep contains: their numbers, and the picture of the first seed."""
    runs, series = load_experiment(folder), dict(iter(load_series(folder).groupby("key")["queue"]))
    cells = {}
    for place, group in runs[runs["state"] == "done"].groupby(["scenario", f"set.{CONTROLLER}", "aqm"]):
        done = group.sort_values("seed")
        drawn = [series[key] for key in done["key"] if key in series]
        if len(done) == len(wanted().seeds) and drawn:
            values = [dict(zip(MEASURES, each, strict=True)) for each in done[[*MEASURES]].to_numpy()]
            cells[Place(*map(str, place))] = {"sim": numbers(values), **picture(drawn[0])}
    return cells


def on_linux() -> dict[Place, dict[str, Any]]:
    """Return the stored cells of Linux: numbers, version of the kernel, and date."""
    lines = ON_LINUX.read_text(encoding="utf-8").splitlines() if ON_LINUX.exists() else []
    rows = [json.loads(line) for line in lines]
    return {Place(*row.pop("cell")): row for row in rows}


def supported(place: Place) -> bool:
    """Return whether Linux has the controller, the scheme and the link of a cell."""
    try:
        linux.order_of(place.scenario, place.scheme, 1, series=False)
    except InputError:
        return False
    return True


def measure_linux(chosen: Iterable[Place]) -> None:
    """Measure cells on the newest kernel, and store each as soon as its seeds are done."""
    version, known = newest().version, on_linux()
    for place in (each for each in chosen if each not in known and supported(each)):
        print(place.command.replace("--seeds", "--engine linux --seeds"), flush=True)
        runs = run_many([Task(place.scenario, place.scheme, seed, engine=LINUX) for seed in wanted().seeds])
        values = [run.values for run in runs if isinstance(run, RunResult)]
        if len(values) == len(runs):
            date = datetime.now(UTC).date().isoformat()
            row = {"cell": place, "linux": numbers(values), "kernel": version, "date": date}
            with ON_LINUX.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def released() -> dict[str, Any]:
    """Return the version of the last release with a board, and its numbers by cell; empty if there is none."""
    return dict(json.loads(RELEASED.read_text(encoding="utf-8"))) if RELEASED.exists() else {}


def store_release(version: str) -> None:
    """Store the present numbers as those of a release."""
    cells = {" ".join(cell["cell"]): cell["sim"] for cell in stored()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in cells.items())
    RELEASED.write_text(f'{{"version": {json.dumps(version)}, "cells": {{\n{lines}\n}}}}\n', encoding="utf-8")


def board(cells: Mapping[Place, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the board as JSON, with the numbers of Linux and those of the last release that differ."""
    before, kernel = released(), on_linux()
    found = []
    for place in places():
        cell = {"cell": place, **cells.get(place, {"sim": None}), **kernel.get(place, {})}
        was = before.get("cells", {}).get(" ".join(place))
        found.append(cell | ({"was": was} if was and was != cell["sim"] else {}))
    titles = {each.name: each.title for each in catalogue.laws()}
    return {
        "version": aqmlab.__version__,
        "seeds": len(wanted().seeds),
        "released": before.get("version"),
        "measures": [
            {"title": head, "unit": unit if (unit := find(path).shown.unit) != "1" else "", "digits": digits(path)}
            for path, head in MEASURES.items()
        ],
        "links": {name: load(name).title for name in dict.fromkeys(place.link for place in places())},
        "controllers": {name: titles[name] for name in dict.fromkeys(place.controller for place in places())},
        "schemes": {name: label(name) for name in dict.fromkeys(place.scheme for place in places())},
        "cells": found,
    }


def written(document: Mapping[str, Any]) -> str:
    """Return the document as text, a line per cell."""
    *head, cells = document.items()
    lines = ",\n".join(json.dumps(cell, ensure_ascii=False) for cell in cells[1])
    return f'{json.dumps(dict(head), ensure_ascii=False)[:-1]}, "cells": [\n{lines}\n]}}\n'


def best(document: Mapping[str, Any]) -> str:
    """Return a table of the cell with the lowest delay on each link, among those with enough goodput."""
    rows = []
    for link, title in document["links"].items():
        cells = [each for each in document["cells"] if each["cell"][0] == link and each["sim"] and all(each["sim"])]
        if cells:
            enough = ENOUGH * max(cell["sim"][1][0] for cell in cells)
            first = min((cell for cell in cells if cell["sim"][1][0] >= enough), key=lambda cell: cell["sim"][0][0])
            (_, controller, scheme), measured = first["cell"], zip(first["sim"], document["measures"], strict=True)
            shown = [f"{mean:.{of['digits']}f} ± {half:.{of['digits']}f}" for (mean, half), of in measured]
            rows.append([title, document["controllers"][controller], document["schemes"][scheme], *shown])
    heads = [f"{each['title']} ({each['unit']})" if each["unit"] else each["title"] for each in document["measures"]]
    return tables.table(["link", "controller", "scheme", *heads], rows)


def scenarios(document: Mapping[str, Any]) -> str:
    """Return the scenarios of the links, each under a heading with its name."""
    return "\n\n".join(f"## {name.partition('/')[2]}\n\n```toml\n{load(name).text}```" for name in document["links"])


def stored() -> list[dict[str, Any]]:
    """Return the cells of the page's data."""
    return list(json.loads(DATA.read_text(encoding="utf-8"))["cells"])


def write_pages(cells: Mapping[Place, Mapping[str, Any]]) -> None:
    """Write the data and the pages with these cells of the simulator."""
    document = board(cells)
    DATA.write_text(written(document), encoding="utf-8")
    for page, name, content in ((PAGE, "best", best), (LINKS, "links", scenarios)):
        text = page.read_text(encoding="utf-8")
        page.write_text(marks.between(text, name, content(document), by="make board"), encoding="utf-8")


def repeated(place: Place) -> Numbers:
    """Return the numbers that the command of a cell prints."""
    command = [sys.executable, "-m", *place.command.split(), "--json"]
    runs = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["runs"]
    return numbers([RunResult.read({"result": run}).values for run in runs])


def verify(count: int, seed: int) -> None:
    """Repeat random cells by their commands; exit with 1 if a number differs from the stored one."""
    different = 0
    for cell in random.Random(seed).sample([cell for cell in stored() if cell["sim"]], count):
        place, known = Place(*cell["cell"]), cell["sim"]
        found = repeated(place)
        different += found != known
        print("same" if found == known else f"{known} is now {found}", place.command, sep=": ", flush=True)
    sys.exit(different > 0)


def main() -> None:
    """Do what the options say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--linux", action="store_true", help="measure on Linux")
    parser.add_argument("--only", default="", metavar="TEXT", help="with --linux: cells whose command contains it")
    parser.add_argument("--verify", type=int, metavar="N", help="repeat N random cells")
    parser.add_argument("--seed", type=int, default=1, help="with --verify: which cells")
    parser.add_argument("--release", metavar="VERSION", help="store the numbers as those of a release")
    given = parser.parse_args()
    if given.release:
        store_release(given.release)
    elif given.verify:
        verify(given.verify, given.seed)
    elif given.linux:
        measure_linux(place for place in places() if given.only in place.command)
        kept = ("sim", "peak", "queue")
        write_pages({Place(*cell["cell"]): {key: cell[key] for key in kept if key in cell} for cell in stored()})
    else:
        sweep(EXPERIMENT, STORE, resume=STORE.exists(), series="first")
        write_pages(simulated(STORE))


if __name__ == "__main__":
    main()
