"""Findings on the kernel that is built: is there one, does it boot."""

from collections.abc import Iterator

from aqmlab.doctor.finding import Finding
from aqmlab.kernel import boot, images
from aqmlab.kernel.images import Image
from aqmlab.problems import InputError
from aqmlab.runs.virtual import PROGRAMS

BUILD = "aqmlab kernel build"


def kernels() -> Iterator[Finding]:
    """Yield what was found of the newest kernel; no other command needs one."""
    try:
        image = images.newest()
    except InputError:
        yield Finding("Kernel", False, "not built", BUILD, is_needed=False)
        return
    lacks = image.lacks()
    name = f"Linux {image.version} ({image.digest[: images.SHOWN]}), built {image.built}"
    found = f"{name}, without {', '.join(lacks)}" if lacks else name
    yield Finding("Kernel", not lacks, found, BUILD, is_needed=False)
    tried = boot.try_out(image)
    yield Finding("Kernel boots", tried.is_up, "yes" if tried.is_up else tried.said, BUILD, is_needed=False)
    if tried.is_up:
        yield _seccomp(tried.has_seccomp)
        yield _programs(image)


def _programs(image: Image) -> Finding:
    lacks = images.lacking(image.config, PROGRAMS)
    found = f"need a kernel with {', '.join(lacks)}" if lacks else "aqmlab live --virtual runs them"
    return Finding("Programs in virtual time", not lacks, found, BUILD if lacks else "", is_needed=False)


def _seccomp(is_there: bool) -> Finding:
    mend = "in a container: docker run --security-opt seccomp=unconfined ..."
    found = "available" if is_there else "not available: system calls in the kernel take two to three times as long"
    return Finding("Kernel with seccomp", is_there, found, mend, is_needed=False)
