"""Hold what our sender sends, and when, against what Linux 7.3 in virtual time sends under the same scripts.

`sequences.py` replays the scripts of `sequences/scripts.json` and writes docs/validation-sequences.md.
`sequences.py record` has the kernel that was built last (`aqmlab kernel build`) play them first, which takes
seconds, and stores what it sends in `sequences/linux.jsonl`. What differs is explained in
`sequences/explained.json`.
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
    """A script under a law."""

    name: str
    law: str
    ours: Sequence[tuple[int, float]]
    theirs: Sequence[tuple[int, float]]
    """Segments and times, microseconds."""

    @property
    def first(self) -> int | None:
        """The first that differs, if any does."""
        for i, (our, their) in enumerate(zip(self.ours, self.theirs, strict=False)):
            if our[0] != their[0] or abs(our[1] - their[1]) > TOLERANCE:
                return i
        return None if len(self.ours) == len(self.theirs) else min(len(self.ours), len(self.theirs))

    @property
    def worst(self) -> float:
        """The largest difference in time of those in the same place, microseconds."""
        return max(abs(our[1] - their[1]) for our, their in zip(self.ours, self.theirs, strict=False))


def scripts() -> list[dict[str, Any]]:
    """Return the scripts."""
    return list(json.loads((DATA / "scripts.json").read_text(encoding="utf-8")))


def explained() -> list[dict[str, Any]]:
    """Return what is known of the differences."""
    return list(json.loads((DATA / "explained.json").read_text(encoding="utf-8")))


def recorded() -> list[Row]:
    """Return what Linux sent."""
    return [json.loads(line) for line in (DATA / "linux.jsonl").read_text(encoding="utf-8").splitlines()]


def build(package: str, example: str, *flags: str) -> Path:
    """Build an example of ours."""
    command = ["cargo", "rustc", "--locked", "--quiet", "--release", "-p", package, "--example", example]
    subprocess.run([*command, *(["--", *flags] if flags else [])], check=True, cwd=HERE.parent)
    return HERE.parent / "target" / "release" / "examples" / example


def record() -> None:
    """Have the kernel play the scripts, and store what it sends."""
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
    """Replay every script under every law."""
    replay = build("aqmlab-tcp", "replay_sequences")
    told = subprocess.run([replay, DATA / "scripts.json", *LAWS], check=True, capture_output=True, text=True).stdout
    ours = {(row["name"], row["law"]): row for row in map(json.loads, told.splitlines())}

    def sent(row: Row) -> list[tuple[int, float]]:
        return list(zip(row["sent"], row["us"], strict=True))

    return [Compared(row["name"], row["law"], sent(ours[row["name"], row["law"]]), sent(row)) for row in recorded()]


HEAD = """\
# Sequences

What our senders of profile `linux` send, segment by segment, beside what Linux 7.3 sends in virtual time. Made by
`.venv/bin/python validation/sequences.py`, which replays the scripts; with `record` the kernel plays them first.

Sender and receiver of Linux are two network namespaces with a TUN device each. The program between them
(`crates/netlink/examples/record_sequences.rs`) is the path: a link of 10 Mbit/s with a buffer that does not end, 20 ms
there and 20 ms back. It loses, marks, delays or holds back the segments that the script names, so what happens to them
is exact. Devices send segments one by one; the sender's application writes all at once, the receiver's reads at once.
The path takes PSH off, so that no end of a write is acknowledged at once.
`validation/sequences/scripts.json` has the scripts: a pair is a segment (0 is the SYN) and the how-manieth time it is
sent, or by how many ms it is late; other times are ms from the first SYN on.

A sequence is **equal** if the same segments are sent in the same order and every time lies within 1 ms of Linux's.
Virtual time has no jitter: a recording that is repeated moves by less than 0.01 ms, but for BBR, whose cycle begins
at random. The test `linux` of `aqmlab-tcp` holds ours to the recordings.

"""


def page(compared: Sequence[Compared]) -> str:
    """Return the page."""
    equal = sum(one.first is None for one in compared)
    lines = [
        HEAD + f"**{equal} of {len(compared)} sequences are equal.** In the table: equal, with the largest difference,",
        "or the first segment that differs. Segments: those that Linux sends, again included.\n",
        f"| script | {' | '.join(TITLES)} | segments |",
        f"|---|{'---|' * len(TITLES)}--:|",
    ]
    by_key = {(one.name, one.law): one for one in compared}
    for script in scripts():
        rows = [by_key[script["name"], law] for law in LAWS]
        cells = " | ".join(_cell(one) for one in rows)
        lines.append(f"| {script['name']} | {cells} | {len(rows[0].theirs)} |")
    differing = [one for one in compared if one.first is not None]
    if differing:
        lines += ["", "## What differs", ""]
        for entry in explained():
            its = [by_key[entry["name"], law] for law in entry["laws"]]
            lines += [f"- **{entry['name']}** ({', '.join(entry['laws'])}), `{entry['function']}`: {entry['why']}"]
            lines += [f"    - {one.law}: {_difference(one)}" for one in its]
    return "\n".join(lines) + "\n"


def _cell(one: Compared) -> str:
    return f"equal, {one.worst / 1e3:.2f} ms" if one.first is None else f"the {one.first + 1}th"


def _difference(one: Compared) -> str:
    first = one.first or 0

    def told(sent: Sequence[tuple[int, float]]) -> str:
        return f"segment {sent[first][0]} at {sent[first][1] / 1e3:.1f} ms" if first < len(sent) else "nothing more"

    return f"Linux sends {told(one.theirs)}, ours {told(one.ours)}"


def main() -> None:
    """Record if asked to, replay, and write the page."""
    if sys.argv[1:] == ["record"]:
        record()
    compared = compare()
    PAGE.write_text(page(compared), encoding="utf-8")
    print(f"{sum(one.first is None for one in compared)} of {len(compared)} sequences are equal")
    for one in compared:
        if one.first is not None:
            print(f"{one.name}, {one.law}: {_difference(one)}")


if __name__ == "__main__":
    main()
