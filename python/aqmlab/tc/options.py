"""Options of a queueing discipline: parameters as tc's words, and such words as parameters."""

import math
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from aqmlab import _core
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.quantities import number, written
from aqmlab.tc import gred, numbers
from aqmlab.tc.averages import OPTIONS_OF_RED, burst_for, weight
from aqmlab.tc.lines import AGAIN
from aqmlab.tc.link import (
    PLAIN,
    Link,
    ReadOptions,
    Said,
    Values,
    hear_memory,
    memory,
    memory_for,
    packet_size,
    packets,
    read_limit,
)
from aqmlab.tc.qdiscs import LAYERS, PRESETS, VALUED, Qdisc

LINK_HEADER = 14
"""Bytes of Ethernet's header, which the packets of a link here have."""
ETHERNET_MTU = 1500.0
"""Bytes of a full packet without that header."""
UNSET = {"bandwidth": ["unlimited"], "overhead": ["raw"]}
"""The text of an option without a value; others are left out."""
RATE_OF_RED = 1e7
"""The rate that tc assumes for RED's link, bit/s, if `bandwidth` is not typed."""
SFB_SHARE, SFB_STEPS = ("sfb", "probability"), 65535
"""SFB keeps probabilities in 16 bits."""
EXTRA: Mapping[str, Mapping[str, str]] = {
    "red": OPTIONS_OF_RED,
    "choke": OPTIONS_OF_RED,
    "gred": gred.OPTIONS,
    "dualpi2": {"step_thresh": "time", "max_rtt": "time", "typical_rtt": "time"},
}
"""Options that are not parameters of aqmlab by themselves, with their units."""
OF_CAKE = {"raw", "conservative", *LAYERS, *PRESETS}
SENT_AT_ZERO = {"overhead", "probability", "ce_threshold", "min_qlen_step", "coupling_factor", "classic_protection"}
SENT_AT_ZERO |= {"rehash", "db", "increment", "decrement", "penalty_rate", "penalty_burst"}
"""Options that tc sends even if they are 0; of others it says nothing then, as if they were not typed."""
FLAGS: Mapping[str, set[str]] = {
    "red": {"adaptive", "adaptative"},
    "gred": {"setup", "grio"},
    "cake": OF_CAKE,
    "cake_mq": OF_CAKE,
}
"""Options without a value that are not parameters of aqmlab by themselves."""


def say(qdisc: Qdisc, values: Values, link: Link) -> list[list[str]]:
    """Return the options of each command that sets these parameters, as `resolved` completed them."""
    if qdisc.kind == "gred":
        return gred.say(values, link)
    options = {name: (word, kind) for word, (name, kind) in qdisc.options.items()}
    keywords = {pair: word for word, pair in qdisc.keywords.items()}
    words = _say_limit(qdisc, link)
    for name, value in values.items():
        if name in options:
            words += _say(*options[name], value, _unit(qdisc, name), link)
        elif (name, value) in keywords:
            words.append(keywords[name, str(value)])
    if qdisc.kind in ("red", "choke"):
        words += ["avpkt", str(link.packet)] if qdisc.kind == "choke" else []
        words += ["bandwidth", numbers.write(_rate(qdisc, link), "rate", "bandwidth")]
        words += ["adaptive"] if qdisc.scheme == "ared" else []
    if qdisc.kind == "dualpi2":
        words += ["step_thresh", numbers.write(_step(values), "time", "step_thresh")]
    if (memory := memory_for(qdisc, link)) is not None:
        words += [qdisc.memory[0], numbers.write(memory, "bytes", qdisc.memory[0])]
    return [words + _say_ecn(qdisc, link.ecn)]


def read_options(qdisc: Qdisc, said: Said, link: Link, shown: bool = False) -> ReadOptions:
    """Return what Linux does with these options, as typed or as it shows them; `link` is what it does not say."""
    if qdisc.kind == "gred":
        return gred.read_options(said, link, shown)
    said = [pair for pair in said if shown or _is_sent(qdisc, *pair)]
    options, values, notes = qdisc.options, _unsaid(qdisc, link), []
    given: dict[str, float] = {}
    names = {"framing"} if qdisc.is_cake and any(word in LAYERS for word, _ in said) else set()
    for word, text in said:
        if word in qdisc.keywords:
            name, choice = qdisc.keywords[word]
            values[name] = choice
            names.add(name)
        elif word in options and text != "unlimited":
            name, kind = options[word]
            value = numbers.read(text, kind, word, shown=shown)
            given[name] = round(value * SFB_STEPS) / SFB_STEPS if (qdisc.kind, kind) == SFB_SHARE else value
        elif word in EXTRA.get(qdisc.kind, {}):
            given[word] = _extra(qdisc, word, text, shown)
        elif word in FLAGS.get(qdisc.kind, ()):
            given[word] = 1
        if qdisc.idle.get(word):
            notes.append(f"{word}: left out: {qdisc.idle[word]}")
    if "mean_packet" in given:  # RED's limit is in bytes
        link = replace(link, packet=packet_size(given["mean_packet"]))
    link = read_limit(qdisc, dict(said), replace(link, ecn=_hear_ecn(qdisc, dict(said), shown)), shown)
    link, of_memory = hear_memory(qdisc, dict(said), link, shown)
    link = _complete(qdisc, given, values, said, link, shown)
    for name, value in given.items():
        names.add(name)
        in_bytes = _unit(qdisc, name) == "packets" and _kind(qdisc, name) == "bytes"
        values[name] = packets(value, link.packet, shown) if in_bytes else value
    names |= {"q_weight"} if qdisc.kind in ("red", "choke") else set()  # by the burst
    names |= {"unlimited"} if values.get("unlimited") == "true" else set()
    return ReadOptions(values, frozenset(names & values.keys()), link, (*notes, *of_memory))


