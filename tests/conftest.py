"""What the tests share: the installed command, and a scenario that takes no time."""

import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = Path(sysconfig.get_path("scripts")) / "aqmlab"
SMALL = Path(__file__).parent / "small.toml"

Aqmlab = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def small() -> str:
    return str(SMALL)


@pytest.fixture
def aqmlab(tmp_path: Path) -> Aqmlab:
    """Run the installed command as a user does, in an empty folder."""

    def call(*args: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(COMMAND), *map(str, args)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=tmp_path,
            check=False,
        )

    return call
