"""Traces of packets at a link as files: a capture for Wireshark, a table in Parquet."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aqmlab import files
from aqmlab._core import Scenario, Trace
from aqmlab.names import unknown
from aqmlab.problems import InputError

if TYPE_CHECKING:
    import pyarrow as pa


HIDDEN = "Linux does not show what happens to packets in its queues"


@dataclass(frozen=True)
class Capture:
    """The packets that left a link of Linux, as a capture file (pcapng)."""

    content: bytes

    def __repr__(self) -> str:
        return f"<Capture: {len(self.content):,} bytes>"

    def write_pcap(self, path: str) -> None:
        """Write it."""
        Path(path).write_bytes(self.content)


@dataclass(frozen=True)
class Files:
    """The files asked for on the command line."""

    pcap: Path | None
    trace: Path | None

    def link(self, scenario: Scenario, name: str | None, *, hidden: bool = False) -> str | None:
        """Return the link to trace, the first by default; None if no file is asked for.

        Raises InputError, also for a table whose values are `hidden` on Linux.
        """
        if self.trace and hidden:
            raise InputError("trace", f"{self.trace}: {HIDDEN}; --pcap has those that left")
        if not self.pcap and not self.trace:
            if name is not None:
                raise InputError("link", f"{name}: chooses the link of --pcap or --trace, and neither is given")
            return None
        if self.pcap and self.trace and files.resolved(self.pcap) == files.resolved(self.trace):
            raise InputError("trace", f"{self.trace}: is also the file of --pcap; choose another name")
        for option, path in (("pcap", self.pcap), ("trace", self.trace)):
            if path:
                files.check_file(option, path)
        if name is not None and name not in scenario.links:
            raise unknown("link", "no link", name, scenario.links)
        return name or scenario.links[0]

    def write(self, trace: Trace | Capture | None) -> list[Path]:
        """Write them, and return those that there are."""
        if trace and self.pcap:
            write_pcap(trace, self.pcap)
        if trace and self.trace:
            write_parquet(trace, self.trace)
        return [path for path in (self.pcap, self.trace) if path]


def write_pcap(trace: Trace | Capture, path: Path) -> None:
    """Write the packets that left the link's queue as a capture (pcapng)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.whole(path) as part:
        trace.write_pcap(str(part))


def write_parquet(trace: Trace | Capture, path: Path) -> None:
    """Write what happened to each packet as a table in Parquet. InputError for a run on Linux, which hides it."""
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    with files.whole(path) as part, part.open("wb") as file:
        pq.write_table(table(trace), file)


def table(trace: Trace | Capture) -> "pa.Table":
    """Return the events of each packet, one per row, in order.

    Columns of an event: `time` (s), `event` (enqueue, dequeue, drop or mark), `reason` (null if there is none),
    `sojourn` (s; null of a packet that never joined), `queue` (packets waiting afterwards). Columns of its packet:
    `flow`, `group`, `transfer`, `kind` (data or ack), `size` (bytes on the wire), `seq` (segment; of an ACK the next
    expected), `ecn`.
    """
    import numpy as np
    import pyarrow as pa

    if isinstance(trace, Capture):
        raise InputError("trace", f"{HIDDEN}; write_pcap has those that left")
    columns, labels = trace.columns()
    arrays = {}
    for name, values in columns.items():
        if name in labels:
            codes = pa.array(values, mask=np.less(values, 0))
            arrays[name] = pa.DictionaryArray.from_arrays(codes, pa.array(labels[name], pa.string()))
        else:
            arrays[name] = pa.array(values, from_pandas=True)
    return pa.table(arrays)
