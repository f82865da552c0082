"""The programs that a build runs, one after another: what they say goes to a log, and none outlives the build."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from aqmlab.names import plain

KEPT = ("PATH", "HOME", "TMPDIR", "APT_CONFIG", "http_proxy", "https_proxy", "no_proxy")
"""The user's settings that the programs see: ARCH, KBUILD_OUTPUT or MAKEFLAGS would change what is built, and where."""

SHOWN = 5
"""Lines of the log that a failure shows."""

_FAULT = re.compile(r"\berror\b|\*\*\*|^E: |No space left|Killed|cannot|undefined reference", re.IGNORECASE)


class Steps:
    """Programs that write to one log."""

    def __init__(self, log: Path) -> None:
        self.log = log
        log.write_text("")

    def run(
        self,
        command: Sequence[str | Path],
        cwd: Path,
        settings: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Run a program to its end and hand on each line it prints.

        ChildProcessError, with the lines that say why, if it fails. If anything else is raised meanwhile, such as
        KeyboardInterrupt, the program and all that it started are ended first.
        """
        inherited = {name: os.environ[name] for name in KEPT if name in os.environ}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(map(str, command))}\n")
            start = log.tell()
            with subprocess.Popen(
                command,
                cwd=cwd,
                env=inherited | {"LC_ALL": "C"} | dict(settings or {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # a group of its own, which can be ended as a whole
            ) as program:
                try:
                    for line in program.stdout or ():
                        log.write(line)
                        on_line(line)
                    code = program.wait()
                finally:
                    end(program)
        if code:
            raise ChildProcessError(self._failure(command, code, start))

    def _failure(self, command: Sequence[str | Path], code: int, start: int) -> str:
        """Return the lines of the log that say why a program failed; the last ones if none seems to."""
        with self.log.open(encoding="utf-8") as log:
            log.seek(start)
            lines = [line.rstrip() for line in log if line.strip()]
        shown = [line for line in lines if _FAULT.search(line)][:SHOWN] or lines[-SHOWN:]
        end = f"ended with {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
        return plain(
            "\n".join([f"{Path(command[0]).name} {end}; the log is {self.log}", *(f"  {each}" for each in shown)])
        )


def end(program: "subprocess.Popen[str]") -> None:
    """End a program that leads a group, and all of its group."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGTERM)
    try:
        program.wait(5)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
