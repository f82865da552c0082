"""A link as its owner describes it, and the scenarios in which schemes are compared on it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, floor, log2

from aqmlab import _core, laws, presets
from aqmlab._core import Scenario
from aqmlab.advise.layers import ETHERNET, LinkLayer
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.quantities import written
from aqmlab.scenario import chosen, load

INCOMING, OUTGOING = "down", "up"
"""The links of an access link: downlink and uplink."""

FAR = 2.0
"""The factor of the round trips in the second half of the conditions."""

FAR_AT_HOME = ("home/rrul", "home/web")
"""The scenarios of an access link that are also simulated with long round trips."""

PACKETS = {"home": 150e3, "link": 400e3}
"""The maximum number of full packets of a run, unless that makes the run too short."""

TIMES = {"home": (4.0, 60.0), "link": (0.5, 60.0)}
"""The minimum and maximum measured time, s: reading times and video segments do not depend on the rate."""

BUFFER = {"home": "1000 ms"}
"""The default buffer of a modem: much too large, as is usual."""

ROUND_TRIPS = 20
"""The minimum number of measured round trips."""

AT_REST = 300
"""Round trips after which long transfers are expected to have converged to their shares."""

CROWD = 300
"""From this number of long transfers on, results do not depend on the number if each has the same share."""

QUEUES = {"fq-codel": 1024, "fq-pie": 1024, "cake": 1024}
"""The queues of flow-queueing schemes; a part of a link has the same part of them."""

WANDERING = (1.0, 0.5, 0.25)
"""The rates of a varying link, as shares of its nominal rate; each holds for an exponential time of mean 1 s."""

PRESETS = ("lte", "5g")
"""Kinds of links with a queue that you can manage; a satellite link's queue is the operator's."""

NEED_ECN = ("dctcp", "prague")
"""Congestion controllers that require ECN."""

PING = 2000
"""Datagrams of the ping during a measurement, if they take at most 0.1 % of the link."""


@dataclass(frozen=True)
class LineSpec:
    """A link with `down` and `up`, or one direction of `rate`: bit/s; `rtt` in s; `buffer` as in scenarios.

    `flows` long transfers share it. `law` is the congestion control of all transfers, by default Linux's CUBIC without
    ECN; DCTCP and Prague always use ECN. `call` is the rate control of video calls; by default the scenarios set it.
    A `varying` rate changes between 25 and 100 %. A `preset`, "lte" or "5g", sets the remaining keys of the links;
    rates are means then. `link_layer` is the overhead on the wire as a keyword of CAKE ("pppoe-ptm"); rates count it.
    """

    down: float | None = None
    up: float | None = None
    rate: float | None = None
    rtt: float = 0.030
    buffer: str | None = None
    flows: int | None = None
    law: str | None = None
    ecn: bool = False
    varying: bool = False
    preset: str | None = None
    call: str | None = None
    link_layer: str | None = None

    def __post_init__(self) -> None:
        """Raise InputError for missing, unknown and conflicting values."""
        if self.preset is not None and self.preset not in PRESETS:
            raise _no_preset(self)
        _check_rates(self)
        if self.link_layer is not None:
            LinkLayer.named(self.link_layer)
        if self.preset is not None and self.link_layer is not None:
            raise InputError("link-layer", f"{self.link_layer}: describes a cable; leave out --preset {self.preset}")
        if self.preset is not None and self.rate is not None:
            raise InputError("preset", f"{self.preset}: has two directions; use --down and --up instead of --rate")
        if self.preset is not None and self.varying:
            raise InputError("varying", f"the rate of {self.preset} varies by itself; leave out --varying or --preset")
        if self.call is not None and self.rate is not None:
            raise InputError("call", f"{self.call}: a call needs two directions; use --down and --up")
        if self.flows is not None and self.rate is None:
            raise InputError("flows", f"{self.flows}: requires a link with one direction; use --rate")

    @property
    def parts(self) -> int:
        """The number of equal parts of the link, one of which is simulated; a power of two, mostly 1.

        It is chosen so that a run covers 300 round trips, if at least 300 flows remain in a part.
        """
        if self.rate is None or self.flows is None:
            return 1
        wanted = self.rate * AT_REST * FAR * self.rtt / (PACKETS["link"] * 12_000)
        return 1 << max(0, min(ceil(log2(wanted)), floor(log2(self.flows / CROWD))))

    @property
    def part(self) -> "LineSpec":
        """One of its parts: the same share for each flow, the same delays, and buffers that last as long."""
        if self.parts == 1 or self.rate is None or self.flows is None:
            return self
        return replace(self, rate=self.rate / self.parts, flows=round(self.flows / self.parts), buffer=_divided(self))

    @property
    def family(self) -> str:
        """The folder of its scenarios."""
        return "home" if self.rate is None else "link"

    @property
    def rates(self) -> dict[str, float]:
        """The rates of its links by name, bit/s."""
        return {"link": self.rate} if self.rate else {"down": self.down or 0.0, "up": self.up or 0.0}


def _check_rates(line: LineSpec) -> None:
    """Raise InputError unless both directions have a rate, or `rate` alone is given."""
    directions = {"down": line.down, "up": line.up}
    given = {name: written(rate, "bit/s") for name, rate in directions.items() if rate is not None}
    if line.rate is not None and given:
        named = " and ".join(f"--{name}" for name in given)
        raise InputError(
            "rate", f"{written(line.rate, 'bit/s')}: describes a link with one direction; leave out --rate, or {named}"
        )
    if line.rate is None and not given:
        how = "--down and --up, or --rate for one direction, or name scenarios"
        if line.preset:
            down, up = (written(presets.kind(line.preset).rate(name) or 0, "bit/s") for name in directions)
            how = f"--down and --up; the means of {line.preset} itself are '{down}' and '{up}'"
        raise InputError("advise", f"describe the link: {how}")
    for name in directions:
        if line.rate is None and name not in given:
            other, rate = next(iter(given.items()))
            raise InputError(
                name,
                f"missing; --{other} describes an access link, which has two directions: add --{name} RATE, or use "
                f"--rate '{rate}' instead of --{other} for a link with one direction",
            )


def _no_preset(line: LineSpec) -> InputError:
    """Return the error for a preset that advise does not support, with the alternative."""
    kind = presets.kind(line.preset or "")
    if not kind.links:
        return unknown("preset", "no preset of a radio link", line.preset or "", PRESETS)
    if kind.name in PRESETS:
        return InputError("preset", f"{line.preset}: describes one direction; use --preset {kind.name}, which has both")
    down, up = (
        f"'{written(rate, 'bit/s')}'" if (rate := given or kind.rate(name)) else "RATE"
        for name, given in ((INCOMING, line.down), (OUTGOING, line.up))
    )
    command = f"aqmlab advise --down {down} --up {up}"
    if kind.varies:
        why = "its downlink queue is the operator's, so no qdisc of yours can manage it; its rate varies"
        instead = f"{command} --varying prints CAKE with cake-autorate, which follows the rate"
    else:
        why = "its rate is fixed, so a shaper before the modem can manage its queue"
        instead = f"{command} --link-layer docsis prints one"
    return InputError("preset", f'"{kind.name}": {why}; {instead} (aqmlab show {kind.name} prints the preset)')


def conditions(line: LineSpec, settings: Mapping[str, str] | None = None, *, whole: bool = False) -> list[Scenario]:
    """Return the scenarios of a link: its family, and some of them also with longer round trips.

    They simulate a part of a link with several parts, unless `whole`. `settings` replace values in all of them, after
    everything else.
    """
    parts, line = (1, line) if whole else (line.parts, line.part)
    names = chosen(line.family)
    far = [name for name in names if name in FAR_AT_HOME or line.family == "link"]
    asked = [*((name, line.rtt) for name in names), *((name, FAR * line.rtt) for name in far)]
    queues = {f"schemes.{name}.flows": str(max(8, of // parts)) for name, of in QUEUES.items()}
    of_part = queues if parts > 1 else {}
    return [load(name, {**_of(name, line, rtt), **of_part, **(settings or {})}) for name, rtt in asked]


def _divided(line: LineSpec) -> str | None:
    """Return the buffer of a part of a link; a time or a multiple of the BDP stays as it is."""
    found = _core.quantity(line.buffer or "")
    if found is None or found[1] not in ("B", "packets"):
        return line.buffer
    return written(max(1, round(found[0] / line.parts)), found[1])


def _of(name: str, line: LineSpec, rtt: float) -> dict[str, str]:
    """Return the settings of a scenario in a link's family."""
    settings = dict(_settings(line, rtt))
    plain = load(name)
    groups = {each: plain.group(each) for each in plain.flows}
    for group in groups.values():
        if group.rtt is None:
            low, high = (written(share * rtt, "time") for share in (0.5, 1.5))
            settings[f"flows.{group.name}.rtt"] = f'{{ uniform = ["{low}", "{high}"] }}'
        if group.is_tcp:
            settings.update(_of_senders(line, f"flows.{group.name}"))
    if line.call:
        settings |= laws.of_call(plain, line.call)
    if line.family == "link":
        settings |= _of_link(line, rtt, "short" in groups)
    return settings


