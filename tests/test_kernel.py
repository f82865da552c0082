"""`aqmlab kernel`: what is refused, built, kept and left, with a make and a compiler that only pretend."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from aqmlab.doctor.kernels import kernels
from aqmlab.kernel import additions, build, images, source
from aqmlab.problems import InputError
from conftest import COMMAND, Aqmlab, heed_interrupts

MAKE = """#!/bin/sh
case "$*" in
*olddefconfig*) grep -v "{drop}" .config > all; mv all .config ;;
*kernelversion*) echo 7.3.4 ;;
*)
  echo "  CC      net/sched/sch_pie.o"
  {compiling}
  cat Makefile arch/um/Kconfig arch/um/os-Linux/util.c arch/um/kernel/*.c arch/um/kernel/skas/*.c \\
    arch/um/os-Linux/skas/*.c fs/hostfs/*.c net/*/Makefile arch/um/kernel/Makefile > linux
  chmod +x linux
  ;;
esac
"""
"""A make that takes the configuration as it is, and whose kernel is the text of what was changed in the source."""

GETRANDOM = "ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)\n{\n"
PROCESS = """#include <sys/socket.h>
\tint ret;

\tif (using_seccomp) {
\t\tinit_data.signal_handler = 0;
\t\t\tcase SIGALRM:
\t\t\t\tbreak;
"""
STATFS = """\tsf->f_bfree = f_bfree;
\tsf->f_bavail = f_bavail;
\tsf->f_files = f_files;
\tsf->f_ffree = f_ffree;
"""
QDISC = b"static int init(void) { return register_qdisc(&ops); }\n"
LAW = b"static int init(void) { return tcp_register_congestion_control (&law); }\n"


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def make(programs: Path, drop: str = "^$", compiling: str = ":") -> None:
    """Make the source one without some options, or the compiler do something else."""
    program(programs / "make", MAKE.format(drop=drop, compiling=compiling))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with all that a build needs, and an empty cache; returns the folder of its programs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "cat", "chmod", "grep", "gzip", "mkdir", "mv", "sleep", "tar", "xz"):
        if (found := shutil.which(name)) is None:
            pytest.skip(f"{name} is not installed")
        (programs / name).symlink_to(found)
    for name in ("gcc", "ld", "flex", "bison", "bc"):
        program(programs / name, "#!/bin/sh\n")
    make(programs)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    return programs


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source of Linux: the files that a build reads or changes, and some that were built there."""
    folder = tmp_path / "linux"
    for name, text in {
        "Makefile": "VERSION = 7\n",
        "arch/um/Kconfig": "config MMU\n\tbool\n\tdefault y\n\nconfig HZ\n\tint\n\tdefault 100\n\nconfig NR\n\tint\n",
        "arch/um/os-Linux/util.c": f"{GETRANDOM}\treturn getrandom(buf, len, flags);\n}}\n",
        "arch/um/kernel/Makefile": "obj-y = time.o\n",
        "arch/um/include/shared/kern_util.h": "void um_idle_sleep(void);\n",
        "arch/um/kernel/skas/syscall.c": "\t\tPT_REGS_SET_SYSCALL_RETURN(regs, ret);\n",
        "arch/um/kernel/trap.c": "\tif (UPT_IS_USER(regs) && !SEGV_IS_FIXABLE(fi)) {\n",
        "arch/um/os-Linux/skas/process.c": PROCESS,
        "fs/hostfs/hostfs_kern.c": STATFS,
        "net/sched/Makefile": "obj-y += sch_pie.o\n",
        "net/sched/sch_pie.c": "",
        "net/ipv4/Makefile": "obj-y += tcp.o\n",
        "net/sched/sch_pie.o": "of another configuration",
        "include/generated/autoconf.h": "of another configuration",
        ".git/HEAD": "ref: refs/heads/mine\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def left() -> list[str]:
    """What is in the folder of all kernels besides the log and the lock."""
    return sorted({path.name for path in images.folder().glob("*")} - {build.LOG, ".lock"})


def archive(tree: Path) -> Path:
    path = tree.with_name("linux-mine.tar.gz")
    with tarfile.open(path, "w:gz") as tar:
        tar.add(tree, "linux-7.3")
    return path


def test_a_tree_is_built_and_stays_as_it_is(machine: Path, tree: Path) -> None:
    before = contents(tree)
    made = build.build(tree)
    assert contents(tree) == before
    assert made == images.newest()
    assert made.version == "7.3.4"
    assert made.source == str(tree)
    assert made.digest == hashlib.sha256(made.path.read_bytes()).hexdigest()
    assert left() == [f"7.3.4-{made.digest[:12]}"]
    assert sorted(contents(made.path.parent)) == ["about.json", "config", "linux"]


def test_the_source_is_edited_however_often_it_was(machine: Path, tree: Path) -> None:
    first = build.build(tree, keep=True)
    second = build.build(first.path.parent / "source")
    for made in (first, second):
        assert "config HZ\n\tint\n\tdefault 1000\n" in made.path.read_text()
        assert f"{GETRANDOM}\tmemset(buf, 0, len);\n\treturn len;\n}}\n" in made.path.read_text()


def test_a_source_that_cannot_be_edited_is_refused(machine: Path, tree: Path) -> None:
    (tree / "arch/um/os-Linux/util.c").unlink()
    with pytest.raises(InputError, match=r"source: arch/um/os-Linux/util\.c does not have os_getrandom"):
        build.build(tree)
    assert left() == []


def test_nothing_that_was_built_in_a_tree_is_taken_along(machine: Path, tree: Path) -> None:
    kept = contents(build.build(tree, keep=True).path.parent / "source")
    assert "net/sched/sch_pie.c" in kept
    assert not {"net/sched/sch_pie.o", "include/generated/autoconf.h", ".git/HEAD"} & {*kept}


def test_an_equal_kernel_takes_the_place_of_the_first(machine: Path, tree: Path) -> None:
    first = build.build(tree, keep=True)
    second = build.build(tree)
    assert second.path == first.path
    assert len(left()) == 1
    assert not (second.path.parent / "source").exists()


def test_files_are_added_where_they_belong(machine: Path, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "sch_mine.c").write_bytes(QDISC)
    (tmp_path / "tcp_mine.c").write_bytes(LAW)
    made = build.build(tree, add=[tmp_path / "sch_mine.c", tmp_path / "tcp_mine.c"], keep=True)
    assert made.added == ("net/sched/sch_mine.c", "net/ipv4/tcp_mine.c")
    kept = contents(made.path.parent / "source")
    assert kept["net/sched/sch_mine.c"] == QDISC
    assert kept["net/sched/Makefile"] == b"obj-y += sch_pie.o\n\nobj-y += sch_mine.o\n"
    assert kept["net/ipv4/Makefile"] == b"obj-y += tcp.o\n\nobj-y += tcp_mine.o\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent.c", None, "does not exist"),
        ("sch_mine.h", QDISC, "expected a name such as sch_mine.c"),
        ("sch_mine.c", b"int main(void) { return 0; }", "calls one of register_qdisc, tcp_register_congestion_control"),
        ("sch_pie.c", QDISC, "the source has net/sched/sch_pie.c already"),
    ],
)
def test_a_file_that_cannot_be_added_is_refused(
    machine: Path, tree: Path, tmp_path: Path, name: str, text: bytes | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text)
    with pytest.raises(InputError, match=said) as refused:
        build.build(tree, add=[tmp_path / name])
    assert refused.value.problems[0].path == "add"
    assert images.images() == []


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / "sch_mine.c", tmp_path / "other" / "sch_mine.c"]
    paths[1].parent.mkdir()
    for path in paths:
        path.write_bytes(QDISC)
    with pytest.raises(InputError, match="another file has that name"):
        additions.read(paths)


