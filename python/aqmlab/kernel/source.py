"""The source of a kernel: a folder, an archive whose digest is known, or Debian's signed package."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from aqmlab.kernel.steps import Steps
from aqmlab.problems import InputError

PACKAGE, SUITE = "linux-source-7.3", "trixie-backports"

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

DIGESTS = {
    "76df1affb19f24926949369be1d74b60071c963c598ce8780bddd4bbf0fc3bc4",  # linux-source-7.3.tar.xz in it
    "703e369ddd4cce971452f5a593ee55df3a5c10c83caf0fa0df039633ed181ee3",  # linux-source-7.3_7.3.4-1~bpo13+1_all.deb
}
"""SHA-256 of archives that came with a signature of Debian's."""

ARCHIVES = (".deb", ".tar", ".tar.xz", ".tar.gz", ".tar.bz2")

UNPACKED = 1_900_000_000
"""Bytes of Debian's source, and of the archive it came in."""

COMPRESSION = 12
"""Bytes of a source for each of its compressed archive, about."""

BUILDING = 1.3
"""Bytes that source, objects and kernel take while it is built, for each of the source."""

MARKS = ("Makefile", "arch/um/Kconfig", "net/sched/Makefile")
"""Files by which the source of Linux is known."""


def check(given: Path | None, sha256: str | None = None) -> None:
    """Raise InputError unless `given` is a source that can be used; None is Debian's package.

    An archive must have a known digest, or the one that its publisher says (`sha256`). A folder is the user's own.
    """
    if sha256 and not (given and given.is_file()):
        raise InputError("sha256", f"{sha256}: only an archive has a digest; add --source FILE")
    if given is None:
        _check_apt()
    elif given.is_dir():
        _check_tree(given, given)
    elif not given.is_file():
        raise InputError("source", f"{given}: does not exist; expected a folder or an archive with the source of Linux")
    elif not given.name.endswith(ARCHIVES):
        raise InputError("source", f"{given}: expected a folder, or a file that ends in one of {', '.join(ARCHIVES)}")
    else:
        _check_digest(given, sha256)


def room(given: Path | None) -> float:
    """Return the bytes that a source takes until it is built, its objects and kernel included."""
    if given is None:
        size = UNPACKED
    elif given.is_dir():
        size = _copied(given)
    else:
        size = given.stat().st_size * (1 if given.suffix == ".tar" else COMPRESSION)
    return BUILDING * size


def preparing(given: Path | None) -> str:
    """Return what `prepare` is about to do."""
    if given is None:
        return f"Fetching Debian's {PACKAGE} from {mirror()}"
    return f"{'Copying' if given.is_dir() else 'Unpacking'} {given}"


def prepare(given: Path | None, tree: Path, steps: Steps) -> str:
    """Make a copy of the source in the new folder `tree`, and return where it came from."""
    if given is not None and given.is_dir():
        shutil.copytree(given, tree, symlinks=True, ignore=_is_built)
        return str(given.resolve())
    tree.mkdir()
    beside = tree.with_name("download")
    beside.mkdir()
    archive = given.resolve() if given else _download(beside, steps)
    name = archive.name
    if name.endswith(".deb"):
        steps.run(["dpkg-deb", "-x", archive, beside], beside)
        archive = next(beside.glob("usr/src/linux-source-*.tar.*"), archive)
    steps.run(["tar", "-xf", archive, "--strip-components=1", "--no-same-owner"], tree)
    shutil.rmtree(beside)
    _check_tree(tree, Path(name))
    return name


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        state = hashlib.sha256()
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def _check_tree(tree: Path, given: Path) -> None:
    missing = [name for name in MARKS if not (tree / name).is_file()]
    if missing:
        raise InputError("source", f"{given}: this is not the source of Linux: it does not contain {missing[0]}")


def _check_digest(archive: Path, sha256: str | None) -> None:
    found = digest(archive)
    if sha256 and found != sha256.lower():
        raise InputError("sha256", f"{sha256}: {archive} has {found}; it is damaged, or another file")
    if not sha256 and found not in DIGESTS:
        reason = f"{archive}: its SHA-256, {found}, is not known to aqmlab"
        raise InputError("source", f"{reason}; take the one that its publisher signed, and add --sha256 DIGEST")


def _check_apt() -> None:
    missing = [name for name in ("apt-get", "dpkg-deb") if not shutil.which(name)]
    if missing:
        raise InputError(
            "source",
            f"{missing[0]} is not installed, which fetching Debian's {PACKAGE} requires; add --source DIR or FILE",
        )
    if not KEYRING.is_file():
        raise InputError(
            "source",
            f"{KEYRING} does not exist, and signatures cannot be checked without it: sudo apt install {KEYRING.stem}",
        )
    mirror()


def _copied(tree: Path) -> int:
    """Return the bytes of the files of a tree that are copied."""
    size = 0
    for folder, folders, files in os.walk(tree):
        left = _is_built(folder, folders + files)
        folders[:] = [name for name in folders if name not in left]
        size += sum(os.lstat(os.path.join(folder, name)).st_size for name in files if name not in left)
    return size


def _is_built(folder: str, names: list[str]) -> set[str]:
    """Return what in a folder of a tree was built there, or is its history."""
    built = {name for name in names if name == ".git" or name.endswith((".o", ".a", ".ko", ".cmd"))}
    if Path(folder).name == "include" and "tools" not in Path(folder).parts[-2:]:
        built |= {"generated", "config"} & {*names}
    return built


def _download(folder: Path, steps: Steps) -> Path:
    """Get Debian's package with lists of our own, so that nothing of this machine's apt changes and no root is needed.

    What apt does not find signed by Debian is an error, whatever this machine's settings say.
    """
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror()} {SUITE} main\n")
    settings = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder,
        "Dir::Cache::archives": folder / "archives",
        "Acquire::Languages": "none",
        "Acquire::AllowInsecureRepositories": "false",
        "Acquire::AllowWeakRepositories": "false",
        "APT::Get::AllowUnauthenticated": "false",
        "APT::Update::Error-Mode": "any",
        "APT::Sandbox::User": "",  # the user's cache may be closed to apt's own user
    }
    apt = ["apt-get", "-q", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]
    steps.run([*apt, "update"], folder)
    steps.run([*apt, "download", PACKAGE], folder)
    return next(folder.glob("*.deb"))


def mirror() -> str:
    """Return the mirror of Debian that this machine's apt uses. InputError if it uses none."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    mirrors = [uri.rstrip("/") for uri in found if uri.rstrip("/").endswith("/debian")]
    if not mirrors:
        raise InputError("source", f"apt has no mirror of Debian here for {PACKAGE}; add --source DIR or FILE")
    return mirrors[0]