def resolved(qdisc: Qdisc, scheme: str, link: Link) -> Values:
    """Return every parameter of a scheme in Linux's precision: "auto" follows from the link where it must."""
    texts = _texts(scheme)
    values: Values = {name: number(texts[name]) for name in qdisc.parameters}
    if qdisc.kind in ("red", "choke"):
        values |= {name: texts[name] for name in ("q_weight", "burst") if texts[name] == "auto"}
        law = {name: texts[name] for name in ("min_th", "max_th")}
        if "auto" in law.values():
            network = _Network(link, link.packets(qdisc.kind))
            values |= {name: float(round(value)) for name, value in _core.Law("red", law).auto(network).items()
                       if name in law}  # fmt: skip
        values |= _weight(values)
        if qdisc.kind == "red":
            values["mean_packet"] = float(link.packet)
    if values.get("mtu") == "auto":  # as CoDel has it here, to be in_hertz apart from the device's
        values["mtu"] = ETHERNET_MTU + (LINK_HEADER if values["flavour"] == "linux" else 0)
    if qdisc.kind == "gred" and values["max_th"] == "auto":
        values["max_th"] = float(round(link.packets("gred") / 3 * 4 / 3))
    is_unlimited = texts.get("unlimited") == "true"
    if qdisc.is_cake and values["bandwidth"] == "auto" and link.rate and not is_unlimited:
        values["bandwidth"] = link.rate
    if qdisc.is_cake and values["overhead"] == "auto" and link.layer != PLAIN:
        header = LINK_HEADER + link.layer.overhead  # CAKE counts from the IP packet
        values |= {"overhead": float(header), "mpu": float(link.layer.mpu), "framing": link.layer.framing}
    if qdisc.kind == "dualpi2":
        values |= _ramp(_step(values))
    return values


def parse(qdisc: Qdisc, words: Iterable[str]) -> Said:
    """Return the words after a discipline's name as its options; InputError for an option that aqmlab lacks."""
    valued = {qdisc.limit[0], *qdisc.options, *EXTRA.get(qdisc.kind, ()), *(VALUED & {*qdisc.idle, *qdisc.lacking})}
    valued |= {qdisc.memory[0]} - {""}
    alone = {*qdisc.keywords, *qdisc.idle, *FLAGS.get(qdisc.kind, ()), *_ecn_words(qdisc)}
    said: Said = []
    left = iter(words)
    for word in left:
        if word in qdisc.lacking:
            raise InputError("tc", f"{qdisc.kind}: {word}: {qdisc.lacking[word]}")
        if word in valued:
            text = next(left, None)
            if text is None:
                raise InputError("tc", f"{qdisc.kind}: {word}: the value is missing")
            said.append((word, text))
        elif word in alone or word == AGAIN:
            said.append((word, ""))
        else:
            raise unknown("tc", f"{qdisc.kind} has no option", word, {*valued, *alone, *qdisc.lacking})
    return said


def _is_sent(qdisc: Qdisc, word: str, text: str) -> bool:
    """Say whether tc passes a typed option to the kernel; most are left out if they are 0."""
    is_number = re.fullmatch(r"-?0(x0+|0*(\.0*)?(?!x)[a-z%]*)", text) is not None
    is_gain = qdisc.kind == "dualpi2" and word in ("alpha", "beta")
    return not is_number or word in SENT_AT_ZERO or is_gain or word == "avpkt" or qdisc.scheme == "droptail"


def _extra(qdisc: Qdisc, word: str, text: str, shown: bool) -> float:
    """Return an option that is no parameter by itself."""
    if word == "step_thresh" and re.fullmatch(r"\d+(p|pkts?|packets?)", text):
        raise InputError(word, "tc takes packets, too; the step is a time here")
    return numbers.read(text, EXTRA[qdisc.kind][word], word, shown=shown)