def test_an_archive_is_built_offline(machine: Path, tree: Path) -> None:
    path = archive(tree)
    made = build.build(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest().upper())
    assert made.source == "linux-mine.tar.gz"
    assert made == images.newest()


def test_an_archive_is_refused_without_a_digest_that_is_known(machine: Path, tree: Path) -> None:
    path = archive(tree)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(InputError, match=f"source: .*{found}.*add --sha256"):
        build.build(path)
    with pytest.raises(InputError, match=f"sha256: {'0' * 64}: .* has {found}"):
        build.build(path, sha256="0" * 64)
    with pytest.raises(InputError, match="only an archive has a digest"):
        build.build(tree, sha256=found)
    assert left() == []


@pytest.mark.parametrize(
    ("name", "said"), [("absent", "does not exist"), ("bin", "not the source of Linux: it does not contain Makefile")]
)
def test_what_is_no_source_is_refused(machine: Path, tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InputError, match=f"source: .*{said}"):
        build.build(tmp_path / name)


def test_an_archive_of_something_else_leaves_nothing(machine: Path, tree: Path) -> None:
    (tree / "net/sched/Makefile").unlink()
    path = archive(tree)
    with pytest.raises(InputError, match="it does not contain net/sched/Makefile"):
        build.build(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert left() == []


def test_an_old_source_is_refused_by_what_it_lacks(machine: Path, tree: Path) -> None:
    make(machine, drop="TIME_TRAVEL")
    with pytest.raises(InputError, match="source: it does not have UML_TIME_TRAVEL_SUPPORT"):
        build.build(tree)
    assert left() == []


def test_what_a_source_lacks_is_known_of_its_kernel(machine: Path, tree: Path) -> None:
    assert build.build(tree).lacks() == []
    make(machine, drop="NET_SCH_DUALPI2")
    made = build.build(tree)
    assert made.lacks() == ["NET_SCH_DUALPI2"]
    assert made.has("NET_SCH_PIE")
    assert not made.has("NET_SCH_DUALPI2")


def test_debians_package_is_fetched_from_the_mirror_of_the_machine_and_must_be_signed(
    machine: Path, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = tmp_path / "debian.gpg"
    monkeypatch.setattr(source, "KEYRING", keyring)
    program(
        machine / "dpkg-deb",
        "#!/bin/sh\nmkdir -p $3/usr/src\ncat $2 > $3/usr/src/linux-source-7.3.tar.gz\n",
    )
    program(
        machine / "apt-get",
        "#!/bin/sh\n"
        'case "$*" in\n'
        "indextargets*) echo http://mirror.example/debian-security/ http://mirror.example/debian/ ;;\n"
        f"*update) cat sources.list > {tmp_path}/asked; echo $* > {tmp_path}/options ;;\n"
        f"*download*) cat {archive(tree)} > linux-source-7.3_7.3.4-1_all.deb ;;\n"
        "esac\n",
    )
    with pytest.raises(
        InputError,
        match=r"debian\.gpg does not exist, and signatures cannot be checked without it: sudo apt install debian",
    ):
        build.build()
    keyring.touch()
    assert build.build().source == "linux-source-7.3_7.3.4-1_all.deb"
    asked = (tmp_path / "asked").read_text()
    assert asked == f"deb [signed-by={keyring}] http://mirror.example/debian trixie-backports main\n"
    assert "Acquire::AllowInsecureRepositories=false" in (tmp_path / "options").read_text()


def test_a_package_that_is_not_signed_is_not_built(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "KEYRING", machine / "gcc")
    program(machine / "dpkg-deb", "#!/bin/sh\n")
    unsigned = "E: The repository is not signed."
    listed = "indextargets) echo http://mirror.example/debian/ ;;"
    program(machine / "apt-get", f"#!/bin/sh\ncase $1 in {listed} *) echo '{unsigned}'; exit 100 ;; esac\n")
    with pytest.raises(ChildProcessError, match=f"apt-get ended with 100; .*\n  {unsigned}"):
        build.build()
    assert left() == []


def test_a_machine_whose_apt_has_no_debian_is_told_to_give_a_source(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "KEYRING", machine / "gcc")
    program(machine / "dpkg-deb", "#!/bin/sh\n")
    program(machine / "apt-get", "#!/bin/sh\necho http://mirror.example/ubuntu/\n")
    with pytest.raises(InputError, match=r"apt has no mirror of Debian .* add --source"):
        build.build()


def test_a_machine_without_apt_is_told_to_give_a_source(machine: Path) -> None:
    with pytest.raises(InputError, match=r"apt-get is not installed.* add --source"):
        build.build()


def test_what_is_missing_is_said_with_its_packages(machine: Path, tree: Path, aqmlab: Aqmlab) -> None:
    (machine / "flex").unlink()
    (machine / "xz").unlink()
    program(machine / "gcc", "#!/bin/sh\nexit 1\n")  # it finds no header
    answer = aqmlab("kernel", "build", "--source", tree)
    assert answer.returncode == 2
    assert answer.stderr == (
        "Error: kernel: to build it, flex, xz, stdio.h must be installed: sudo apt install flex xz-utils libc6-dev\n"
    )
    assert left() == []


def test_other_machines_are_refused(machine: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(InputError, match=r"needs Linux on x86_64; this machine has .* on aarch64"):
        build.build(tree)


def test_a_full_disk_is_told_before_work_starts(machine: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BUILDING", 10**18)
    with pytest.raises(InputError, match=r"takes \d{10,}\.\d GB, and .* GB free; make room, or set XDG_CACHE_HOME"):
        build.build(tree)


def test_the_room_that_a_build_takes_follows_from_its_source(tree: Path) -> None:
    for folder in (tree / "net", tree / "include", tree / "arch", tree / "fs"):
        shutil.rmtree(folder)
    (tree / "Makefile").write_bytes(bytes(1000))
    assert source.room(tree) == pytest.approx(1300)  # neither the history nor what was built there
    archive = tree / "linux.tar.xz"
    archive.write_bytes(bytes(1000))
    assert source.room(archive) == pytest.approx(15_600)
    assert source.room(None) > 2e9


def test_a_failure_shows_the_lines_that_say_why(machine: Path, tree: Path) -> None:
    program(machine / "fail", "#!/bin/sh\necho 'sch_mine.c:7:1: error: unknown type'\necho '  CC      b.o'\nexit 1\n")
    make(machine, compiling="fail || exit 2")
    with pytest.raises(ChildProcessError) as failed:
        build.build(tree)
    log = images.folder() / "build.log"
    assert str(failed.value) == f"make ended with 2; the log is {log}\n  sch_mine.c:7:1: error: unknown type"
    assert "  CC      b.o\n" in log.read_text()
    assert left() == []


def test_files_compiled_are_counted(machine: Path, tree: Path) -> None:
    told: list[tuple[float, int]] = []
    build.build(tree, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, build.FILES)]


def test_an_interrupted_build_leaves_nothing(machine: Path, tree: Path, tmp_path: Path) -> None:
    make(machine, compiling=f"echo $$ > {tmp_path}/pid; sleep 600")
    begun = subprocess.Popen(
        [COMMAND, "kernel", "build", "--source", tree],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread runs here
    )
    process = awaited(tmp_path / "pid", begun)
    with pytest.raises(InputError, match=rf"another build is at work in it \(process {begun.pid} on "):
        build.build(tree)
    begun.send_signal(signal.SIGINT)
    said = begun.communicate(timeout=60)[1]
    assert begun.returncode == 130
    assert "Traceback" not in said
    assert left() == []
    assert ends(process)


def ends(process: int) -> bool:
    """True once a process is gone, which whoever has inherited it may be slow to see."""
    for _ in range(1000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def awaited(path: Path, program: "subprocess.Popen[str]") -> int:
    """Return the number that a program writes to a file."""
    while not path.exists() or not path.read_text().strip():
        assert program.poll() is None, program.communicate()
        time.sleep(0.01)
    return int(path.read_text())


def test_what_a_killed_build_left_is_removed_by_the_next(machine: Path, tree: Path) -> None:
    (images.folder() / build.WORK / "source" / "net").mkdir(parents=True)
    made = build.build(tree)
    assert left() == [made.path.parent.name]


def test_the_command_builds_lists_and_names_a_kernel(machine: Path, tree: Path, aqmlab: Aqmlab) -> None:
    none = aqmlab("kernel", "path")
    assert (none.returncode, none.stdout, none.stderr) == (
        2,
        "",
        "Error: kernel: none is built; run: aqmlab kernel build\n",
    )
    assert (aqmlab("kernel", "list").stdout, aqmlab("kernel", "list", "--json").stdout) == ("", "[]\n")
    make(machine, drop="NET_SCH_DUALPI2")
    built = aqmlab("kernel", "build", "--source", tree, "--jobs", 2)
    assert built.returncode == 0, built.stderr
    made = images.newest()
    assert built.stdout == f"Linux 7.3.4 is at {made.path}\n"
    assert "Note: this source does not contain NET_SCH_DUALPI2\n" in built.stderr
    assert f"Copying {tree}\n" in built.stderr
    assert aqmlab("kernel", "path").stdout == f"{made.path}\n"
    listed = aqmlab("kernel", "list")
    assert f"7.3.4    {made.digest[:12]}" in listed.stdout
    assert json.loads(aqmlab("kernel", "list", "--json").stdout) == [
        {
            "path": str(made.path),
            "version": "7.3.4",
            "digest": made.digest,
            "built": made.built,
            "source": str(tree),
            "added": [],
            "size": made.path.stat().st_size,
            "lacks": ["NET_SCH_DUALPI2"],
        }
    ]


def image(version: str, built: str, executable: str = "#!/bin/sh\n") -> Path:
    """Put a kernel into the cache."""
    digest = hashlib.sha256(executable.encode()).hexdigest()
    place = images.place(version, digest)
    place.mkdir(parents=True)
    program(place / "linux", executable)
    (place / "config").write_text(images.wanted())
    known = {"version": version, "digest": digest, "built": built, "source": "linux.tar.xz", "added": []}
    (place / "about.json").write_text(json.dumps(known))
    return place


def test_the_newest_kernel_is_the_one_built_last(machine: Path) -> None:
    image("7.3.4", "2026-11-24T12:00:00+00:00")
    image("7.2.9", "2026-11-25T12:00:00+00:00")
    image("7.4.0", "2026-11-23T12:00:00+00:00")
    assert [each.version for each in images.images()] == ["7.2.9", "7.3.4", "7.4.0"]
    assert images.newest().version == "7.2.9"


def test_a_kernel_that_is_not_what_was_built_is_not_run(machine: Path) -> None:
    place = image("7.3.4", "2026-11-24T12:00:00+00:00")
    images.newest()
    (place / "linux").write_text("#!/bin/sh\ntouch /tmp/owned\n")
    with pytest.raises(InputError, match="linux: has changed since it was built; run: aqmlab kernel build"):
        images.newest()


@pytest.mark.parametrize("broken", ["about.json", "linux"])
def test_half_a_kernel_is_none(machine: Path, broken: str) -> None:
    place = image("7.3.4", "2026-11-24T12:00:00+00:00")
    (place / broken).unlink()
    assert images.images() == []


def test_a_cache_that_is_not_an_absolute_path_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", "/home/someone")
    assert images.folder() == Path("/home/someone/.cache/aqmlab/kernel")


PROGRAMS = "Programs in virtual time: ok"
BOOTS = """#!/bin/sh
echo "Checking that seccomp filters can be installed...{seccomp}"
echo "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000000"
exit 134
"""


@pytest.mark.parametrize(
    ("executable", "found"),
    [
        (BOOTS.format(seccomp="OK"), ["Kernel: ok", "Kernel boots: ok", "Kernel with seccomp: ok", PROGRAMS]),
        (
            BOOTS.format(seccomp="missing"),
            ["Kernel: ok", "Kernel boots: ok", "Kernel with seccomp: not available", PROGRAMS],
        ),
        ("#!/bin/sh\necho Cannot map memory\nexit 1\n", ["Kernel: ok", "Kernel boots: Cannot map memory"]),
        ("#!/bin/sh\nexit 1\n", ["Kernel: ok", "Kernel boots: ended with 1"]),
    ],
)
def test_doctor_starts_the_kernel(machine: Path, executable: str, found: list[str]) -> None:
    image("7.3.4", "2026-11-24T12:00:00+00:00", executable)
    said = [f"{each.name}: {'ok' if each.is_good else each.found.partition(':')[0]}" for each in kernels()]
    assert said == found


def test_doctor_says_how_to_build_a_kernel(machine: Path) -> None:
    (found,) = kernels()
    assert (found.is_good, found.is_needed, found.mend) == (False, False, "aqmlab kernel build")


def test_doctor_names_what_the_kernel_lacks(machine: Path) -> None:
    place = image("7.3.4", "2026-11-24T12:00:00+00:00")
    (place / "config").write_text(images.wanted().replace("CONFIG_NET_SCH_DUALPI2=y\n", ""))
    found = next(kernels())
    assert not found.is_good
    assert found.found.endswith("without NET_SCH_DUALPI2")
