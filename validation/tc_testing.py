"""Compare `aqmlab tc --from` with the kernel's test suite, `tc-testing`, and write docs/validation-tc.md.

The program reads each command of the suite that adds, replaces or changes a queueing discipline that aqmlab supports,
or a class of HTB, after the commands that prepare it. A test agrees under three conditions. The command is accepted or
rejected as the suite expects. Every option that tc is expected to show has the value that was read. The command that
aqmlab writes for the setting is read as the same setting. The suite is in the kernel's source:

    .venv/bin/python validation/tc_testing.py [SOURCE]

SOURCE is a folder with the source of Linux. The default is Debian's package, as for `aqmlab kernel build`. Only
identifiers and counts of the suite are stored (`tc_testing.json`).
"""

import json
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pages

from aqmlab import tc
from aqmlab.kernel import source
from aqmlab.kernel.steps import Steps
from aqmlab.problems import InputError
from aqmlab.tc import htb, numbers
from aqmlab.tc.lines import listing
from aqmlab.tc.options import EXTRA
from aqmlab.tc.qdiscs import MEMORY_OF_PACKET, Qdisc
from aqmlab.tc.syntax import prepared

HERE = Path(__file__).parent
STORED = HERE / "tc_testing.json"
PAGE = HERE.parent / "docs" / "validation-tc.md"
SUITE = Path("tools/testing/selftests/tc-testing/tc-tests/qdiscs")
FILES = (
    "fifo",
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "cake",
    "cake_mq",
    "red",
    "gred",
    "sfb",
    "choke",
    "dualpi2",
    "htb",
)
DIGITS = 6e-3
"""tc shows times in three digits, sizes to a KiB: a share."""
WRITING = re.compile(r"\$TC (?:qdisc|class) (?:add|replace|change) ")


@dataclass(frozen=True)
class Verdict:
    """A test of the suite: its identifier, whether aqmlab agrees, and why not."""

    name: str
    agrees: bool
    cause: str = ""
    is_silent: bool = False
    """aqmlab accepts the command but reads another setting."""


@dataclass(frozen=True)
class Understood:
    """The setting that aqmlab reads: parameters by its names with the link, or a class of HTB."""

    qdisc: Qdisc | None
    values: dict[str, float | str]
    link: tc.Link
    written: Sequence[str] = ()
    """Parameters that differ after the written command is read again."""


def _equal(one: float | str, other: float | str) -> bool:
    """Say whether two values are the same within the digits that are written."""
    return one == other or (
        isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=1e-6)
    )


