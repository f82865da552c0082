"""Compare the segments of the simulator's senders with Linux 7.3 in virtual time, under the same scripts.

`sequences.py` replays the scripts of `sequences/scripts.json` and writes docs/validation-sequences.md.
`sequences.py record` first plays them on the kernel that was built last (`aqmlab kernel build`), which takes seconds,
and stores its segments in `sequences/linux.jsonl`. `sequences/explained.json` explains the differences.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pages

from aqmlab.kernel.images import newest

HERE = Path(__file__).parent
DATA = HERE / "sequences"
PAGE = HERE.parent / "docs" / "validation-sequences.md"
LAWS = ("reno", "cubic", "dctcp", "bbr")
TITLES = ("Reno", "CUBIC", "DCTCP", "BBR")
TOLERANCE = 1000
"""Microseconds by which times may differ."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Compared:
    """A script under a controller."""

    name: str
    law: str
    ours: Sequence[tuple[int, float]]
    theirs: Sequence[tuple[int, float]]
    """Segments and times, microseconds."""

    @property
    def first(self) -> int | None:
        """The first segment that differs, if any does."""
        for i, (our, their) in enumerate(zip(self.ours, self.theirs, strict=False)):
            if our[0] != their[0] or abs(our[1] - their[1]) > TOLERANCE:
                return i
        return None if len(self.ours) == len(self.theirs) else min(len(self.ours), len(self.theirs))

    @property
    def worst(self) -> float:
        """The largest difference in time at the same place, microseconds."""
        return max(abs(our[1] - their[1]) for our, their in zip(self.ours, self.theirs, strict=False))


def scripts() -> list[dict[str, Any]]:
    """Return the scripts."""
    return list(json.loads((DATA / "scripts.json").read_text(encoding="utf-8")))


def explained() -> list[dict[str, Any]]:
    """Return the explanations of the differences."""
    return list(json.loads((DATA / "explained.json").read_text(encoding="utf-8")))


def recorded() -> list[Row]:
    """Return the segments of Linux."""
    return [json.loads(line) for line in (DATA / "linux.jsonl").read_text(encoding="utf-8").splitlines()]


def build(package: str, example: str, *flags: str) -> Path:
    """Build an example of a crate."""
    command = ["cargo", "rustc", "--locked", "--quiet", "--profile", "quick", "-p", package, "--example", example]
    subprocess.run([*command, *(["--", *flags] if flags else [])], check=True, cwd=HERE.parent)
    return HERE.parent / "target" / "quick" / "examples" / example


def record() -> None:
    """Play the scripts on the kernel, and store its segments."""
    guest = build("aqmlab-netlink", "record_sequences", "-C", "target-feature=+crt-static")
    with TemporaryDirectory(prefix="aqmlab-sequences-") as name:
        folder = Path(name)
        for place in ("proc", "dev"):
            (folder / place).mkdir()
        shutil.copy(guest, folder / "guest")
        (folder / "order.json").write_text(json.dumps({"scripts": scripts(), "laws": LAWS}), encoding="utf-8")
        result = folder / "result.jsonl"
        result.touch()
        options = ("time-travel=inf-cpu", "seccomp=auto", "mem=512M", "quiet", f"uml_dir={folder}/")
        root = ("rootfstype=hostfs", f"rootflags={folder}", "rw", "init=/guest", "con=null", "con0=null,fd:1")
        command = [str(newest().path), *options, *root]
        subprocess.run(command, check=False, timeout=600, stdin=subprocess.DEVNULL, capture_output=True)
        *rows, last = (json.loads(line) for line in result.read_text(encoding="utf-8").splitlines())
    if "done" not in last:
        raise RuntimeError(last.get("error", "the kernel has ended too early"))
    with (DATA / "linux.jsonl").open("w", encoding="utf-8") as file:
        for row in rows:
            kept = {"name": row["name"], "law": row["law"], "sent": row["sent"], "us": [round(us) for us in row["us"]]}
            file.write(json.dumps(kept, separators=(",", ":")) + "\n")


