"""The picture of a worst case: the queue of the link under the target and under its best peer."""

from collections.abc import Mapping
from dataclasses import replace

from aqmlab.present.figures.runs import queue_frame, queue_panel
from aqmlab.present.plots.data import OverTime
from aqmlab.runs.executor import run_many
from aqmlab.runs.results import RunResult
from aqmlab.runs.task import Task
from aqmlab.worst.result import Worst
from aqmlab.worst.words import title


def figure(found: Worst) -> OverTime | None:
    """Return the queue over time under one seed; None without a finding, or if a run fails."""
    if found.finding is None:
        return None
    case, regret = found.finding.trial.case, found.finding.regret
    shown = [each for each in found.plan.contenders if each.name in (found.plan.target.name, regret.best)]
    scenarios = dict(zip((each.name for each in found.plan.contenders), case.scenarios, strict=True))
    outcomes = run_many(
        [Task(scenarios[each.name], each.aqm, 1 + each.shift, series=True, engine=each.engine) for each in shown]
    )
    runs: Mapping[str, RunResult] = {
        title(each): run for each, run in zip(shown, outcomes, strict=True) if isinstance(run, RunResult)
    }
    if len(runs) < len(shown):
        return None
    link = case.scenarios[0].links[0]
    panels = [
        replace(queue_panel(name, {name: run}, link, None), colour=i) for i, (name, run) in enumerate(runs.items())
    ]
    return OverTime(panels, case.scenarios[0].duration, [queue_frame(panels, [(case.scenarios[0], link)])], 2)
