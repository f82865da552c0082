"""Lines of tc, by one reader: commands, lines of a batch, scripts, and what `tc -d qdisc show` prints.

A command or output is recognised by its words alone: output names a kind where a command has a verb. What a command
does to those before it happens here: `del` takes away, `change` keeps what it does not name. Unread parts are noted.
"""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from aqmlab.problems import InputError
from aqmlab.tc.link import Layer

OBJECTS = ("qdisc", "class", "filter", "chain", "actions", "monitor", "exec")
VERBS = ("add", "change", "replace", "link", "delete", "show", "list", "lst", "get", "help")
"""First words of a command; tc accepts their beginnings, and takes the first of these if several match."""
WRITES = ("add", "change", "replace", "link")
RUNNERS = {"sudo", "doas", "command", "exec", "nice"}
"""Programs that run tc."""
WITH_VALUE = {"-n", "-netns", "-b", "-batch", "-cf", "-conf"}
"""Options of tc itself that have a value."""
ROOT = "root"
ALL = ""
"""The parent of all commands of a device."""
AGAIN = "\n"
"""Separates the options of two commands for one discipline."""
WHOLE = {"red", "choke", "sfb", "htb"}
"""Kinds of which tc sends every option each time, so that nothing is kept of those before."""
SIZES = ("linklayer", "overhead", "mpu", "mtu", "tsize")
"""Options of a table of sizes (`stab`); the last two are of the table itself."""
FRAMINGS = {"ethernet": "none", "adsl": "atm", "atm": "atm"}
STATISTICS = {
    *("sent", "backlog", "rate", "lended", "tokens", "count", "maxpacket", "new_flows_len", "prob", "pkts_in"),
    *("marked", "earlydrop", "maxqlen", "drop_next", "new_flow_count", "memory", "capacity", "min/max", "average"),
    *("bulk", "best", "tin", "thresh", "target", "interval", "pk_delay", "av_delay", "sp_delay", "pkts", "bytes"),
    *("way_inds", "way_miss", "way_cols", "drops", "marks", "ack_drop", "sp_flows", "bk_flows", "un_flows", "max_len"),
    *("quantum", "queue", "total", "credit", "pkts_in_c", "delay_c", "step_marks", "memory_used", "ecn_mark", "max"),
}
"""First words of the lines that `-s` prints below a discipline, in lower case."""
LONGEST_LINE = 10_000
"""Maximum length of a command, in characters."""
REDIRECTION = re.compile(r"(?<!\S)(?:\d*|&)(?:>>?|<)(?:&\d+|\s*[^\s;|&]+)")


Key = tuple[str, str, str] | int
"""The place of a command, or the number of a row of output, of which there may be two for one place."""


@dataclass(frozen=True)
class Command:
    """A command, or a row of output: its object ("qdisc" or "class") and verb, kind and options, place and layer."""

    what: str
    verb: str
    kind: str
    options: tuple[str, ...]
    place: Mapping[str, str]
    """Of dev, parent, handle, classid, leaf and prio those that are said; numbers as tc shows them."""
    layer: Layer | None = None

    @property
    def is_shown(self) -> bool:
        """True for a row of output."""
        return self.verb == "show"

    @property
    def at(self) -> tuple[str, str, str]:
        """Options that are given once at most."""
        where = self.place.get("classid", "") if self.what == "class" else self.place.get("parent", ROOT)
        return self.what, self.place.get("dev", ""), where

    @property
    def names(self) -> tuple[str, ...]:
        """The number of a class or handle of a discipline, by which commands below it call it."""
        name = self.place.get("classid" if self.what == "class" else "handle")
        return (name,) if name else ()

    @property
    def above(self) -> tuple[str, ...]:
        """The class or root that it hangs from, and the discipline that the class is in."""
        parent = self.place.get("parent", ROOT)
        return parent, f"{parent.partition(':')[0]}:"


