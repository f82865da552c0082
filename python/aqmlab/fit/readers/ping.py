"""Reader of the output of ping (iputils), with or without the times of `-D`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab.fit.measurement import DelayRecord, Measurement
from aqmlab.problems import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_HEADER = re.compile(rb"^PING (\S{1,256})", re.M)
_ANSWER = re.compile(
    rb"^(?:\[(\d{1,12}\.\d{1,9})\] )?\d+ bytes from [^\n]{1,256}?icmp_seq=(\d{1,9}) [^\n]{0,64}?time=([\d.]{1,16}) ms",
    re.M,
)
_LOST = re.compile(rb"^(?:\[[\d.]{1,24}\] )?(?:no answer yet for|From [^\n]{1,256}?) icmp_seq=(\d{1,9})", re.M)
_SIZE = re.compile(rb"^PING [^\n]{1,256}? (\d{1,5})\((\d{1,5})\) bytes of data", re.M)
_SUMMARY = re.compile(rb"^(\d{1,9}) packets transmitted, [^\n]*? time (\d{1,12})ms", re.M)
_INTERVAL = 1.0
"""Default interval of ping, s."""


def sniff(head: bytes) -> bool:
    """Return whether this is the start of ping's output."""
    return _HEADER.search(head) is not None


def read(path: Path, content: bytes, digest: str) -> Measurement:
    """Return the round-trip times; a sequence number without an answer is a loss.

    ping does not print the ECN field that `-Q` sets: "ect1" in the name of the file states ECT(1). Without `-D`
    answers have no times: probes are then spaced evenly over the duration in ping's summary, or by 1 s.
    """
    import numpy as np

    found = [(float(at) if at else np.nan, int(seq), float(ms) / 1e3) for at, seq, ms in _ANSWER.findall(content)]
    if len({seq for _, seq, _ in found}) < 2:
        raise InputError("file", f"{path}: {len(found)} answers; expected the output of ping with at least 2")
    at, seq, rtt = (np.asarray(column) for column in zip(*found, strict=True))
    _, first = np.unique(seq, return_index=True)  # without duplicates
    at, seq, rtt = at[first], seq[first] + (seq.min() == 0), rtt[first]  # ping of BSD and macOS counts from 0
    summary = _SUMMARY.search(content)
    count = max(int(seq[-1]), int(summary[1]) if summary else 0, *(int(n) for n in _LOST.findall(content)), 0)
    if count > 50 * len(seq) + 1000:
        raise InputError(
            "file", f"{path}: sequence number {count:,} after {len(seq):,} answers; expected one per probe"
        )
    epoch: float | None = None
    if np.isnan(at).any():
        step = int(summary[2]) / 1e3 / max(1, int(summary[1]) - 1) if summary else _INTERVAL
        sent = np.arange(count, dtype=np.float64) * step
    else:
        sent = _all_sent(seq, at - rtt, count)
        epoch = float(sent[0])
        sent = np.maximum.accumulate(sent - epoch)
    delay = np.full(count, np.nan)
    delay[seq.astype(int) - 1] = rtt
    size = _SIZE.search(content)
    host = _HEADER.search(content)
    probes = DelayRecord(
        "ping", sent, delay, size=int(size[2]) if size else None, ecn=1 if "ect1" in path.stem.lower() else None
    )
    facts = {"host": host[1].decode("utf-8", "replace")} if host else {}
    return Measurement(str(path), digest, "ping", epoch=epoch, delays=(probes,), facts=facts)


def _all_sent(number: "Floats", sent: "Floats", count: int) -> "Floats":
    """Return when each of `count` probes was sent; those without an answer at the times between their neighbours."""
    import numpy as np

    every = np.arange(1, count + 1)
    found = np.interp(every, number, sent)
    step = float(np.median(np.diff(sent) / np.diff(number)))
    outside = np.maximum(every - number[-1], 0) + np.minimum(every - number[0], 0)
    return np.asarray(found + outside * step, dtype=np.float64)