def _of_senders(line: LineSpec, group: str) -> Iterator[tuple[str, str]]:
    """Yield the settings of a group of transfers."""
    if line.law:
        yield f"{group}.tcp", f'{{ congestion_control = "{line.law}", profile = "linux" }}'
    if line.ecn or line.law in NEED_ECN:
        yield f"{group}.ecn", "true"


def _settings(line: LineSpec, rtt: float) -> Iterator[tuple[str, str]]:
    """Yield the settings of every scenario of a link."""
    warmup, measured = _times(line, rtt)
    yield "duration", written(warmup + measured, "time")
    yield "warmup", written(warmup, "time")
    yield "flows.*.rtt", written(rtt, "time")
    if line.link_layer:
        of_cake = {**LinkLayer.named(line.link_layer).of_cake(), "link_header": f"{ETHERNET} B"}
        yield from ((f"schemes.cake.{name}", value) for name, value in of_cake.items())
    for link, rate in line.rates.items():
        yield f"links.{link}.rate", _rate(line, rate)
        if line.preset:
            yield f"links.{link}.preset", f"{line.preset}-{link}"
        if line.link_layer:
            yield from LinkLayer.named(line.link_layer).of_link(link).items()
        if buffer := line.buffer or BUFFER.get(line.family):
            yield f"links.{link}.buffer", buffer