class _Network:
    """The network that "auto" thresholds follow from; the target is a scenario's default, a third of the buffer."""

    def __init__(self, link: Link, buffer: float) -> None:
        self.rate, self.packet, self.buffer = link.rate or 1e7, float(link.packet), buffer
        self.target, self.ecn = buffer / 3, link.ecn


@cache
def _texts(scheme: str) -> dict[str, str]:
    """Return every parameter of a scheme as text. InputError for illegal values."""
    return _core.scheme_values(scheme)


def _unsaid(qdisc: Qdisc, link: Link) -> Values:
    """Return Linux's fixed values, and its defaults where they must be stated."""
    found = {**qdisc.fixed, **qdisc.defaults}
    return {name: float(link.full) if text == "full" else number(text) for name, text in found.items()}


def _unit(qdisc: Qdisc, name: str) -> str:
    return qdisc.parameters[name].unit if name in qdisc.parameters else ""


def _kind(qdisc: Qdisc, name: str) -> str:
    return next((kind for parameter, kind in qdisc.options.values() if parameter == name), "")


def _say(word: str, kind: str, value: float | str, unit: str, link: Link) -> list[str]:
    if value == "auto":
        return UNSET.get(word, [])
    if word == "mpu" and not value:
        return []
    in_bytes = unit == "packets" and kind == "bytes"
    return [word, numbers.write(float(value) * (link.packet if in_bytes else 1), kind, word)]


def _say_limit(qdisc: Qdisc, link: Link) -> list[str]:
    word, kind = qdisc.limit
    if link.buffer is None and qdisc.without:
        return []
    if kind == "memory":
        return [word, str(memory(link.buffer or qdisc.without))]
    return [word, str(round(link.packets(qdisc.kind) if kind == "packets" else link.bytes(qdisc.kind)))]


def _ecn_words(qdisc: Qdisc) -> tuple[str, ...]:
    return {"flag": ("ecn",), "on": ("ecn", "noecn"), "off": ("ecn", "noecn")}.get(qdisc.marks, ())


def _say_ecn(qdisc: Qdisc, ecn: bool) -> list[str]:
    if qdisc.marks == "always" and not ecn:
        raise InputError(
            "ecn", f"{qdisc.kind} in Linux marks every packet that can be marked, and has no option to turn it off"
        )
    if qdisc.marks == "flag":
        return ["ecn"] if ecn else []
    return ["ecn" if ecn else "noecn"] if _ecn_words(qdisc) else []


def _hear_ecn(qdisc: Qdisc, said: Mapping[str, str], shown: bool) -> bool:
    if "ecn" in said or "noecn" in said or shown:
        return "ecn" in said or not _ecn_words(qdisc)
    return qdisc.marks not in ("flag", "off")


def _complete(qdisc: Qdisc, given: dict[str, float], values: Values, said: Said, link: Link, shown: bool) -> Link:
    """Turn what is no parameter by itself into parameters, in `given` and `values`, and into the link."""
    if qdisc.kind in ("red", "choke"):
        return _hear_red(qdisc, given, values, link, shown)
    if qdisc.is_cake:
        _hear_cake(given, values, said)
        values |= {} if "bandwidth" in given else {"unlimited": "true"}
    if qdisc.kind == "dualpi2":
        _hear_dualpi2(given)
    if qdisc.kind == "sfb" and "max" in given and "bin_size" not in given:
        given["bin_size"] = (4 * given["max"] + 3) // 5
    elif qdisc.kind == "sfb" and "bin_size" in given and "max" not in given:
        given["max"] = (5 * given["bin_size"] + 1) // 4
    return link


