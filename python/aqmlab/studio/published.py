"""The numbers that papers print, to be laid over what is simulated."""

from typing import Any

from aqmlab.study.paper import PaperTable, built, load_study

PLACED = ("total.", "links.", "flows.", "stability.")
"""How the full names of measures begin; others belong to the table's link."""


def published(name: str) -> dict[str, Any]:
    """Return the tables and figures of a study; InputError with the nearest names if there is none."""
    study = load_study(name)
    return {
        "name": study.name,
        "title": study.title,
        "source": study.source,
        "tables": [_table(table) for table in study.tables],
        "figures": [
            {
                "number": figure.number,
                "title": figure.title,
                "kind": figure.kind,
                "scenarios": list(dict.fromkeys(each for panel in figure.panels for each in panel.scenarios)),
                "schemes": list(dict.fromkeys(each for panel in figure.panels for each in panel.schemes)),
            }
            for figure in study.figures
        ],
    }


def _table(table: PaperTable) -> dict[str, Any]:
    cells = []
    for cell in table.published:
        metric, aqm = table.metrics[cell.metric], table.schemes.get(cell.scheme)
        is_mean = metric.over == "mean" and cell.scheme not in {**table.differences, **table.together}
        ours = metric.ours
        if ours is not None and not ours.startswith(PLACED):
            ours = f"links.{table.link}.{ours}"
        cells.append(
            {
                "scheme": cell.scheme,
                "aqm": aqm if aqm and is_mean and built(aqm) else None,
                "metric": cell.metric,
                "title": metric.metric.title,
                "unit": metric.metric.unit,
                "value": cell.value,
                "bound": cell.bound,
                "ours": ours,
                "published": metric.uncount(cell.value),
                "scenario": metric.scenario,
                "why": cell.why,
            }
        )
    return {
        "number": table.number,
        "title": table.title,
        "scenarios": list(table.scenarios),
        "link": table.link,
        "cells": cells,
    }
