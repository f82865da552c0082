"""The control loop of the queue: operating point, linear models, margins, design, maps, and packets to compare.

```text
  network   a link and its classes of flows, from a scenario
  op        the operating point, and where the model holds
  loop      plant and controller; stability, margins, step response
  maps      stability over two parameters
  design    gains by published rules
  stability   the printed ranges of NPD-RED's gains
  fuzzy     the terms and the answer of FuzzyRTT's controllers
  beside    the fluid model and the packets of the same scenario
  ranges    the stable gains of NPD-RED by the Routh array and with exact delays
  gains     the same around a link, with gains inside and outside simulated
  result, pictures   what is found, as objects, JSON and figures
```
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aqmlab import extras, own
from aqmlab._core import Scenario
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.scenario import Values, load, written

if TYPE_CHECKING:
    from aqmlab.analysis.beside import Beside
    from aqmlab.analysis.gains import GainRanges
    from aqmlab.analysis.result import Analysis, Model


def analyse(
    aqm: own.Scheme,
    scenario: str | os.PathLike[str] | None = None,
    *,
    rate: str | None = None,
    rtt: str | None = None,
    flows: int | None = None,
    packet: str = "1000 B",
    target: str | None = None,
    ecn: bool = False,
    design: bool = False,
    map: Sequence[str] = (),
    beside: bool | None = None,
    set: Values | None = None,
) -> "Analysis":
    """Analyse the control loop of a scheme in a scenario, or on one link with long-lived flows.

    `aqm` is "pi", "pi:a=1e-5,b=9e-6" or similar; a scheme in Python has no linear model. The network is from
    `scenario`, with the values of `set`, or is given by `rate`, `rtt` and `flows` (texts with units; buffer two
    bandwidth-delay products). `design` replaces the scheme's gains by its design rule's, for which `rtt` and
    `flows` are the longest and the fewest. `map` names two parameters. `beside` runs the fluid model and the packets
    too, by default for a scenario.

    Raises InputError for bad input, a scheme without linear model, and where there is no operating point. If the model
    does not hold, the result's `doubts` say why.
    """
    extras.check("control")
    from aqmlab.analysis.design import design as designed
    from aqmlab.analysis.maps import axes, stability_map
    from aqmlab.analysis.network import network
    from aqmlab.analysis.result import Analysis

    spec = own.spec(aqm)
    loaded = _loaded(scenario, {"rate": rate, "rtt": rtt, "flows": flows}, packet, target, ecn, set or {})
    found, rule = network(loaded), loaded.law(spec)
    gains = designed(rule, found) if design else None
    if gains is not None:
        spec = gains.spec
        rule = loaded.law(spec)
    chosen = axes(map, loaded, spec, found) if map else None
    models = _models(loaded, spec)
    return Analysis(
        spec,
        found,
        models,
        gains,
        stability_map(found, rule, *chosen) if chosen else None,
        _beside(loaded, spec, models) if (scenario is not None if beside is None else beside) else None,
    )


def gain_ranges(
    aqm: str = "npd-red",
    *,
    rate: str | None = None,
    rtt: str | None = None,
    flows: int | None = None,
    buffer: str | None = None,
    packet: str = "1000 B",
    target: str | None = None,
    ecn: bool = False,
    unit: str = "packets",
    simulate: bool = True,
) -> "GainRanges":
    """Return the gains that keep NPD-RED stable, after Xiong et al. 2010: by their Routh array and with exact delays.

    They are taken from `npd-red:base=integral` around a link with long-lived flows, given by texts with units. `rtt` is
    the round trip R with the queue at its target, by default a third of the buffer. `unit` is what capacity and buffer
    are counted in: "packets", or "bits" as in the paper's section 4.1. A pair of gains in `aqm`
    ("npd-red:k_p=1,k_d=-0.1") is judged as well. `simulate` runs the link for 300 s, the last 100 measured, with
    gains inside and outside.

    Raises InputError for bad input. If the model does not hold, the result's `doubts` say why.
    """
    extras.check("control")
    from aqmlab.analysis.gains import UNITS, around
    from aqmlab.analysis.network import described

    given = {"rate": rate, "rtt": rtt, "flows": flows, "buffer": buffer}
    for name, value in given.items():
        if value is None:
            raise InputError(name, "missing; the ranges are for a rate, rtt, flows and buffer")
    if unit not in UNITS:
        raise unknown("unit", "unit", unit, UNITS)
    times = {"duration": "300 s", "warmup": "200 s"}
    link = described(str(rate), str(rtt), int(flows or 0), packet, target, times, ecn=ecn, buffer=str(buffer))
    return around(link, _pair(link, own.spec(aqm)), unit, simulate=simulate)


def _pair(link: Scenario, spec: str) -> tuple[float, float] | None:
    """Return the gains that a scheme is written with, if it is; InputError for other schemes and parameters."""
    name, _, written = spec.partition(":")
    if name != "npd-red":
        raise InputError("aqm", f'"{name}" has no published ranges of its gains; npd-red has')
    params = link.law(spec).params
    others = [pair.partition("=")[0].strip() for pair in written.split(",") if pair.strip()]
    for other in others:
        if other not in ("k_p", "k_d"):
            raise InputError(f"aqm.{other}", "the ranges are for base=integral; only k_p and k_d may be given")
    return (params["k_p"], params["k_d"]) if others else None


def _loaded(
    scenario: str | os.PathLike[str] | None,
    given: Mapping[str, Any],
    packet: str,
    target: str | None,
    ecn: bool,
    set: Values,
) -> Scenario:
    """Return the scenario, its measurements over the second half where it sets no warm-up."""
    from aqmlab.analysis.network import described

    missing = [name for name, value in given.items() if value is None]
    if scenario is None:
        if missing:
            raise InputError(
                missing[0], "missing; give a scenario, or rate, rtt and flows such as 45 Mbit/s, 80 ms and 60"
            )
        return described(**given, packet=packet, target=target, values=written(set), ecn=ecn)
    if len(missing) < len(given) or target or ecn:
        raise InputError("scenario", "has its own link and flows; change them with set, such as flows.ftp.count=60")
    loaded = load(scenario, set)
    return loaded if loaded.warmup else load(scenario, {**set, "warmup": f"{loaded.duration / 2} s"})


def _models(scenario: Scenario, aqm: str) -> "dict[str, Model]":
    from aqmlab.analysis.loop import close
    from aqmlab.analysis.network import network
    from aqmlab.analysis.op import CLASSIC, REFINED
    from aqmlab.analysis.result import MODELS, Model

    found, rule = network(scenario), scenario.law(aqm)
    loops = {
        name: close(found, rule, windows=REFINED if name == "refined" else CLASSIC, exact=name != "hollot")
        for name in MODELS
    }
    return {name: Model(loop, loop.judge(), loop.margins()) for name, loop in loops.items()}


def _beside(scenario: Scenario, aqm: str, models: "dict[str, Model]") -> "Beside":
    from aqmlab.analysis.beside import beside

    return beside(scenario, aqm, models["refined"].loop)
