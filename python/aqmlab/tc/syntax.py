"""Lines of tc: written for a scheme, and read into one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from aqmlab.problems import InputError
from aqmlab.quantities import number, written
from aqmlab.tc import htb, numbers
from aqmlab.tc.lines import ROOT, Command, listing
from aqmlab.tc.link import PLAIN, Layer, Link, ReadOptions, Said, Values
from aqmlab.tc.options import parse, read_options, resolved, say
from aqmlab.tc.qdiscs import CAKE_LEAST, MEMORY_OF_PACKET, NOT_TESTED, UNTESTED, Qdisc, of_kind, of_scheme

CLOSE = 1e-3
"""By how much two values of a parameter may differ and still be the same: a share."""

JIFFY = 0.010
"""The longest that a kernel is built with, s."""

PASSED_OVER = {"mq", "noqueue", "clsact", "ingress"}
"""Queueing disciplines that hold no packets themselves; `tc qdisc show` lists them with the others."""


MQ, ROOT_ONLY = "cake_mq", "it can only be the root of a device, above its transmit queues"
"""CAKE on several transmit queues, and why it is refused elsewhere. Its parts are shown as `cake` below its handle."""

PTM = "framing: htb counts no PTM, so its rate is 64/65 of the rate asked for"

OTHER_WAY = {"dual-srchost": "dual-dsthost"}
"""Options of CAKE for incoming packets, where it is fair to the local hosts."""


@dataclass(frozen=True)
class Setting:
    """A scheme written `NAME` or `NAME:k=v,...`, the link that it is on, and whether a shaper keeps the link's rate.

    `incoming`: the packets come in from the link, so our hosts are where they go.
    """

    scheme: str
    link: Link = field(default_factory=Link)
    shaper: bool = False
    dev: str = "eth0"
    incoming: bool = False


@dataclass(frozen=True)
class Lines:
    """Commands, and what is to be known of them."""

    commands: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """The setting that lines make, and notes on it. `least` is the kernel's limit where they say none."""

    setting: Setting
    least: str
    notes: tuple[str, ...]


def write(setting: Setting) -> Lines:
    """Return the commands that give a device this setting.

    InputError if Linux does not have the scheme or a parameter that `setting` names.
    """
    qdisc, values = prepared(setting)
    shapes_itself = qdisc.is_cake and values["bandwidth"] != "auto"
    has_shaper = setting.shaper and setting.link.rate is not None and not shapes_itself
    sizes = "" if qdisc.is_cake else stab(setting.link.layer)
    lines = qdisc_lines(setting, "parent 1:1 handle 10:" if has_shaper else f"{ROOT} {sizes}".rstrip())
    if has_shaper:
        lines = replace(lines, commands=(*_shaper(setting), *lines.commands))
    return replace(lines, notes=(*lines.notes, PTM)) if has_shaper and setting.link.layer.framing == "ptm" else lines


def stab(layer: Layer) -> str:
    """Return the table of sizes with which the kernel counts a link layer, if there is one to count."""
    words = [f"overhead {layer.overhead}"] if layer.overhead else []
    words += [f"mpu {layer.mpu}"] if layer.mpu else []
    words += ["linklayer atm"] if layer.framing == "atm" else ["linklayer ethernet"] if words else []
    return " ".join(["stab", *words]) if words else ""


def htb_root(dev: str, layer: Layer, options: str = "") -> str:
    """Return the command that makes HTB the root of a device, which counts a link layer."""
    return " ".join(filter(None, (f"tc qdisc replace dev {dev} root handle 1:", stab(layer), "htb", options)))


def qdisc_lines(setting: Setting, place: str) -> Lines:
    """Return the commands that put a scheme in a place of its device, without a shaper."""
    qdisc, values = prepared(setting)
    if qdisc.kind == MQ and place != ROOT:
        raise InputError("aqm", f"{setting.scheme}: {ROOT_ONLY}")
    groups = say(qdisc, values, setting.link)
    if setting.incoming:
        groups = [[OTHER_WAY.get(word, word) for word in words] for words in groups]
    commands = [
        f"tc qdisc {'change' if i else 'replace'} dev {setting.dev} {place} {' '.join([qdisc.kind, *words])}"
        for i, words in enumerate(groups)
    ]
    return Lines(tuple(commands), tuple(_notes(qdisc, setting, values, groups)))


def prepared(setting: Setting) -> tuple[Qdisc, Values]:
    """Return Linux's facts about a scheme, and the scheme's parameters in Linux's precision."""
    qdisc = of_scheme(setting.scheme.partition(":")[0].strip())
    if qdisc.scheme == "droptail":
        qdisc = of_kind("bfifo" if (setting.link.buffer or "").rstrip().endswith("B") else "pfifo")
    for name in _names(setting.scheme):
        _refuse_option(qdisc, name)
    return qdisc, resolved(qdisc, setting.scheme, setting.link)


