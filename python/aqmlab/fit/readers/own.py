"""Readers of aqmlab's files: `result.json` with `series.csv` (`run --out`), tables of packets (`run --trace`)."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from aqmlab import untrusted
from aqmlab.fit.measurement import DelayRecord, Direction, Measurement, PacketLog
from aqmlab.fit.readers import document
from aqmlab.problems import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_RESULT = "result.json beside series.csv, as aqmlab run --out writes them"
_TABLE = "a table of packets, as aqmlab run --trace writes it"
_LARGEST_SERIES = 64 * untrusted.MIB
MOST_EVENTS = 4_000_000
"""Events of packets in a table."""
_HEADER = 40
"""Bytes of IP and TCP in a packet's size, unless a scenario says otherwise."""
_CODES = ("not-ect", "ect1", "ect0", "ce")
_COLUMNS = ("time", "event", "flow", "kind", "size", "seq", "ecn", "sojourn")


def sniff_result(head: bytes) -> bool:
    """Return whether this is the start of a result."""
    return head.lstrip()[:1] == b"{" and all(key in head for key in (b'"schema"', b'"scenario"', b'"aqm"'))


def sniff_table(head: bytes) -> bool:
    """Return whether this is the start of a Parquet file."""
    return head[:4] == b"PAR1"


def read_result(path: Path, content: bytes, digest: str) -> Measurement:
    """Return the queueing delay of each link over time; rates are facts."""
    return document.documents(path, _RESULT, lambda: _result(document.parsed(content), path, digest))


def _result(data: Mapping[str, Any], path: Path, digest: str) -> Measurement:
    import pyarrow as pa
    from pyarrow import csv

    try:
        text = untrusted.read(path.with_name("series.csv"), _LARGEST_SERIES, within=path.parent, expected=_RESULT)
        series = csv.read_csv(io.BytesIO(text))
    except FileNotFoundError:
        raise InputError("file", f"{path}: has no series.csv beside it; expected {_RESULT}") from None
    except pa.ArrowException as error:
        raise InputError("file", f"{path.with_name('series.csv')}: is damaged ({error}); expected {_RESULT}") from None
    time = _floats(series, "time")
    names = [name.removesuffix(".sojourn") for name in series.column_names if name.endswith(".sojourn")]
    delays = (
        DelayRecord(f"queue of {name}", time, _floats(series, f"{name}.sojourn"), _direction(name)) for name in names
    )
    links = {str(name): link for name, link in data["links"].items()}
    facts = {f"capacity of {name}": f"{float(link['capacity']):.6g} bit/s" for name, link in links.items()}
    facts |= {f"goodput of {name}": f"{float(flow['goodput']):.6g} bit/s" for name, flow in data["flows"].items()}
    facts = {"scenario": document.text(data["scenario"]), "scheme": document.text(data["aqm"]), **facts}
    unused = ("means and quantiles of the whole run", "queue lengths, utilisation, observables")
    return Measurement(
        str(path), digest, "aqmlab", clock="simulation", delays=tuple(delays), facts=facts, unused=unused
    )


def _direction(link: str) -> Direction:
    """Return the direction that a link's name states; up for others."""
    return Direction.down if link.startswith("down") else Direction.up


def _floats(table: "pa.Table", name: str) -> Any:
    """Return a column as numbers; NaN for an empty value."""
    import numpy as np

    return np.asarray(table.column(name).to_numpy(), dtype=float)


def read_table(path: Path, _: BinaryIO, digest: str) -> Measurement:
    """Return the packets that arrived at a link's queue: `sent` is when they joined it, `arrived` when they left."""
    import pyarrow as pa

    try:
        table = untrusted.read_parquet(path, rows=MOST_EVENTS, columns=_COLUMNS)
    except pa.ArrowException as error:
        raise InputError("file", f"{path}: is damaged ({error}); expected {_TABLE}") from None
    if missing := [name for name in _COLUMNS if name not in table.column_names]:
        raise InputError("file", f"{path}: has no column {missing[0]}; expected {_TABLE}")
    log = document.documents(path, _TABLE, lambda: _log(table))
    facts = {"link": "the table does not name it; read as the uplink"}
    return Measurement(str(path), digest, "aqmlab", clock="simulation", packets=(log,), facts=facts)


def _log(table: "pa.Table") -> PacketLog:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    event = table.column("event").cast("string").to_numpy()
    rows = np.flatnonzero((event == "dequeue") | (event == "drop"))
    if not len(rows):
        raise ValueError("no packet left the queue")
    time, sojourn = _floats(table, "time")[rows], np.nan_to_num(_floats(table, "sojourn")[rows])
    flow = np.asarray(table.column("flow").to_numpy())[rows]
    is_ack = (table.column("kind").cast("string").to_numpy() == "ack")[rows]
    size = np.asarray(table.column("size").to_numpy(), dtype=np.int64)[rows]
    payload = np.where(is_ack, 0, np.maximum(size - _HEADER, 0))
    segment = int(np.median(payload[~is_ack])) if not is_ack.all() else 0
    code = pc.index_in(table.column("ecn").cast("string"), value_set=pa.array(_CODES)).fill_null(0).to_numpy()[rows]
    ecn = np.where(np.append(event, "")[rows + 1] == "mark", _CODES.index("ce"), code)
    numbers, number = np.unique(flow, return_inverse=True)
    return PacketLog(
        Direction.up,
        time - sojourn,
        np.where(event[rows] == "dequeue", time, np.nan),
        size,
        number,
        np.asarray(table.column("seq").to_numpy(), dtype=np.int64)[rows] * segment,
        payload,
        ecn.astype(np.int64),
        is_ack,
        tuple(f"flow {each}" for each in numbers),
    )
