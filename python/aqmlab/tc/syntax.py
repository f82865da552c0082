"""Lines of tc: written for a scheme, and read into one."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from aqmlab.problems import InputError
from aqmlab.quantities import number, written
from aqmlab.tc import numbers
from aqmlab.tc.link import Heard, Link, Said, Values, size
from aqmlab.tc.options import hear, parse, resolved, say
from aqmlab.tc.qdiscs import CAKE_LEAST, TABLE, UNTESTED, Qdisc, of_kind, of_scheme

CLOSE = 1e-3
"""By how much two values of a parameter may differ and still be the same: a share."""

JIFFY = 0.010
"""The longest that a kernel is built with, s."""

PASSED_OVER = {"mq", "noqueue", "clsact", "ingress"}
"""Queueing disciplines that hold no packets of their own; `tc qdisc show` lists them beside the others."""


MQ, ROOT_ONLY = "cake_mq", "it can only be the root of a device, above its transmit queues"
"""CAKE on several transmit queues, and why it is refused elsewhere. Its parts are shown as `cake` below its handle."""

OTHER_WAY = {"dual-srchost": "dual-dsthost"}
"""What CAKE is told of packets that come in, where it is fair to our hosts."""


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

    InputError where Linux does not have the scheme, or cannot be told a parameter that `setting` names.
    """
    has_shaper = setting.shaper and setting.link.rate is not None and not prepared(setting)[0].is_cake
    lines = qdisc_lines(setting, "parent 1:1 handle 10:" if has_shaper else "root")
    return replace(lines, commands=(*(_shaper(setting) if has_shaper else []), *lines.commands))


def qdisc_lines(setting: Setting, place: str) -> Lines:
    """Return the commands that put a scheme in a place of its device, without a shaper."""
    qdisc, values = prepared(setting)
    if qdisc.kind == MQ and place != "root":
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
    """Return what Linux has of a scheme, and the scheme's parameters as it can be told them."""
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
    """Return what commands, or the output of `tc qdisc show`, set. InputError for what we lack, by name.

    `packet` are the bytes of a full packet with its link header.
    """
    found: list[tuple[Qdisc, Heard, str]] = []
    rates: list[float] = []
    given = commands(text)
    shared = {place(each).get("handle") for each in given if each.kind == MQ and each.is_shown}
    for each in given:
        if each.kind == "htb":
            rates += [numbers.read(rate, "rate", "rate") for word, rate in pairwise(each.options) if word == "rate"]
        elif each.kind not in PASSED_OVER and place(each).get("parent", "").partition(":")[0] + ":" not in shared:
            qdisc, heard = _heard(each.kind, each.options, Link(packet=packet), each.is_shown)
            found.append((qdisc, heard, place(each).get("dev", "eth0")))
    if not found or any(each[:2] != found[0][:2] for each in found):
        what = "several queueing disciplines that differ; give one" if found else "no queueing discipline in it"
        raise InputError("tc", f"{what}")
    if len(rates) > 1:
        raise InputError("tc", "several classes of htb, which tc.read_tree reads; a link without classes has one rate")
    qdisc, heard, dev = found[0]
    return _reading(qdisc, heard, dev, rates[0] if rates else None, packet)


def read_qdisc(kind: str, options: Sequence[str], packet: int = 1514, *, shown: bool = False) -> Reading:
    """Return what the options of a discipline set; `shown` if tc has shown them. InputError as of `read`."""
    return _reading(*_heard(kind, list(options), Link(packet=packet), shown), "eth0", None, packet)


def _reading(qdisc: Qdisc, heard: Heard, dev: str, rate: float | None, packet: int) -> Reading:
    link = heard.link if rate is None else replace(heard.link, rate=rate)
    setting = Setting(_spec(qdisc, heard), link, rate is not None, dev)
    prepared(setting)  # refuses what is not legal here
    if qdisc.is_cake:
        return Reading(setting, _limit_of_cake(heard.values, packet), (*heard.notes, *_notes_of_cake(heard.values)))
    return Reading(setting, qdisc.without, (*heard.notes, *qdisc.differs))


def _limit_of_cake(values: Values, packet: int) -> str:
    """Return what CAKE holds without a limit, after cake_reconfigure: never more than 10240 full packets."""
    rate, rtt, most = values.get("bandwidth"), float(values.get("rtt", 0.1)), 10240 * packet
    wanted = most if rate is None else max(int(size(CAKE_LEAST)[0]), int(4 * float(rate) / 8 * rtt))
    return f"{min(wanted, most)} B"


def _notes_of_cake(values: Values) -> list[str]:
    return ["rate: give the link more than bandwidth, which the shaper keeps"] if "bandwidth" in values else []


def _shaper(setting: Setting) -> list[str]:
    rate = numbers.write(setting.link.rate or 0, "rate", "rate")
    return [
        f"tc qdisc replace dev {setting.dev} root handle 1: htb default 1",
        f"tc class replace dev {setting.dev} parent 1: classid 1:1 htb rate {rate} ceil {rate} "
        f"quantum {setting.link.packet}",
    ]