class Listing:
    """The result of lines, and notes on those that are not read. Each command takes about as long as the one before."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._commands: dict[Key, Command] = {}
        self._lines = count()
        self._below: defaultdict[tuple[str, str], dict[Key, None]] = defaultdict(dict)  # by device and what is above

    @property
    def commands(self) -> list[Command]:
        """All that are in force, in order."""
        return [*self._commands.values()]

    @property
    def last(self) -> Command | None:
        """The last of them."""
        return next(reversed(self._commands.values()), None)

    def change_last(self, command: Command) -> None:
        """Put another in place of the last."""
        self._commands[next(reversed(self._commands))] = command

    def skip(self, words: Sequence[str], why: str = "") -> None:
        """Note that something is not read."""
        self.notes.append(f"not read: {' '.join(words)}{why}")

    def take(self, command: Command) -> None:
        """Do a command after those before, as the kernel would. InputError where it refuses."""
        old = None if command.is_shown else self._commands.get(command.at)
        dev, at = command.place.get("dev", "the device"), command.at[2]
        if old is None:
            if command.verb == "change":
                self.notes.append(
                    "change: on Linux, options that are not named keep their values; here they get Linux's defaults"
                )
            self._put(next(self._lines) if command.is_shown else command.at, command)
        elif command.verb == "add":
            thing = "queueing discipline" if command.what == "qdisc" else "class"
            raise InputError("tc", f"{dev} has a {thing} there already ({at}); write replace")
        elif old.kind == command.kind:
            self._put(command.at, _changed(old, command))
        elif command.verb == "change":
            raise InputError(
                "tc", f"{dev} {at} has {old.kind}, which cannot be changed to {command.kind}; write replace"
            )
        else:
            self.delete(command)
            self._put(command.at, command)

    def delete(self, command: Command) -> None:
        """Take away what is at the place of a command, and what is below it. InputError for a class with classes."""
        dev = command.at[1]
        whole = command.at == ("qdisc", dev, ROOT)
        gone = dict.fromkeys(self._below[dev, ALL] if whole else [command.at] if command.at in self._commands else [])
        left = [*gone]
        while left:
            each = self._commands[left.pop()]
            below = [key for name in each.names for key in self._below[dev, name] if key not in gone]
            if command.what == each.what == "class" and any(self._commands[key].what == "class" for key in below):
                raise InputError("classid", f"{each.at[2]}: has classes below it, and Linux deletes none that has")
            gone |= dict.fromkeys(below)
            left += below
        for key in gone:
            self._drop(key)

    def _put(self, key: Key, command: Command) -> None:
        if key in self._commands:
            self._unlist(key)
        self._commands[key] = command
        for name in self._places(command):
            self._below[name][key] = None

    def _drop(self, key: Key) -> None:
        self._unlist(key)
        del self._commands[key]

    def _unlist(self, key: Key) -> None:
        for name in self._places(self._commands[key]):
            self._below[name].pop(key, None)

    def _places(self, command: Command) -> list[tuple[str, str]]:
        return [] if command.is_shown else [(command.at[1], name) for name in (*command.above, ALL)]


def _changed(old: Command, new: Command) -> Command:
    """Return what a second command leaves of a discipline or class."""
    if new.what == "class" or new.kind in WHOLE:
        return new
    between = () if new.kind == "gred" else (AGAIN,)
    return replace(new, options=(*old.options, *between, *new.options), layer=new.layer or old.layer)


def listing(text: str) -> Listing:
    """Return the commands or lines of output in a text. InputError for one that is malformed, or if there is none."""
    found = Listing()
    has_lines = False
    for line in text.replace("\\\n", " ").splitlines():
        if len(line) > LONGEST_LINE:
            raise InputError("tc", f'"{line[:40]}...": a line of {len(line)} characters; at most {LONGEST_LINE}')
        words = line.split()
        shown = found.last is not None and found.last.is_shown
        if _is_output(words):
            has_lines = True
            found.take(_shown(words))
        elif shown and line[:1].isspace() and words:
            _continue(found, words)
        else:
            for operator, each in _simple(line):
                has_lines |= _read(found, operator, each)
    if not has_lines:
        first = next(iter(found.notes), "not read: ").removeprefix("not read: ")
        raise InputError("tc", f'"{first}" is not a tc command; write tc qdisc replace dev DEV root ...')
    return found


def _full(word: str, names: Sequence[str]) -> str | None:
    """Return the first name that begins so."""
    return next((name for name in names if word and name.startswith(word)), None)


def _is_output(words: Sequence[str]) -> bool:
    return len(words) > 2 and words[0] in ("qdisc", "class") and _full(words[1], VERBS) is None


def _simple(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands in a row of a script, each with the operator before it."""
    lexer = shlex.shlex(REDIRECTION.sub(" ", line), posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    operator, words = "", list[str]()
    try:
        for word in lexer:
            if word and not word.strip(";|&"):
                if words:
                    yield operator, words
                operator, words = word, []
            else:
                words.append(word)
    except ValueError as error:
        raise InputError("tc", f"{line.strip()}: {error}") from None
    if words:
        yield operator, words


def _read(found: Listing, operator: str, words: list[str]) -> bool:
    """Read a simple command; return whether it is one of tc."""
    given = _of_tc(words)
    if given is None or operator == "|":
        found.skip(words)
        return False
    if operator == "||":
        found.skip(words, " (only if what is before it fails)")
        return True
    what = _full(given[0], OBJECTS) if given else None
    verb = _full(given[1], VERBS) if len(given) > 1 else None
    if what is None or (what in ("qdisc", "class") and verb is None):
        raise InputError("tc", f'"{" ".join(words)}" is not a tc command; write tc qdisc replace dev DEV root ...')
    if what not in ("qdisc", "class") or verb not in (*WRITES, "delete"):
        found.skip(words)
        return True
    command = _typed(what, str(verb), given[2:])
    if verb == "delete":
        found.skip(words, " (what was there before is gone)")
        found.delete(command)
    elif command.kind in ("ingress", "clsact"):
        found.skip(words, " (it holds no packets)")
    elif not command.kind:
        raise InputError("tc", f'"{" ".join(words)}" names no queueing discipline')
    else:
        found.take(command)
    return True


def _of_tc(words: Sequence[str]) -> list[str] | None:
    """Return the words after `tc` and its options, or the words of one row of a batch; None for other commands."""
    left = list(words)
    while left and left[0] in RUNNERS:
        left.pop(0)
        while left and left[0].startswith("-"):
            left.pop(0)
    if left[:3] == ["ip", "netns", "exec"]:
        left = left[4:]
    if not left:
        return None
    if left[0].rpartition("/")[2].strip("${}") not in ("tc", "TC"):
        is_batch = len(left) > 1 and _full(left[0], OBJECTS) and _full(left[1], VERBS)
        return left if is_batch and len(left) == len(words) else None
    left.pop(0)
    while left and left[0].startswith("-"):
        left = left[2:] if left[0] in WITH_VALUE else left[1:]
    return left


def _typed(what: str, verb: str, words: Sequence[str]) -> Command:
    """Read the words of a command after its verb, in the order in which tc does."""
    left, place, layer, kind = list(words), dict[str, str](), None, ""
    while left and not kind:
        word = left.pop(0)
        key = "parent" if word == ROOT else word
        if key in place:
            raise InputError(word, "tc takes one place for a queueing discipline or class, and here are two")
        if word == ROOT:
            place["parent"] = ROOT
        elif word in ("dev", "handle", "parent", "classid"):
            place[word] = _identity(word, _value(word, left))
        elif word in ("ingress_block", "egress_block"):
            _value(word, left)
        elif word == "estimator":
            left = left[2:]
        elif word == "stab":
            layer = _sizes(left)
        else:
            kind = word
    return Command(what, verb, kind, tuple(left), place, layer)


def _value(word: str, left: list[str]) -> str:
    if not left:
        raise InputError(word, "the value is missing")
    return left.pop(0)


def _sizes(left: list[str]) -> Layer:
    """Take a table of sizes from the front of words."""
    layer = Layer()
    while left and left[0] in SIZES:
        word = left.pop(0)
        text = _value(word, left)
        if word == "linklayer":
            layer = replace(layer, framing=framing(text))
        elif not re.fullmatch(r"-?\d{1,9}", text):
            raise InputError(word, f'"{text[:60]}" is not valid for tc; expected bytes')
        elif word == "overhead":
            layer = replace(layer, overhead=int(text))
        elif word == "mpu":
            layer = replace(layer, mpu=int(text))
    return layer


def framing(text: str) -> str:
    """Return what a word of tc for a link layer is here."""
    if text not in FRAMINGS:
        raise InputError("linklayer", f'"{text}" is not valid for tc; expected one of {", ".join(FRAMINGS)}')
    return FRAMINGS[text]


def _identity(word: str, text: str) -> str:
    """Return the name of a place as tc shows it."""
    if word == "dev":
        return text
    return _handle(text) if word == "handle" else class_id(text, word)


def _handle(text: str) -> str:
    """Return "1:" as tc reads it: hexadecimal, whatever follows the colon."""
    found = re.fullmatch(r"(?:0x)?([0-9a-f]+)(?::.*)?", text.lower())
    if not found or int(found[1], 16) >= 1 << 16:
        raise InputError("handle", f'"{text}" is not a handle of a queueing discipline; write e.g. 1:')
    return f"{int(found[1], 16):x}:"


def class_id(text: str, word: str) -> str:
    """Return "1:10" as tc reads it: two hexadecimal numbers, or both in one without a colon; "root" as it is."""
    if text in (ROOT, "none"):
        return text
    found = re.fullmatch(r"(?:0x)?([0-9a-f]*)(:(?:0x)?([0-9a-f]*))?", text.lower())
    if not found or not (found[1] or found[2]):
        raise InputError(word, f'"{text}" is not a class; write e.g. 1:10')
    major, minor = int(found[1] or "0", 16), int(found[3] or "0", 16)
    if not found[2]:
        major, minor = divmod(major, 1 << 16)
    if max(major, minor) >= 1 << 16:
        raise InputError(word, f'"{text}" is not a class; both numbers have four digits at most')
    return f"{major or '':x}:{minor or '':x}" if major and minor else f"{major:x}:" if major else f":{minor:x}"


def _shown(words: Sequence[str]) -> Command:
    """Read a row of output: its object and kind, the number, the place, and the options."""
    what, kind, number, *left = words
    place = {"handle" if what == "qdisc" else "classid": _identity("handle" if what == "qdisc" else "classid", number)}
    while left and left[0] in ("dev", "root", "parent", "refcnt", "leaf", "prio", "offloaded", "deleted"):
        if what == "qdisc" and left[0] == "prio":
            break
        word = left.pop(0)
        if word == ROOT:
            place["parent"] = ROOT
        elif word not in ("offloaded", "deleted"):
            value = _value(word, left)
            place[word] = class_id(value, word) if word == "parent" else value
    return Command(what, "show", kind, tuple(left), place)


def _continue(found: Listing, words: Sequence[str]) -> None:
    """Read an indented line below one of output: a table of sizes, GRED's queues, or statistics."""
    last = found.last
    if last is None:
        return
    if words[0] == "vq":
        found.change_last(replace(last, options=(*last.options, *words)))
    elif words[0] in SIZES:
        found.change_last(replace(last, layer=_sizes(list(words))))
    elif words[0].rstrip(":").lower() not in STATISTICS:
        found.skip(words)