def _hear_red(qdisc: Qdisc, given: dict[str, float], values: Values, link: Link, shown: bool) -> Link:
    """Fill in the values that tc computes: thresholds from the limit, the burst from them, the weight from all."""
    for flag in ("adaptive", "adaptative", "Plog", "Scell_log"):
        given.pop(flag, None)
    if qdisc.kind == "red" and "mean_packet" not in given and not shown:
        raise InputError("tc", "red needs avpkt")
    if qdisc.kind == "choke" and "bandwidth" not in given and not shown:
        raise InputError("bandwidth", "choke needs it in Linux, such as bandwidth 10mbit")
    packet = packet_size(given.pop("avpkt", link.packet))
    usual = link.rate if shown or qdisc.kind == "choke" else link.rate or RATE_OF_RED
    link = replace(link, packet=packet, rate=given.pop("bandwidth", usual))
    limit = link.bytes("red") if qdisc.kind == "red" else link.packets("choke")
    given.setdefault("max_th", given["min_th"] * 3 if qdisc.kind == "red" and "min_th" in given else limit // 4)
    given.setdefault("min_th", given["max_th"] // 3)
    given.setdefault("max_p", 0.02)
    if qdisc.kind == "choke" and not given["min_th"] < given["max_th"] <= limit:
        raise InputError("max", f"tc refuses {given['max_th']:g}: not above min, or above limit ({limit:g})")
    values["q_weight"] = "auto"
    if "ewma" in given:
        values["q_weight"] = 0.5 ** given.pop("ewma")
    elif shown:
        raise InputError("tc", f"{qdisc.kind}: weight and probability are missing; write tc -d qdisc show")
    else:
        size_of_one = link.packet if qdisc.kind == "red" else 1
        given.setdefault("burst", (2 * given["min_th"] + given["max_th"]) // (3 * size_of_one))
    return link


FRAMINGS = {"noatm": "none", "atm": "atm", "ptm": "ptm"}


def _hear_cake(given: dict[str, float], values: Values, said: Said) -> None:
    """Add up the words for link layers, in their order, of each command by itself."""
    overhead: float | None = None
    is_new = False
    for word, text in said:
        is_new |= word == AGAIN
        if word in PRESETS:
            given["rtt"] = PRESETS[word]
        elif word in LAYERS:
            added, mpu, framing = LAYERS[word]
            overhead = (0 if is_new else overhead or 0) + added
            is_new = False
            given |= {} if mpu is None else {"mpu": mpu}
            values["framing"] = framing or values.get("framing", "none")
        elif word == "conservative":
            overhead, values["framing"] = 48, "atm"
        elif word == "raw":
            overhead, values["framing"] = None, "none"
        elif word in FRAMINGS:
            values["framing"] = FRAMINGS[word]
        elif word == "overhead":
            overhead, is_new = _overhead(text, said), False
    for flag in OF_CAKE:
        given.pop(flag, None)
    given.pop("overhead", None)
    given |= {} if overhead is None else {"overhead": overhead}


def _hear_dualpi2(given: dict[str, float]) -> None:
    """As tc: round-trip times set what follows from them; and the step as the ramp that acts as it."""
    most, typical = (round(given.pop(word, 0) * 1e6) for word in ("max_rtt", "typical_rtt"))
    if most or typical:
        given |= _from_rtts(typical or max(most // RTT_RATIO, 1), most or RTT_RATIO * typical)
    given |= {name: float(value) for name, value in _ramp(given.pop("step_thresh", 1e-3)).items()}


def _overhead(text: str, said: Said) -> float | None:
    """Return an overhead; where sizes are shown as raw, 0 is none."""
    return None if float(text) == 0 and ("raw", "") in said else float(text)


RTT_RATIO = 6
"""The longest round trip over a typical one, unless both are given to tc."""
TENTH, THREE_TENTHS = (struct.unpack("f", struct.pack("f", share))[0] for share in (0.1, 0.3))
"""tc's values of these numbers, in 32 bits."""


def _from_rtts(typical: int, most: int) -> dict[str, float]:
    """Return what tc makes of two round-trip times, in microseconds. InputError where it refuses them."""
    long, usual = (written(each / 1e6, "time") for each in (most, typical))
    if typical > most:
        raise InputError("typical_rtt", f"{usual} is above max_rtt, {long}")
    update = max(min(typical, int(most / 3)), 1)
    gains = {"alpha": TENTH * update / most**2 * 1e6, "beta": THREE_TENTHS / most * 1e6}
    for name, gain in gains.items():
        if gain < 1 / 256:
            raise InputError("max_rtt", f"{long}: tc refuses it, as {name} would be less than 1/256 Hz")
    in_hertz = {name: numbers.hertz_of(math.floor(gain * 256)) for name, gain in gains.items()}
    return {"target": typical / 1e6, "t_update": update / 1e6, **in_hertz}


def _step(values: Mapping[str, float | str]) -> float:
    """Return the sojourn time from which on the low-latency queue marks, in Linux's flavour."""
    return float(values["min_th"]) + float(values["range"]) / 2


def _ramp(step: float) -> Values:
    """Return the ramp around a step: 400 us wide, or from 0."""
    half = min(step, 200e-6)
    return {"min_th": round(step - half, 12), "range": round(2 * half, 12)}


def _rate(qdisc: Qdisc, link: Link) -> float:
    if link.rate is None:
        raise InputError("rate", f"{qdisc.kind} needs the rate of the link in Linux; give --rate, such as 50Mbit/s")
    return link.rate


def _weight(values: Values) -> Values:
    """Return burst and weight, each from the other."""
    low, high = float(values["min_th"]), float(values["max_th"])
    if values["q_weight"] != "auto":
        return {"burst": burst_for(float(values["q_weight"]), low)}
    burst = values["burst"] if values["burst"] != "auto" else float((2 * low + high) // 3)
    return {"burst": burst, "q_weight": 0.5 ** weight(float(burst), low)}
