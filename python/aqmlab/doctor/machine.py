"""The state of this machine: packages, speed, kernel, live runs, and the command that installs missing parts."""

import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

from aqmlab import extras
from aqmlab.doctor.finding import Finding
from aqmlab.doctor.kernels import kernels
from aqmlab.runs import simulate
from aqmlab.runs.live import EmulatedLine, live
from aqmlab.runs.namespaces import refusal, setting

REFERENCE = 6.7e6
"""Packets per second of PI in li2014/table-1 on the machine of docs/benchmarks.md, one core of an AMD EPYC."""


def findings() -> list[Finding]:
    """Return what was found: packages, speed, kernel, and what live runs need, in the order in which they need it."""
    return [*_extras(), _speed(), *kernels(), *_live()]


def _extras() -> Iterator[Finding]:
    absent = extras.absent()
    for extra, names in extras.extras().items():
        found = f"not installed: {', '.join(absent[extra])}" if extra in absent else ", ".join(names)
        yield Finding(f"Extra {extra}", extra not in absent, found, extras.install(extra), is_needed=False)


def _speed() -> Finding:
    """The best of three runs, because other work on the machine can only add time."""
    runs = [simulate.run("li2014/table-1", "pi", threads=1) for _ in range(3)]
    speed = max(run.links["bottleneck"].departed / run.engine.wall for run in runs)
    times = f"{speed / REFERENCE:.2g} times that of docs/benchmarks.md"
    found = f"{speed / 1e6:.2g} million packets/s on one core, {times}"
    return Finding("Speed", speed > REFERENCE / 4, found, "is another program busy, or the build a debug one?", False)


def _live() -> Iterator[Finding]:
    yield _kernel()
    if platform.system() != "Linux":
        return
    yield _namespaces()
    yield _device()
    yield _run()
    yield _priority()
    yield _laws()
    yield _programs()


def _kernel() -> Finding:
    system, release = platform.system(), platform.release()
    return Finding("Linux", system == "Linux", f"{system} {release}", "live runs need Linux")


def _namespaces() -> Finding:
    found, mend = refusal() or ("allowed", "")
    return Finding("User namespaces", not mend, found, mend)


def _device() -> Finding:
    path, name = Path("/dev/net/tun"), "/dev/net/tun"
    if not path.exists():
        mend = "sudo modprobe tun; in a container: docker run --device /dev/net/tun ..."
        return Finding(name, False, "is not there", mend)
    if not os.access(path, os.R_OK | os.W_OK):
        return Finding(name, False, "may not be opened", "sudo chmod 666 /dev/net/tun")
    return Finding(name, True, "can be opened")


def _run() -> Finding:
    try:
        done = live(EmulatedLine(up="1 Gbit/s", down="1 Gbit/s").scenario(), ["true"])
    except OSError as error:
        mend = "in a container: docker run --security-opt seccomp=unconfined --device /dev/net/tun ..."
        return Finding("A live run", False, str(error), mend)
    return Finding("A live run", done.code == 0, "works" if done.code == 0 else f"ends with {done.code}")


def _priority() -> Finding:
    import resource

    allowed = os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0
    found = "the threads that carry packets come before all others" if allowed else "packets wait for busy programs"
    mend = "echo '@users - rtprio 1' | sudo tee /etc/security/limits.d/aqmlab.conf, and log in again"
    return Finding("Real-time priority", allowed, found, "" if allowed else mend, is_needed=False)


def _laws() -> Finding:
    available = (setting("net/ipv4/tcp_available_congestion_control") or "").split()
    allowed = (setting("net/ipv4/tcp_allowed_congestion_control") or "").split()
    missing = [law for law in available if law not in allowed]
    mend = f'sudo sysctl -w net.ipv4.tcp_allowed_congestion_control="{" ".join(available)}"'
    found = f"--tcp may be {', '.join(allowed)}" + (f"; not {', '.join(missing)}" if missing else "")
    return Finding("TCP's laws", not missing, found, mend if missing else "", is_needed=False)


def _programs() -> Finding:
    wanted = {"iperf3": "iperf3", "ping": "iputils-ping", "pasta": "passt"}
    missing = [package for program, package in wanted.items() if not shutil.which(program)]
    found = f"{', '.join(wanted)} are installed" if not missing else f"not installed: {', '.join(missing)}"
    mend = f"sudo apt install {' '.join(missing)}" if missing else ""
    return Finding("Programs that help", not missing, found, mend, is_needed=False)
