"""Files from somebody else: regular ones, within limits, inside the folder that was named; others are refused."""

import errno
import os
import subprocess

from aqmlab.problems import in_words
from conftest import COMMAND

LIMIT = 120
"""Seconds after which a command has hung; no measure of speed."""


def test_errors_of_the_system_are_words() -> None:
    assert in_words(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a")) == "a: No space left on device"
    assert in_words(OSError(errno.EACCES, os.strerror(errno.EACCES))) == "Permission denied"
    assert in_words(OSError("a: Permission denied (os error 13)")) == "a: Permission denied"
    with open("/dev/full", "wb") as full:
        answer = subprocess.run(
            [COMMAND, "show", "li2014/table-1"], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT, check=False
        )
    assert (answer.returncode, answer.stderr) == (1, b"Error: standard output: No space left on device\n")
