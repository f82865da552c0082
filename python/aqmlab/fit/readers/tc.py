"""Reader of `tc -s -j qdisc show`: one reading, or one per row of text, each after its time if it is stated."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from aqmlab.fit.measurement import Counters, Measurement
from aqmlab.fit.readers import document
from aqmlab.problems import InputError

_EXPECTED = "the output of tc -s -j qdisc show"
_MOST = 200_000
"""Disciplines in all readings of a file."""
_UNUSED = ("requeues", "overlimits", "flow counts", "memory limits", "delays that the discipline measured")


def sniff(head: bytes) -> bool:
    """Return whether this is the start of readings, or of a time that precedes one."""
    start = head.lstrip()
    return (start[:1] == b"[" or start[:10].isdigit()) and b'"kind"' in head and b'"handle"' in head


def read(path: Path, content: bytes, digest: str) -> Measurement:
    """Return the counters of every queue discipline in every reading."""
    found = document.documents(path, _EXPECTED, lambda: tuple(_counters(content)))
    if not any(each.sent_packets or each.dropped or each.backlog_packets for each in found):
        raise InputError("file", f"{path}: no discipline has sent a packet; expected {_EXPECTED} after a transfer (-s)")
    start = next((each.time for each in found if math.isfinite(each.time)), None)
    if start is not None:
        found = tuple(replace(each, time=each.time - start) for each in found)
    return Measurement(str(path), digest, "tc", epoch=start, counters=found, unused=_UNUSED)


def _counters(content: bytes) -> Iterator[Counters]:
    """Yield the counters of all readings. A number alone is the Unix time of the next reading."""
    time, count = math.nan, 0
    for reading in _readings(content):
        if not isinstance(reading, list):
            time = float(reading)
            continue
        for each in reading:
            count += 1
            if count > _MOST:
                raise ValueError(f"more than {_MOST:,} disciplines")
            if each:  # tc writes an empty object for a discipline that it does not know
                yield _discipline(each, time)
        time = math.nan


def _readings(content: bytes) -> Iterator[Any]:
    """Yield the documents of a file: all of it, or each of its lines."""
    try:
        whole = document.parsed(content)
    except ValueError:
        lines = [line for line in content.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        yield from map(document.parsed, lines)
    else:
        yield whole


def _discipline(found: Mapping[str, Any], time: float) -> Counters:
    tins = found.get("tins") or []
    marked = found.get("ecn_mark", found.get("marked", found.get("ecn_marked", 0)))
    return Counters(
        time,
        document.text(found.get("dev", "")),
        document.text(found["kind"]),
        document.text(found.get("handle", "")),
        int(found.get("bytes", 0)),
        int(found.get("packets", 0)),
        int(found.get("drops", 0)),
        int(marked) or sum(int(tin.get("ecn_mark", 0)) for tin in tins),
        int(found.get("backlog", 0)),
        int(found.get("qlen", 0)),
        dict(found.get("options") or {}),
    )