def compare() -> list[Compared]:
    """Replay every script under every controller."""
    replay = build("aqmlab-tcp", "replay_sequences")
    told = subprocess.run([replay, DATA / "scripts.json", *LAWS], check=True, capture_output=True, text=True).stdout
    ours = {(row["name"], row["law"]): row for row in map(json.loads, told.splitlines())}

    def sent(row: Row) -> list[tuple[int, float]]:
        return list(zip(row["sent"], row["us"], strict=True))

    return [Compared(row["name"], row["law"], sent(ours[row["name"], row["law"]]), sent(row)) for row in recorded()]


HEAD = f"""\
{pages.FRONT}# Segment sequences of Linux 7.3

<!-- Written by `validation/sequences.py`; do not edit. -->

The senders of profile `linux` are compared with [Linux 7.3 in virtual time](kernel.md), segment by segment.
`.venv/bin/python validation/sequences.py` replays the scripts and writes this page; `validation/sequences.py record`
plays them on the kernel first.

Sender and receiver of Linux are two network namespaces with a TUN device each. A program between them
(`crates/netlink/examples/record_sequences.rs`) is the path: a link of 10 Mbit/s with an unlimited buffer, and 20 ms in
each direction. It drops, marks, delays or holds the segments that the script names. Devices send segments one by one.
The sender's application writes all data at once, and the receiver's application reads at once. The path clears PSH, so
the end of a write causes no immediate ACK.

`validation/sequences/scripts.json` contains the scripts. A pair is a segment (0 is the SYN) and the number of its
transmission, or its additional delay in ms. Other times are ms from the first SYN.

A sequence is **equal** if the same segments are sent in the same order and every time is within 1 ms of Linux. Virtual
time has no jitter: a repeated recording differs by less than 0.01 ms. BBR is an exception, because its cycle starts at
a random phase. The test `linux` of `aqmlab-tcp` compares the senders with the recordings.

"""


def page(compared: Sequence[Compared]) -> str:
    """Return the page."""
    equal = sum(one.first is None for one in compared)
    by_key = {(one.name, one.law): one for one in compared}
    lines = [f"{HEAD}**{equal} of {len(compared)} sequences are equal.**", ""]
    if equal < len(compared):
        lines += ["## Sequences that are not equal", "", "The first segment that differs, and the cause.", ""]
        heads = ["script", "controller", "Linux", "simulator", "kernel function", "cause"]
        lines += [*pages.table(heads, [row for entry in explained() for row in _exception(entry, by_key)]), ""]
    lines += ["## All sequences", "", CELLS, ""]
    rows = [(script["name"], [by_key[script["name"], law] for law in LAWS]) for script in scripts()]
    lines += pages.table(
        ["script", *TITLES, "segments"],
        [[name, *map(_cell, of), f"{len(of[0].theirs)}"] for name, of in rows],
    )
    return "\n".join(lines) + "\n"


CELLS = """\
Equal with the largest difference in time, or the position of the first segment that differs. The last column is the
number of segments that Linux sends, retransmissions included."""


def _exception(entry: Mapping[str, Any], by_key: Mapping[tuple[str, str], Compared]) -> list[list[str]]:
    """Return a row for each controller of an explained difference; the first contains the cause."""
    rows = []
    for i, law in enumerate(entry["laws"]):
        one = by_key[entry["name"], law]
        first = one.first or 0
        cause = ["", ""] if i else [f"`{entry['function']}`", entry["why"]]
        rows.append([entry["name"], law, _sent(one.theirs, first), _sent(one.ours, first), *cause])
    return rows


def _sent(sent: Sequence[tuple[int, float]], place: int) -> str:
    return f"{sent[place][0]} at {sent[place][1] / 1e3:.1f} ms" if place < len(sent) else "nothing more"


def _cell(one: Compared) -> str:
    return f"equal, {one.worst / 1e3:.2f} ms" if one.first is None else f"position {one.first + 1}"


def main() -> None:
    """Record on demand, replay, and write the page."""
    if sys.argv[1:] == ["record"]:
        record()
    compared = compare()
    PAGE.write_text(page(compared), encoding="utf-8")
    print(f"{sum(one.first is None for one in compared)} of {len(compared)} sequences are equal")
    for one in compared:
        if one.first is not None:
            linux, simulator = (_sent(sent, one.first) for sent in (one.theirs, one.ours))
            print(f"{one.name}, {one.law}: Linux sends {linux}, the simulator {simulator}")


if __name__ == "__main__":
    main()
