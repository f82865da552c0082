"""Readers of measurement files. The content decides which reader reads a file, not its name."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from aqmlab import untrusted
from aqmlab.fit.measurement import Measurement
from aqmlab.fit.readers import capture, flent, iperf3, irtt, own, packed, ping, tc
from aqmlab.problems import InputError

HEAD = 4096
"""Bytes at the start of a file in which a reader recognizes its format."""


@dataclass(frozen=True)
class Reader:
    """A format: `sniff` recognizes it by the first HEAD bytes, `read` reads a file of at most `most` bytes.

    `read` gets path, content and digest. It raises InputError, whose message states what was expected, for a damaged
    file. `stream` reads instead of it files that are too large for memory; it gets the open file for the content.
    """

    name: str
    sniff: Callable[[bytes], bool]
    read: Callable[[Path, bytes, str], Measurement] | None
    most: int
    stream: Callable[[Path, BinaryIO, str], Measurement] | None = None


READERS = (
    Reader("iperf3 -J", iperf3.sniff, iperf3.read, untrusted.LARGEST_JSON),
    Reader("ping", ping.sniff, ping.read, 256 * untrusted.MIB),
    Reader("flent", flent.sniff, flent.read, untrusted.LARGEST_JSON),
    Reader("pcap, pcapng", capture.sniff, None, capture.MOST, capture.read),
    Reader("tc -s -j", tc.sniff, tc.read, untrusted.LARGEST_JSON),
    Reader("irtt", irtt.sniff, irtt.read, untrusted.LARGEST_JSON),
    Reader("aqmlab run --out", own.sniff_result, own.read_result, untrusted.LARGEST_JSON),
    Reader("aqmlab run --trace", own.sniff_table, None, untrusted.LARGEST_PARQUET, own.read_table),
)
"""All formats; the first that recognizes a file reads it."""


def read(path: Path) -> Measurement:
    """Return the measurement in a file, which gzip may have packed.

    InputError for any other file, FileNotFoundError if there is none.
    """
    most = max(reader.most for reader in READERS)
    with untrusted.opened(path, most, expected=f"a file of {formats()}") as file:
        head = packed.unpacked(file, str(path)).read(HEAD)
        reader = next((each for each in READERS if each.sniff(head)), None)
        if reader is None:
            raise InputError("file", f"{path}: {'is empty' if not head else 'unknown format'}; expected {formats()}")
        file.seek(0)
        digest = hashlib.file_digest(cast(BufferedReader, file), "sha256").hexdigest()
        content = packed.unpacked(file, str(path))
        if reader.stream:
            return reader.stream(path, content, digest)
        assert reader.read
        return reader.read(path, untrusted.read_stream(content, reader.most, str(path)), digest)


def formats() -> str:
    """Return the names of all formats, as a message lists them."""
    *names, last = (reader.name for reader in READERS)
    return f"{', '.join(names)} or {last}"