def _names(scheme: str) -> set[str]:
    """Return what a scheme is written with."""
    return {pair.partition("=")[0].strip() for pair in scheme.partition(":")[2].split(",")}


def _refuse_option(qdisc: Qdisc, name: str) -> None:
    """Refuse options of tc that are no parameters; say what is."""
    if name in qdisc.parameters or name in qdisc.options:
        return
    if name in ("limit", "memlimit", "memory_limit"):
        raise InputError(name, f"it bounds the queue of the link, not {qdisc.scheme}; give --buffer")
    if name in ("ecn", "noecn"):
        raise InputError(name, f"it is the link that marks or drops, not {qdisc.scheme}; give --ecn or --no-ecn")
    if name in qdisc.keywords:
        raise InputError(name, f"write {qdisc.scheme}:{'='.join(qdisc.keywords[name])}")
    if name in qdisc.lacking:
        raise InputError(name, f"{qdisc.lacking[name]}")


def read(text: str, packet: int = 1514) -> Reading:
    """Return what commands, or the output of `tc -d qdisc show`, set. InputError for a word that aqmlab lacks, by name.

    `packet` are the bytes of a full packet with its link header. One class of HTB is the shaper of the link.
    """
    lines = listing(text)
    found = htb.hierarchy(lines)
    if len(found.classes) > 1:
        raise InputError("tc", "several classes of htb, which tc.read_tree reads; a link without classes has one rate")
    _check_parts(found.disciplines)
    shaper = next(iter(found.classes.values()), None)
    queues = [_queue(each, packet) for each in found.disciplines if _is_queue(each, found.disciplines)]
    if shaper is not None:
        for each in found.disciplines:
            found.check_leaf(each)
        queues = queues or [(of_kind("pfifo"), ReadOptions({}, frozenset(), Link(packet=packet)))]
    if not queues or any(each != queues[0] for each in queues):
        what = "several queueing disciplines that differ; give one" if queues else "no queueing discipline in it"
        raise InputError("tc", what)
    qdisc, given = queues[0]
    given = replace(given, notes=(*found.notes, *_notes_of_shaper(found), *given.notes))
    if found.layer != PLAIN:
        given = replace(given, link=replace(given.link, layer=found.layer))
    return _reading(qdisc, given, found.dev, shaper.most if shaper else None, packet)


def _is_queue(command: Command, among: Sequence[Command]) -> bool:
    """Say whether a discipline itself holds packets: neither `mq` nor what belongs to one that is shown."""
    shared = {each.place.get("handle") for each in among if each.kind == MQ and each.is_shown}
    parent = command.place.get("parent", "").partition(":")[0] + ":"
    return command.what == "qdisc" and command.kind not in PASSED_OVER and parent not in shared


def _check_parts(disciplines: Sequence[Command]) -> None:
    """Refuse what Linux refuses of a discipline on several transmit queues."""
    shared = {each.place.get("handle", "") for each in disciplines if each.kind == MQ and not each.is_shown} - {""}
    for each in disciplines:
        if each.kind == MQ and each.place.get("parent", ROOT) != ROOT:
            raise InputError("tc", f"{MQ}: {ROOT_ONLY}")
        if not each.is_shown and each.place.get("parent", "").partition(":")[0] + ":" in shared:
            raise InputError("parent", f"{each.place['parent']}: {MQ} has the queues below it, and tc refuses others")


def _notes_of_shaper(found: htb.Hierarchy) -> list[str]:
    """Return what is to be known of the classes of a link that has one or none."""
    notes = []
    for each in found.classes.values():
        if found.has_root and found.default != each.name:
            others = found.default or "none"
            notes.append(f"default: {others}: Linux sends what no filter puts into {each.name} past the shaper")
        notes += [f"{word}: left out: a link in the simulator sends nothing above its rate"
                  for word, size in (("burst", each.burst), ("cburst", each.cburst)) if size]  # fmt: skip
    if found.has_root and not found.classes:
        notes.append("rate: the rate of htb is in its classes, which tc class show prints")
    return notes


def read_qdisc(command: Command, packet: int = 1514) -> Reading:
    """Return the settings in a command of a queueing discipline. InputError as of `read`."""
    return _reading(*_queue(command, packet), "eth0", None, packet)


def _queue(command: Command, packet: int) -> tuple[Qdisc, ReadOptions]:
    """Return a discipline, and the meaning of its options."""
    qdisc = of_kind(command.kind)
    if command.kind == "red" and {"adaptive", "adaptative"} & {*command.options}:
        qdisc = of_scheme("ared")
    if qdisc.is_cake and command.layer:
        raise InputError("stab", f"{qdisc.kind} has its own options: overhead, mpu, atm, ptm")
    said: Said = parse(qdisc, command.options)
    return qdisc, read_options(qdisc, said, Link(packet=packet, layer=command.layer or PLAIN), command.is_shown)


