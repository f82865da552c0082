"""The files that a page may save of a session; a report needs Python, and runs of other sessions are waited for."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from aqmlab import extras
from aqmlab._core import Interrupted, Scenario, StudioExport, Watch
from aqmlab.problems import InputError
from aqmlab.runs import simulate
from aqmlab.studio.turns import RUNS

File = tuple[str, str, str]
"""Name, media type and content."""


@contextmanager
def _running() -> Iterator[None]:
    """Run a scenario again; InputError while too many others do."""
    if not RUNS.acquire(blocking=False):
        raise InputError("export", "other sessions have runs for their exports under way; try again in a while")
    try:
        yield
    finally:
        RUNS.release()


def file(asked: StudioExport, watch: Watch) -> File:
    """Return a file that needs no Python."""
    if not asked.runs:
        return asked.file(watch)
    with _running():
        return asked.file(watch)


def report(asked: StudioExport, watch: Watch) -> File:
    """Return the report on a comparison of the lanes in the whole scenario."""
    from aqmlab.present.reports import comparison as page

    name, seed, given, toml = asked.recording
    if not asked.is_one:
        raise InputError(
            "report", "the lanes were changed in different ways; a report compares schemes in one scenario"
        )
    aqms = [aqm for aqm in given if aqm is not None]
    if len(aqms) < len(given):
        raise InputError("report", "it compares schemes; name the scheme of each lane")
    if seed != 1:
        raise InputError("report", f"a comparison begins with seed 1, and this is seed {seed}")
    extras.check("jinja2")

    def go_on(_done: float, _of: int) -> None:
        if watch.is_cancelled():
            raise Interrupted

    with _running():
        compared = simulate.compare(Scenario.parse(toml, name), aqms, 1, progress=go_on)
    line = shlex.join(["aqmlab", "compare", f"{name}.toml", "--aqms", ",".join(aqms), "--seeds", "1"])
    left = page.files([compared], line)["report.html"]
    return f"{name}.html", "text/html", left if isinstance(left, str) else left.decode()


KINDS: Mapping[str, Callable[[StudioExport, Watch], File]] = {
    **dict.fromkeys(("toml", "command", "json", "csv"), file),
    "report": report,
}
"""The possible exports, by name."""
