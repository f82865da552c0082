"""Reader of flent's data files (`.flent`, `.flent.gz`), of all tests with pings or with transfers over TCP or UDP.

Format: flent's documentation, "The data file format"; versions 2 to 4. Versions with `raw_values` are read from these.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from aqmlab.fit.measurement import Counters, DelayRecord, FlowRecord, Intervals, LinkDirection, Measurement, Series
from aqmlab.fit.readers import document

_EXPECTED = "a data file of flent with pings or transfers"
_KEYS = (b'"x_values"', b'"raw_values"', b'"SERIES_META"', b'"FLENT_VERSION"', b'"BATCH_NAME"', b'"DATA_FILENAME"')
_COMPUTED = re.compile(r" (avg|sum|mean|totals?|fairness|jain)\b|totals$|::", re.I)
"""Series that flent computes from others, or takes out of them."""
_CODE_POINTS = {"BK": 8, "CS1": 8, "BE": 0, "CS5": 40, "EF": 46, "CS6": 48}
_SEGMENT = 1448
"""Payload of a segment if the file does not state it, bytes; only the unit of congestion windows."""
_MOST_SERIES = 2000


def sniff(head: bytes) -> bool:
    """Return whether this is the start of a data file."""
    return head.lstrip()[:1] == b"{" and any(key in head for key in _KEYS)


def read(path: Path, content: bytes, digest: str) -> Measurement:
    """Return the pings, transfers and counters of queue disciplines in a data file."""
    return document.documents(path, _EXPECTED, lambda: _measurement(document.parsed(content), path, digest))


def _measurement(data: Any, path: Path, digest: str) -> Measurement:
    meta, raw = data["metadata"], _rows(data)
    if len(raw) > _MOST_SERIES:
        raise ValueError(f"{len(raw):,} series; at most {_MOST_SERIES:,}")
    times = [_began(row) for rows in raw.values() for row in rows if row.get("t") is not None]
    if not times:
        raise ValueError("no series has values")
    origin = min(times)
    found = [part for name, rows in raw.items() for part in _parts(name, rows, origin, meta)]
    delays = tuple(part for part in found if isinstance(part, DelayRecord))
    flows = tuple(part for part in found if isinstance(part, FlowRecord))
    if not delays and not flows:
        raise ValueError("no series of pings or transfers has values")
    is_clock = origin > 1e8  # else without raw values, whose times are seconds since the start
    stated = (key for key in ("NAME", "TITLE", "LENGTH", "FLENT_VERSION") if meta.get(key))
    return Measurement(
        str(path),
        digest,
        "flent",
        epoch=origin if is_clock else _start(meta, origin),
        delays=delays,
        flows=flows,
        counters=tuple(part for part in found if isinstance(part, Counters)),
        facts={key.lower(): document.text(meta[key]) for key in stated},
        unused=tuple(part for part in found if isinstance(part, str)),
    )


def _parts(
    name: str, rows: Sequence[Mapping[str, Any]], origin: float, meta: Mapping[str, Any]
) -> Iterator[DelayRecord | FlowRecord | Counters | str]:
    """Yield the content of a series; its name if it is not used."""
    about = (meta.get("SERIES_META") or {}).get(name) or {}
    if name.startswith("qdisc_stats_"):
        yield from _counters(name, rows, origin)
    elif len(rows) < 2 or (_COMPUTED.search(name) and not _is_numbered(name)):
        if rows:
            yield document.text(name)
    elif name.startswith("Ping"):
        yield from _pings(name, rows, origin)
    elif direction := _direction(name, about):
        yield _flow(name, direction, rows, about, origin, meta)
    else:
        yield document.text(name)


def _rows(data: Mapping[str, Any]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the values of each series: as the tools stated them, or else flent's own at its steps."""
    raw = {str(name): rows for name, rows in (data.get("raw_values") or {}).items() if rows}
    if raw:
        return raw
    times = [float(x) for x in data["x_values"]]
    step = float(data["metadata"].get("STEP_SIZE") or 0.2)
    return {
        str(name): [
            {"t": t, "val": v, "dur": step, "ms": True} for t, v in zip(times, values, strict=True) if v is not None
        ]
        for name, values in data["results"].items()
    }


def _began(row: Mapping[str, Any]) -> float:
    """Return when the interval of a row began, or when its probe was sent."""
    length = float(row.get("dur") or 0)
    return float(row["t"]) - (length or (float(row.get("val") or 0) / 1e3 if "seq" in row else 0))


def _start(meta: Mapping[str, Any], origin: float) -> float | None:
    stated = meta.get("T0") or meta.get("TIME")
    return datetime.fromisoformat(stated).timestamp() + origin if stated else None


