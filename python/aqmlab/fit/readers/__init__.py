"""Readers of measurement files. The content decides which reader reads a file, not its name."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aqmlab import untrusted
from aqmlab.fit.measurement import Measurement
from aqmlab.fit.readers import iperf3, ping
from aqmlab.problems import InputError

HEAD = 4096
"""Bytes at the start of a file in which a reader recognizes its format."""


@dataclass(frozen=True)
class Reader:
    """A format: `sniff` recognizes it by the first HEAD bytes, `read` reads a file of at most `most` bytes.

    `read` gets path, content and digest. It raises InputError, whose message states what was expected, for a damaged
    file.
    """

    name: str
    sniff: Callable[[bytes], bool]
    read: Callable[[Path, bytes, str], Measurement]
    most: int


READERS = (
    Reader("iperf3 -J", iperf3.sniff, iperf3.read, untrusted.LARGEST_JSON),
    Reader("ping", ping.sniff, ping.read, 256 * untrusted.MIB),
)
"""All formats; the first that recognizes a file reads it."""


def read(path: Path) -> Measurement:
    """Return the measurement in a file. InputError for any other file, FileNotFoundError if there is none."""
    most = max(reader.most for reader in READERS)
    with untrusted.opened(path, most, expected=f"a file of {formats()}") as file:
        head = file.read(HEAD)
        reader = next((each for each in READERS if each.sniff(head)), None)
        if reader is None:
            raise InputError("file", f"{path}: {'is empty' if not head else 'unknown format'}; expected {formats()}")
        file.seek(0)
        content = untrusted.read_stream(file, reader.most, str(path))
    return reader.read(path, content, hashlib.sha256(content).hexdigest())


def formats() -> str:
    """Return the names of all formats, as a message lists them."""
    *names, last = (reader.name for reader in READERS)
    return f"{', '.join(names)} or {last}"