def tests(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the tests of a file that add, replace or change something."""
    found: list[dict[str, Any]] = json.loads((folder / SUITE / f"{name}.json").read_text(encoding="utf-8"))
    return [each for each in found if WRITING.match(each["cmdUnderTest"])]


def lines(test: dict[str, Any]) -> str:
    """Return the commands of tc that a test gives, those that prepare it first."""
    before = [each if isinstance(each, str) else each[0] for each in test["setup"]]
    return "\n".join([*(each for each in before if WRITING.match(each)), test["cmdUnderTest"]])


def understand(text: str) -> Understood:
    """Return the setting that aqmlab reads in commands. InputError if it rejects them."""
    found = htb.hierarchy(listing(text))
    if found.has_root:
        values: dict[str, float | str] = {"default": found.default or "0"}
        for each in found.classes.values():
            usual = {"burst": each.burst or 1600, "cburst": each.cburst or 1600, "prio": each.prio}
            values |= {"rate": each.rate, "ceil": each.ceil, **usual}
        return Understood(None, values, tc.Link())
    setting = tc.read(text).setting
    again = tc.read("\n".join(tc.write(setting).commands)).setting
    qdisc, values = prepared(setting)
    written = [name for name, value in prepared(again)[1].items() if not _equal(value, values[name])]
    return Understood(qdisc, values, setting.link, written)


def shown(test: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the options that tc is expected to show, each with its value if the expression contains it."""
    text = re.sub(r"\([^)]*\)|refcnt \S+|\S*\.\*|\[[^\]]*\]\+?|\$", " ? ", test.get("matchPattern") or "")
    words = text.split()
    for word, value in zip(words, [*words[1:], "?"], strict=True):
        if value != "?":
            yield word, value


def differing(test: dict[str, Any], ours: Understood) -> list[str]:
    """Return the options that tc shows with other values than aqmlab read."""
    if "class show" in test["verifyCmd"] and ours.qdisc is not None:
        return []  # what a discipline has of its flows
    said = dict(shown(test))
    if ours.qdisc and (memory := said.get(ours.qdisc.memory[0])) and (limit := said.get(ours.qdisc.limit[0])):
        most = numbers.read(memory, "bytes", "memory", shown=True) // MEMORY_OF_PACKET
        said[ours.qdisc.limit[0]] = f"{min(most, numbers.read(limit, 'packets', 'limit', shown=True)):.0f}"
    return [word for word, value in said.items() if not _is_same(word, value, ours)]


def _is_same(word: str, text: str, ours: Understood) -> bool:
    qdisc = ours.qdisc
    if qdisc is None:
        kind = htb.OF_CLASS.get(word, "")
        is_default = word == "default" and int(text, 16) != int(str(ours.values["default"]).rpartition(":")[2], 16)
        known = kind and word in ours.values
        return not is_default and (not known or _close(numbers.read(text, kind, word, shown=True), ours.values[word]))
    if word == qdisc.limit[0]:
        limit = numbers.read(text, qdisc.limit[1], word, shown=True)
        given = ours.link.buffer or qdisc.without
        unit = ours.link.packet if given.endswith("packets") and qdisc.limit[1] == "bytes" else 1
        return _close(limit, tc.link.size(given)[0] * unit)
    if word in qdisc.keywords:
        name, choice = qdisc.keywords[word]
        return ours.values[name] == choice
    if word in qdisc.options and text != "unlimited":
        name, kind = qdisc.options[word]
        value = numbers.read(text, kind, word, shown=True)
        unit = ours.link.packet if kind == "bytes" and qdisc.parameters[name].unit == "packets" else 1
        held = ours.values[name]
        return (value == 0 and held in ("auto", 0.0)) or (held != "auto" and _close(value, float(held) * unit))
    if word == "step_thresh" and word in EXTRA.get(qdisc.kind, {}):
        step = float(ours.values["min_th"]) + float(ours.values["range"]) / 2
        return _close(numbers.read(text, "time", word, shown=True), step)
    return word not in ("ecn", "bandwidth") or (ours.link.ecn if word == "ecn" else ours.values[word] == "auto")


def _close(one: float, other: float | str) -> bool:
    return abs(one - float(other)) <= max(DIGITS * abs(one), 1.024e-6)  # CoDel counts 1024 ns


def judge(test: dict[str, Any]) -> Verdict:
    """Return whether aqmlab agrees with a test."""
    is_accepted = int(test["expExitCode"]) == 0
    try:
        ours = understand(lines(test))
    except InputError as error:
        return Verdict(test["id"], not is_accepted, "" if not is_accepted else f"rejected: {error}")
    if not is_accepted:
        return Verdict(test["id"], False, "accepted: Linux rejects it because of the device")
    wrong = [*differing(test, ours), *(f"{name}, as written" for name in ours.written)]
    return Verdict(test["id"], not wrong, ", ".join(wrong), bool(wrong))


def verdicts(folder: Path) -> dict[str, list[Verdict]]:
    """Return the verdicts by file of the suite."""
    return {name: [judge(test) for test in tests(folder, name)] for name in FILES}


HEAD = f"""\
{pages.FRONT}# Validation of tc commands

<!-- Written by `validation/tc_testing.py`; do not edit. -->

Linux {{version}} contains a test suite for tc (`{SUITE.parent.parent}`).
`.venv/bin/python validation/tc_testing.py` takes it from the kernel's source and writes this page. `aqmlab tc --from`
reads each command of the suite that adds, replaces or changes a class of HTB, or a queueing discipline that aqmlab
supports. A test **agrees** if

- the command is accepted or rejected as the suite expects;
- each option that tc is expected to show has the value that was read;
- the command that aqmlab writes for the setting is read as the same setting.

The suite is not part of aqmlab: only identifiers and counts are stored.
"""


def page(found: dict[str, list[Verdict]], version: str) -> str:
    """Return the page."""
    total = [each for of_one in found.values() for each in of_one]
    agree = sum(each.agrees for each in total)
    rows = [(name, f"{sum(each.agrees for each in of)}", f"{len(of)}") for name, of in found.items()]
    causes: dict[str, list[str]] = {}
    for name, of in found.items():
        for each in of:
            if not each.agrees:
                causes.setdefault(each.cause, []).append(f"`{name}` {each.name}")
    others = [(cause.replace("|", "/"), ", ".join(names)) for cause, names in causes.items()]
    silent = sum(each.is_silent for each in total)
    lines = [
        HEAD.format(version=version),
        f"**{agree} of {len(total)} tests agree ({agree / len(total):.0%}).** In {silent} tests aqmlab reads another",
        "setting without a message.",
        "",
        *pages.table(["file of the suite", "agree", "tests"], rows),
        "",
        "## Tests that do not agree",
        "",
        "aqmlab rejects options that it does not support, by name. It accepts one command that Linux rejects because",
        "of the device.",
        "",
        *pages.table(["cause", "tests"], others),
    ]
    return "\n".join(lines) + "\n"


def document(found: dict[str, list[Verdict]], version: str) -> dict[str, Any]:
    """Return the stored document: by file, how many tests agree, and the others with their causes."""
    files = {
        name: {
            "tests": len(of),
            "agree": sum(each.agrees for each in of),
            "others": {each.name: each.cause for each in of if not each.agrees},
        }
        for name, of in found.items()
    }
    return {"linux": version, "files": files}


def version_of(folder: Path) -> str:
    """Return the version of a source."""
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL) = (\d+)$", (folder / "Makefile").read_text(), re.MULTILINE))
    return f"{found['VERSION']}.{found['PATCHLEVEL']}"


def main(arguments: Sequence[str]) -> None:
    """Judge the suite of a source, and write the page and the stored document."""
    with tempfile.TemporaryDirectory() as made:
        if arguments:
            folder = Path(arguments[0])
        else:
            source.check(None)
            folder = Path(made, "linux")
            source.prepare(None, folder, Steps(Path(made, "log")))
        found, version = verdicts(folder), version_of(folder)
        shutil.rmtree(Path(made, "linux"), ignore_errors=True)
    PAGE.write_text(page(found, version), encoding="utf-8")
    STORED.write_text(json.dumps(document(found, version), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
