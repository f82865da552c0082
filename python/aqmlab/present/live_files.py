"""The files of a live run in addition to its logs, alone or with its simulation."""

import json
from dataclasses import dataclass
from typing import Any

from aqmlab._core import Scenario
from aqmlab.catalogue import target
from aqmlab.csv_text import csv_text
from aqmlab.present.figures.runs import DrawnRun, queue_frame, queue_panel
from aqmlab.present.plots.data import Drawing, OverTime
from aqmlab.present.plots.files import encode_all
from aqmlab.present.run_files import series_csv
from aqmlab.runs.live import FLOW_COLUMNS, LiveRun
from aqmlab.runs.metrics import LinkResult
from aqmlab.runs.results import RunResult


@dataclass(frozen=True)
class _Live:
    """A live run as figures take it."""

    links: dict[str, LinkResult]
    series: dict[str, dict[str, Any]]


def records(run: LiveRun) -> dict[str, bytes | str]:
    """Return result.json, flows.csv and series.csv, for which nothing but the run is needed."""
    return {
        "result.json": json.dumps(run.document, indent=1) + "\n",
        "flows.csv": csv_text([FLOW_COLUMNS, *run.flows]),
        "series.csv": series_csv(run.series),
    }


def pictures(run: LiveRun, scenario: Scenario, aqm: str | None, simulated: RunResult | None) -> dict[str, bytes | str]:
    """Return the queue over time of each direction; `aqm` is a scheme as the catalogue has it."""
    links = {name: LinkResult(**link) for name, link in run.document["links"].items()}
    shown: dict[str, DrawnRun] = {"live": _Live(links, run.series)}
    if simulated is not None:
        shown["simulated"] = simulated
    end = run.document["live"]["duration"] + scenario.warmup
    drawings: dict[str, Drawing] = {}
    for link in links:
        panel = queue_panel("", shown, link, target(scenario, link, aqm or run.document["aqm"]))
        drawings[f"{link}-queue"] = OverTime([panel], end, [queue_frame([panel], [(scenario, link)])], 1)
    return dict(encode_all(drawings))