def _rate(line: LineSpec, rate: float) -> str:
    if not line.varying:
        return written(rate, "bit/s")
    values = ", ".join(f'"{written(share * rate, "bit/s")}"' for share in WANDERING)
    return f'{{ values = [{values}], hold = {{ exponential = "1 s" }} }}'


def _times(line: LineSpec, rtt: float) -> tuple[float, float]:
    """Return warm-up and measured time, s, in whole milliseconds."""
    least, most = TIMES[line.family]
    wanted = PACKETS[line.family] * 12_000 / sum(line.rates.values())
    if (line.flows or 0) >= CROWD:
        most = min(most, max(AT_REST * rtt, wanted / 2))  # a mean over so many needs no longer time
    measured = max(min(wanted, most), least, ROUND_TRIPS * rtt)
    return round(max(measured / 3, least / 2), 3), round(measured, 3)


def _of_link(line: LineSpec, rtt: float, has_short: bool) -> dict[str, str]:
    """Return the settings for long transfers on a shared link: all start in the first half of the warm-up."""
    rate, (warmup, measured) = line.rates["link"], _times(line, rtt)
    settings = {
        "flows.bulk.start": f'{{ uniform = ["0 s", "{written(warmup / 2, "time")}"] }}',
        "flows.ping.start": f'{{ uniform = ["0 s", "{written(warmup / 2, "time")}"] }}',
        "flows.ping.rate": written(float(f"{min(rate / 1000, PING * 800 / measured):.3g}"), "bit/s"),
    }
    if has_short:
        settings["flows.short.arrivals"] = f"{float(f'{rate / 4 / (20 * 12_000):.3g}'):.12g} Hz"
    if line.flows:
        settings["flows.bulk.count"] = str(max(1, line.flows // 4) if has_short else line.flows)
    return settings