def _is_numbered(name: str) -> bool:
    """Return whether this is one of several flows of a test, such as `TCP upload::3`."""
    return re.search(r"^(TCP|UDP) (up|down)load::\d{1,6}$", name) is not None


def _direction(name: str, about: Mapping[str, Any]) -> LinkDirection | None:
    """Return the direction of a transfer, None for a series that is none."""
    command = str(about.get("COMMAND", ""))
    if not re.match(r"(TCP|UDP)\b", name):
        return None
    for word, kind, direction in (("upload", "_STREAM", LinkDirection.up), ("download", "_MAERTS", LinkDirection.down)):
        if word in name.lower() or (kind in command and "load" not in name.lower()):
            return direction
    return None


def _pings(name: str, rows: Sequence[Mapping[str, Any]], origin: float) -> Iterator[DelayRecord]:
    """Yield round-trip times, of irtt also one-way delays; of netperf's UDP_RR means over each interval."""
    import numpy as np

    answered = [row for row in rows if row.get("t") is not None and row.get("val") is not None]
    time, value = document.numbers(answered, "t") - origin, document.numbers(answered, "val")
    is_rate = any("dur" in row and "ms" not in row for row in answered)  # transactions per s
    length = document.numbers(answered, "dur")
    with np.errstate(divide="ignore", invalid="ignore"):
        delay = np.where(value * length >= 1, 1 / value, np.nan) if is_rate else value / 1e3
    sent = time - (length if is_rate else delay)
    valid = np.isfinite(sent) & np.isfinite(delay)
    if valid.sum() < 2:
        return
    number = document.numbers(answered, "seq")[valid]
    words = name.replace("(ms)", "").split()
    code = next(
        (_CODE_POINTS[word.rstrip("0123456789")] for word in words if word.rstrip("0123456789") in _CODE_POINTS), None
    )
    for key, direction in (("", None), ("owd_up", LinkDirection.up), ("owd_down", LinkDirection.down)):
        found = document.numbers(answered, key)[valid] / 1e3 if key else delay[valid]
        if np.isnan(found).all():
            continue
        if np.isfinite(number).all():
            times, values = document.probes(number, sent[valid], found)
        else:
            order = np.argsort(sent[valid], kind="stable")
            times, values = sent[valid][order], found[order]
        yield DelayRecord(f"{name} {key}".strip(), times, values, direction, dscp=code, is_mean=is_rate)


def _flow(
    name: str,
    direction: LinkDirection,
    rows: Sequence[Mapping[str, Any]],
    about: Mapping[str, Any],
    origin: float,
    meta: Mapping[str, Any],
) -> FlowRecord:
    """Return a transfer; netperf counts an upload at the sender and a download at the receiver."""
    import numpy as np

    counted = sorted((row for row in rows if row.get("val") is not None), key=lambda row: float(row["t"]))
    end, value = document.numbers(counted, "t") - origin, document.numbers(counted, "val") * 1e6
    start = end - np.nan_to_num(document.numbers(counted, "dur"), nan=float(meta.get("STEP_SIZE") or 0.2))
    segment = int(float(about.get("TCP_MSS") or 0)) or None
    controller = about.get("CONG_CONTROL") or (meta.get("TEST_PARAMETERS") or {}).get("tcp_cong_control")
    is_tcp = name.startswith("TCP")
    valid = (end > start) & np.isfinite(value)
    return FlowRecord(
        document.text(name),
        direction,
        "tcp" if is_tcp else "udp",
        Intervals(start[valid], end[valid], value[valid]),
        at="sender" if direction is LinkDirection.up else "receiver",
        controller=document.text(controller) if is_tcp and controller else None,
        srtt=_series(rows, "tcp_rtt", 1e-3, origin),
        cwnd=_series(rows, "tcp_cwnd", segment or _SEGMENT, origin),
        segment=segment,
    )


def _series(rows: Sequence[Mapping[str, Any]], key: str, unit: float, origin: float) -> Series | None:
    stated = sorted((row for row in rows if row.get(key) is not None), key=lambda row: float(row["t"]))
    return Series(document.numbers(stated, "t") - origin, document.numbers(stated, key) * unit) if stated else None


def _counters(name: str, rows: Sequence[Mapping[str, Any]], origin: float) -> Iterator[Counters]:
    """Yield the readings of a host's queue disciplines, whose kinds flent does not state."""
    device = document.text(name.removeprefix("qdisc_stats_"))
    keys = ("sent_bytes", "sent_pkts", "dropped", "ecn_mark", "backlog_bytes", "backlog_pkts")
    for row in rows:
        sent, packets, dropped, marked, backlog, waiting = (int(float(row.get(key) or 0)) for key in keys)
        yield Counters(float(row["t"]) - origin, device, "", "", sent, packets, dropped, marked, backlog, waiting)
