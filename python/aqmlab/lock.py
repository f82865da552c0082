"""A folder that one process at a time may write to.

The package `filelock` empties the file before it holds the lock, and so loses what the holder wrote there.
"""

import errno
import json
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from aqmlab import untrusted
from aqmlab.problems import InputError

LOCK = ".lock"
LARGEST = 10_000
"""Bytes that are read of the holder's text."""
BEYOND = 1 << 30
"""The byte that is locked on Windows, where a lock is on bytes."""


@contextmanager
def held(folder: Path, field: str, others: str) -> Iterator[None]:
    """Hold the lock of an existing folder; InputError about `field`, which says who holds it, if another process does.

    `others` are those who may hold it, such as "another sweep or tune".

    The lock is the system's on the file .lock, so it ends with its process, however the process ends; what the
    file says is only for people. OSError if the file cannot be made, or the file system does not support locks.
    """
    with open(folder / LOCK, "a+", encoding="utf-8", opener=_opener) as file:
        try:
            _take(file)
        except BlockingIOError:
            raise InputError(
                field,
                f"{folder}: {others} is at work in it ({_holder(folder)}); wait for its end, or choose another folder",
            ) from None
        _write(file.fileno(), {"pid": os.getpid(), "host": socket.gethostname(), "since": time_now()})
        try:
            yield
        finally:
            _write(file.fileno(), None)


def _opener(path: str, flags: int) -> int:
    """Open a file of a folder that somebody else may have made: no link, and without waiting for a pipe."""
    handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return handle


def _take(file: TextIO) -> None:
    """Take the lock of an open file until it is closed; BlockingIOError if another process has it."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(BEYOND)  # a lock there keeps nobody from reading what the file says
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as why:
            raise BlockingIOError from why
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _write(file: int, holder: object) -> None:
    """Say who holds the lock; a full disk is not a reason not to hold it."""
    os.ftruncate(file, 0)
    if holder:
        with suppress(OSError):
            os.write(file, json.dumps(holder).encode())


def _holder(folder: Path) -> str:
    with suppress(OSError, ValueError, LookupError, TypeError):
        holder = untrusted.parse_json(untrusted.read(folder / LOCK, LARGEST, within=folder))
        return f"process {holder['pid']} on {holder['host']}, since {holder['since']}"
    return "it has not said which"


def time_now() -> str:
    """Return the time in the format of files, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