def _notes(qdisc: Qdisc, setting: Setting, values: Values, groups: list[list[str]]) -> list[str]:
    """Return what Linux makes otherwise than was asked for. InputError where it was asked for by name."""
    said = [pair for words in groups for pair in parse(qdisc, words)]
    heard = hear(qdisc, said, setting.link)
    made = values | resolved(qdisc, _spec(qdisc, heard), heard.link)
    named = _named(qdisc, setting.scheme)
    notes = [f"{qdisc.kind}: no kernel has been given such a line here yet"] if qdisc.kind in UNTESTED else []
    for name in named & {name for name, why in qdisc.unsaid.items() if why}:
        raise InputError(name, f"cannot be told to {qdisc.kind}: {qdisc.unsaid[name]}")
    for name, value in values.items():
        if name in qdisc.unsaid or value == "auto" or _is_close(value, made[name]):
            continue
        ours, theirs = (_text(qdisc, name, each) for each in (value, made[name]))
        if name in named and name not in heard.said:
            raise InputError(name, f'"{ours}" cannot be told to {qdisc.kind}, which has {theirs} and no option for it')
        notes.append(
            f"{name}: {ours} here, {theirs} in Linux" + ("" if name in heard.said else ", which has no option")
        )
    buffer = setting.link.buffer
    if qdisc.kind == MQ:
        notes.append(f"queues: those of the device: ethtool -L {setting.dev} combined N; Linux 7.0")
    if qdisc.kind in ("pie", "fq_pie") and float(values["t_update"]) < JIFFY:
        notes.append("tupdate: Linux rounds it up to whole jiffies, of 1 to 10 ms as the kernel was built")
    if buffer and qdisc.is_cake:
        notes.append("memlimit: Linux counts what packets take in memory, 2304 B for a full one")
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


def _spec(qdisc: Qdisc, heard: Heard) -> str:
    """Write a scheme with what was said of it, and what Linux has otherwise than our defaults."""
    pairs = []
    for each in qdisc.parameters.values():
        value = heard.values.get(each.name)
        if value is not None and (each.name in heard.said or value != number(each.default)):
            pairs.append(f"{each.name}={_text(qdisc, each.name, value)}")
    return qdisc.scheme + (":" + ",".join(pairs) if pairs else "")


def _text(qdisc: Qdisc, name: str, value: float | str) -> str:
    """Return a parameter as a user writes it."""
    declared = qdisc.parameters[name]
    return value if isinstance(value, str) else written(value, "" if declared.default.isdigit() else declared.unit)


@dataclass(frozen=True)
class Command:
    """A command, or a line of output: of a "qdisc" or "class", its kind and options, and the words of its place."""

    what: str
    kind: str
    options: list[str]
    around: list[str]
    is_shown: bool


def place(command: Command) -> dict[str, str]:
    """Return where a command puts something: dev, parent, handle, classid."""
    return dict(pairwise(command.around))


def commands(text: str) -> list[Command]:
    """Return the commands or lines of output in a text."""
    found: list[Command] = []
    for line in text.replace("\\\n", " ").replace("&&", "\n").replace(";", "\n").splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise InputError("tc", f"{line.strip()}: {error}") from None
        if not words:
            continue
        if line[0].isspace() and found and found[-1].is_shown:
            if words[0] == "vq":  # the rest of what -s prints is no option
                found[-1].options.extend(words)
            continue
        found += [_command(words)]
    merged: list[Command] = []
    for each in found:
        if each.kind == "gred" and merged and each.options[:1] == ["vq"]:
            merged[-1].options.extend(each.options)
        else:
            merged.append(each)
    return merged


def _command(words: Sequence[str]) -> Command:
    left = [word for word in words if word != "sudo"]
    shown = left[0] in ("qdisc", "class")
    if not shown and left.pop(0).rpartition("/")[2] != "tc":
        raise InputError("tc", f'"{words[0]}" begins no line of tc; write tc qdisc replace dev DEV root ...')
    while left and left[0].startswith("-"):
        left.pop(0)
    what = left.pop(0) if left else ""
    kinds = {each.kind for each in TABLE} | PASSED_OVER | {"htb"}
    at = next((i for i, word in enumerate(left) if word in kinds), None)
    if what not in ("qdisc", "class") or at is None:
        rest = [word for word in left if not word.endswith(":") and word not in ("root", "replace", "add", "change")]
        skipped = rest[rest.index("dev") + 2 :] if "dev" in rest else rest
        of_kind(skipped[0] if skipped else what)
        raise InputError("tc", f'"{" ".join(words)}" is no line of tc qdisc or tc class')
    if shown and what == "class" and left[at] != "htb":
        return Command(what, "noqueue", [], [], is_shown=True)  # what such a discipline has of its flows
    if "stab" in left:
        raise InputError(
            "tc", "stab: sizes on the link are those of the packets here; CAKE has overhead, mpu, atm and ptm"
        )
    around, options = left[:at], left[at + 1 :]
    if shown:
        around, options = _shown_place(what, options)
    if left[at] == MQ and "parent" in around:
        raise InputError("tc", f"{MQ}: {ROOT_ONLY}")
    return Command(what, left[at], options, around, shown)


def _shown_place(what: str, words: list[str]) -> tuple[list[str], list[str]]:
    """Split what is shown behind the kind into the place of the discipline and its options."""
    left = words[1:]
    place: list[str] = ["handle" if what == "qdisc" else "classid", *words[:1]]
    while left and left[0] in ("dev", "root", "parent", "refcnt", "leaf", "prio", "offloaded", "deleted"):
        if what == "qdisc" and left[0] == "prio":
            break
        place += left[: 1 if left[0] in ("root", "offloaded", "deleted") else 2]
        left = left[1 if left[0] in ("root", "offloaded", "deleted") else 2 :]
    return place, left


def _heard(kind: str, words: list[str], link: Link, shown: bool) -> tuple[Qdisc, Heard]:
    qdisc = of_kind(kind)
    if kind == "red" and {"adaptive", "adaptative"} & {*words}:
        qdisc = of_scheme("ared")
    said: Said = parse(qdisc, words)
    return qdisc, hear(qdisc, said, link, shown)