def _reading(qdisc: Qdisc, given: ReadOptions, dev: str, rate: float | None, packet: int) -> Reading:
    link = given.link if rate is None else replace(given.link, rate=rate)
    setting = Setting(_spec(qdisc, given), link, rate is not None, dev)
    prepared(setting)  # refuses what is not legal here
    if qdisc.is_cake:
        return Reading(setting, _limit_of_cake(given.values, packet), (*given.notes, *_notes_of_cake(given.values)))
    return Reading(setting, qdisc.without, (*given.notes, *qdisc.differs))


def _limit_of_cake(values: Values, packet: int) -> str:
    """Return the full packets that CAKE holds without a limit, as cake_reconfigure bounds their memory."""
    rate, rtt, most = values.get("bandwidth"), float(values.get("rtt", 0.1)), 10240 * packet
    wanted = most if rate is None else max(CAKE_LEAST, int(4 * float(rate) / 8 * rtt))
    return f"{min(wanted, most) // MEMORY_OF_PACKET} packets"


def _notes_of_cake(values: Values) -> list[str]:
    return ["rate: give the link more than bandwidth, which the shaper keeps"] if "bandwidth" in values else []


def _shaper(setting: Setting) -> list[str]:
    rate = numbers.write(int(setting.link.shaped), "rate", "rate")
    return [
        htb_root(setting.dev, setting.link.layer, "default 1"),
        f"tc class replace dev {setting.dev} parent 1: classid 1:1 htb rate {rate} ceil {rate} "
        f"quantum {setting.link.packet}",
    ]


def _notes(qdisc: Qdisc, setting: Setting, values: Values, groups: list[list[str]]) -> list[str]:
    """Return what Linux makes otherwise than was asked for. InputError where it was asked for by name."""
    said = [pair for words in groups for pair in parse(qdisc, words)]
    given = read_options(qdisc, said, setting.link)
    made = values | resolved(qdisc, _spec(qdisc, given), given.link)
    named = _named(qdisc, setting.scheme)
    notes = [f"{qdisc.kind}: {NOT_TESTED}"] if qdisc.kind in UNTESTED else []
    for name in named & {name for name, why in qdisc.unsaid.items() if why}:
        raise InputError(name, f"cannot be set in {qdisc.kind}: {qdisc.unsaid[name]}")
    for name, value in values.items():
        if name in qdisc.unsaid or value == "auto" or _is_close(value, made[name]):
            continue
        ours, theirs = (_text(qdisc, name, each) for each in (value, made[name]))
        if name in named and name not in given.said:
            raise InputError(
                name, f'"{ours}" cannot be set in {qdisc.kind}, which uses {theirs} and has no option for it'
            )
        notes.append(
            f"{name}: {ours} here, {theirs} in Linux" + ("" if name in given.said else ", which has no option")
        )
    buffer = setting.link.buffer
    if qdisc.kind == MQ:
        notes.append(f"queues: set by the device: ethtool -L {setting.dev} combined N; Linux 7.0")
    if qdisc.kind in ("pie", "fq_pie") and float(values["t_update"]) < JIFFY:
        notes.append("tupdate: Linux rounds it up to whole jiffies, of 1 to 10 ms as the kernel was built")
    if buffer and qdisc.is_cake:
        notes.append("memlimit: Linux counts the memory of packets, 2304 B for a full one")
    if buffer and buffer.rstrip().endswith("B") and qdisc.limit[1] == "packets":
        notes.append(
            f"{qdisc.limit[0]}: Linux counts packets; {buffer} are taken as packets of {setting.link.packet} B"
        )
    return notes


def _named(qdisc: Qdisc, scheme: str) -> set[str]:
    """Return the parameters that a scheme is written with, by our names."""
    names = _names(scheme)
    declared = qdisc.parameters.values()
    return {each.name for each in declared if each.name in names or (each.tc and each.tc[0] in names)}


def _is_close(one: float | str, other: float | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(one - other) <= CLOSE * max(abs(one), abs(other))


def _spec(qdisc: Qdisc, given: ReadOptions) -> str:
    """Write a scheme with its given parameters, and Linux's where they differ from aqmlab's defaults."""
    pairs = []
    for each in qdisc.parameters.values():
        value = given.values.get(each.name)
        if value is not None and (each.name in given.said or value != number(each.default)):
            pairs.append(f"{each.name}={_text(qdisc, each.name, value)}")
    return qdisc.scheme + (":" + ",".join(pairs) if pairs else "")


def _text(qdisc: Qdisc, name: str, value: float | str) -> str:
    """Return a parameter as a user writes it."""
    declared = qdisc.parameters[name]
    return value if isinstance(value, str) else written(value, "" if declared.default.isdigit() else declared.unit)
