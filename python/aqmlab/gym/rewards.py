"""Rewards: sums of named components with weights in the open.

Every component is without unit, and more of it is better: costs are negative.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqmlab.names import unknown
from aqmlab.problems import InputError

Readings = Mapping[str, NDArray[np.float32]]
"""The values of the gauges, by name: a number for each environment, in the gauge's unit."""
Component = Callable[[Readings], NDArray[Any]]


def utilisation(r: Readings) -> NDArray[Any]:
    """Used share of the link's capacity in the interval."""
    return 1.0 * r["utilisation"]


def throughput(r: Readings) -> NDArray[Any]:
    """Packets taken into service over those that the link can send; may pass 1 by one packet."""
    return r["departure_rate"] / r["capacity"]


def delay(r: Readings) -> NDArray[Any]:
    """Less the mean sojourn time, in times that the target takes to send."""
    return -r["sojourn"] * r["capacity"] / r["target"]


def seconds(r: Readings) -> NDArray[Any]:
    """Less the mean sojourn time in s."""
    return -r["sojourn"]


def error(r: Readings) -> NDArray[Any]:
    """Less the distance of the queue from its target, in targets."""
    return -np.abs(r["error"]) / r["target"]


def near(r: Readings) -> NDArray[Any]:
    """target/(target + distance of the queue from it): 1 at the target, 1/2 for an empty queue."""
    return r["target"] / (r["target"] + np.abs(r["error"]))


def trend(r: Readings) -> NDArray[Any]:
    """Less the change of the queue in the interval, in targets."""
    return -np.abs(r["trend"]) / r["target"]


def short_queue(r: Readings) -> NDArray[Any]:
    """target/(target + queue): 1 for an empty queue, 1/2 at the target."""
    return r["target"] / (r["target"] + r["queue"])


def drops(r: Readings) -> NDArray[Any]:
    """Less the share of packets dropped."""
    return -r["drop_ratio"]


def marks(r: Readings) -> NDArray[Any]:
    """Less the share of packets marked."""
    return -r["mark_ratio"]


def log_throughput(r: Readings) -> NDArray[Any]:
    """Logarithm of the throughput, from 1/1000 on."""
    gain: NDArray[Any] = np.log(np.maximum(throughput(r), 1e-3))
    return gain


def log_delay(r: Readings) -> NDArray[Any]:
    """Less the logarithm of 1 and the sojourn time, in times that the target takes to send."""
    cost: NDArray[Any] = np.log1p(-delay(r))
    return -cost


_ALL: tuple[Component, ...] = (utilisation, throughput, delay, seconds, error, near, trend, short_queue, drops, marks)
COMPONENTS: dict[str, Component] = {each.__name__: each for each in (*_ALL, log_throughput, log_delay)}


@dataclass(frozen=True)
class Preset:
    """Weights of components, and where they come from."""

    weights: Mapping[str, float]
    source: str


PRESETS = {
    "target": Preset({"error": 1.0}, "the aim of the papers reproduced here: a queue at its target"),
    "near": Preset({"near": 1.0}, "the same with a larger gain close to the target and a smaller loss far from it"),
    "delay-throughput": Preset(
        {"log_throughput": 1.0, "log_delay": 1.0},
        "Winstein & Balakrishnan, SIGCOMM 2013 (Remy), with equal weights; the delay is the queue's",
    ),
    "park": Preset({"seconds": 1.0}, "Mao et al., NeurIPS 2019 (Park): less the mean queueing delay"),
    "rl-aqm": Preset(
        {"throughput": 1.0, "delay": 0.5},
        "after Kim, Jaseemuddin & Anpalagan, JNSM 29(3), 2021: throughput against queueing delay with a factor between"
        " them, which is this project's",
    ),
    "pet": Preset(
        {"utilisation": 0.5, "short_queue": 0.5},
        "after Cheng et al., arXiv:2405.11956 (PET): utilisation and a short queue; weights and scale are this"
        " project's",
    ),
}


@dataclass(frozen=True)
class Reward:
    """Components with their weights."""

    components: Mapping[str, Component]
    weights: NDArray[np.float64]

    def each(self, readings: Readings) -> NDArray[np.float64]:
        """Return a row for each environment, a column for each component; InputError where one is no finite number."""
        columns = np.array([component(readings) for component in self.components.values()], dtype=np.float64).T
        if not isfinite(columns.sum()):
            row, column = np.argwhere(~np.isfinite(columns))[0]
            name = list(self.components)[column]
            raise InputError(
                "reward", f"{name} is {columns[row, column]} in environment {row}; expected a finite number"
            )
        return columns


Weights = Mapping[str, float] | Mapping[Component, float] | Mapping[str | Component, float]
"""Of components, by name or as functions of the readings."""


def reward(given: str | Weights) -> Reward:
    """Return a reward: a preset, or components with their weights."""
    if isinstance(given, str) and given not in PRESETS:
        raise unknown("reward", "unknown preset", given, PRESETS)
    weights: Weights = PRESETS[given].weights if isinstance(given, str) else given
    if not weights:
        raise InputError("reward", f"is empty; known: {', '.join(COMPONENTS)}")
    components: dict[str, Component] = {}
    for key, weight in weights.items():
        if not np.isfinite(weight):
            raise InputError("reward", f"the weight of {key} is {weight}; expected a finite number")
        if isinstance(key, str) and key not in COMPONENTS:
            raise unknown("reward", "unknown component", key, COMPONENTS)
        components[key if isinstance(key, str) else key.__name__] = COMPONENTS[key] if isinstance(key, str) else key
    return Reward(components, np.array([*weights.values()], dtype=np.float64))
