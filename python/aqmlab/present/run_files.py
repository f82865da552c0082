"""The files of one run: result.json, the figures, and tables as CSV."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from aqmlab._core import Scenario
from aqmlab.present.figures.runs import figures
from aqmlab.present.plots.data import Drawing
from aqmlab.present.plots.files import encode_all
from aqmlab.runs.results import RunResult

if TYPE_CHECKING:
    from aqmlab.runs.results import Columns, Series


def records(result: RunResult, scenario: Scenario) -> dict[str, bytes | str]:
    """Return result.json, and as CSV the time series, each flow and each transfer."""
    written: dict[str, bytes | str] = {
        "result.json": result.json() + "\n",
        "series.csv": series_csv(result.series),
        "flows.csv": _flows_csv(result.flow_table, scenario),
    }
    if len(result.transfer_table["group"]):
        written["transfers.csv"] = _flows_csv(result.transfer_table, scenario)
    return written


def pictures(result: RunResult, scenario: Scenario) -> dict[str, bytes | str]:
    """Return the figures of each link."""
    drawings: dict[str, Drawing] = {}
    for link in scenario.links:
        for name, drawing in figures({result.aqm: result}, scenario, link).items():
            drawings[f"{link}-{name}" if len(scenario.links) > 1 else name] = drawing
    return dict(encode_all(drawings))


def series_csv(series: "Series") -> str:
    """Return one row a sample: the time, then each link's columns under `link.column`."""
    time = next(iter(series.values()))["time"]
    columns = {
        f"{link}.{name}": values
        for link, columns in series.items()
        for name, values in columns.items()
        if name != "time"
    }
    return _csv({"time": time, **columns})


def _flows_csv(table: "Columns", scenario: Scenario) -> str:
    """Return a table with a row for each flow or transfer, its group by name."""
    groups = [scenario.flows[int(index)] for index in table["group"]]
    return _csv({**table, "group": groups})


def _csv(columns: Mapping[str, Iterable[float | str]]) -> str:
    lines = [",".join(columns)]
    rows = zip(*columns.values(), strict=True)
    lines += [",".join(value if isinstance(value, str) else f"{value:.9g}" for value in row) for row in rows]
    return "\n".join(lines) + "\n"
