"""aqmlab, the laboratory for Active Queue Management.

>>> import aqmlab
>>> result = aqmlab.run("li2014/table-1", aqm="pi", seed=1)
>>> result.links["bottleneck"].queue_mean          # packets waiting, time-weighted
>>> aqmlab.compare("li2014/table-1", "ared,rem,pi", seeds=5).table()
>>> aqmlab.reproduce("li2014", tables=["1"]).coverage

Times are seconds, rates bit/s, queues packets. Bad input raises `InputError`, which names the field, the
value, the reason and the nearest valid name. Modules are loaded when first used, so the import is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aqmlab._core import AckFacts, Packet, Queue, Scenario, SchemeError, Verdict, Window
    from aqmlab.analysis import analyse, gain_ranges
    from aqmlab.catalogue import schemes
    from aqmlab.control import RateController
    from aqmlab.laws import CongestionControl
    from aqmlab.line import Line, Path, SharedPath
    from aqmlab.own import DROP, MARK, PASS, SIGNAL, Aqm, Param, check_aqm
    from aqmlab.problems import InputError
    from aqmlab.runs.columns import StoreError
    from aqmlab.runs.controllers import compare_ccs
    from aqmlab.runs.shards import merge
    from aqmlab.runs.simulate import compare, run
    from aqmlab.runs.simulation import Simulation
    from aqmlab.runs.store import load_delays, load_experiment, load_series
    from aqmlab.runs.sweep import sweep
    from aqmlab.runs.task import RunError
    from aqmlab.scenario import load, scenarios
    from aqmlab.study.card import card
    from aqmlab.study.paper import studies
    from aqmlab.study.reproduction import reproduce
    from aqmlab.study.response import response
    from aqmlab.study.sensitivity import sensitivity
    from aqmlab.study.suite_result import compare_suite

    __version__: str

__all__ = [
    "DROP",
    "MARK",
    "PASS",
    "SIGNAL",
    "AckFacts",
    "Aqm",
    "CongestionControl",
    "InputError",
    "Line",
    "Packet",
    "Param",
    "Path",
    "Queue",
    "RateController",
    "RunError",
    "Scenario",
    "SchemeError",
    "SharedPath",
    "Simulation",
    "StoreError",
    "Verdict",
    "Window",
    "__version__",
    "analyse",
    "card",
    "check_aqm",
    "compare",
    "compare_ccs",
    "compare_suite",
    "gain_ranges",
    "load",
    "load_delays",
    "load_experiment",
    "load_series",
    "merge",
    "reproduce",
    "response",
    "run",
    "scenarios",
    "schemes",
    "sensitivity",
    "studies",
    "sweep",
]

_HOME = {
    "DROP": "own",
    "MARK": "own",
    "PASS": "own",
    "SIGNAL": "own",
    "AckFacts": "_core",
    "Aqm": "own",
    "InputError": "problems",
    "CongestionControl": "laws",
    "Line": "line",
    "Packet": "_core",
    "Param": "own",
    "Path": "line",
    "Queue": "_core",
    "RateController": "control",
    "RunError": "runs.task",
    "Scenario": "_core",
    "SchemeError": "_core",
    "SharedPath": "line",
    "Simulation": "runs.simulation",
    "StoreError": "runs.columns",
    "Verdict": "_core",
    "Window": "_core",
    "analyse": "analysis",
    "card": "study.card",
    "check_aqm": "own",
    "compare": "runs.simulate",
    "compare_ccs": "runs.controllers",
    "compare_suite": "study.suite_result",
    "gain_ranges": "analysis",
    "load": "scenario",
    "load_delays": "runs.store",
    "load_experiment": "runs.store",
    "load_series": "runs.store",
    "merge": "runs.shards",
    "reproduce": "study.reproduction",
    "response": "study.response",
    "run": "runs.simulate",
    "scenarios": "scenario",
    "schemes": "catalogue",
    "sensitivity": "study.sensitivity",
    "studies": "study.paper",
    "sweep": "runs.sweep",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("aqmlab._core").version()
    if name not in _HOME:
        raise AttributeError(f"module 'aqmlab' has no attribute {name!r}")
    value = getattr(import_module(f"aqmlab.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
