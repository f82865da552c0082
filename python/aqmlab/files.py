"""Files that a command writes: checked before work starts, and written whole or not at all."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from aqmlab.problems import InputError


def check_folder(path: Path) -> None:
    """Raise InputError unless `path` is, or can become, a folder we may write to. Creates nothing."""
    if os.path.lexists(path) and not os.path.isdir(path):
        found = "is a file" if os.path.exists(path) else "is a broken link"
        raise InputError("out", f"{path}: {found}; expected a folder, new or existing")
    _check_writable("out", path, path, path)


def check_file(option: str, path: Path) -> None:
    """Raise InputError, which names `option`, unless `path` is, or can become, a file we may write. Creates nothing."""
    if os.path.isdir(path):
        raise InputError(option, f"{path}: is a directory; expected a file, new or existing")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(option, f"{path}: not a regular file; expected a file, new or existing")
    _check_writable(option, path, path.parent, _part(path))


def is_within(folder: Path, path: Path) -> bool:
    """Say whether a path, links and dots followed, stays within a folder."""
    return resolved(path).is_relative_to(resolved(folder))


def resolved(path: Path) -> Path:
    """Return a path, links and dots followed as far as they lead; one that no file can have is returned as it is."""
    return path if "\0" in str(path) else Path(os.path.realpath(path))


def _check_writable(option: str, path: Path, parent: Path, written: Path) -> None:
    """Raise InputError unless what is `written` can be made, its folders from `parent` on too."""
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(written)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(option, f"{path}: cannot be written ({why}); choose another name or folder") from error
    while not os.path.lexists(parent):
        parent = parent.parent
    if not os.path.isdir(parent) or not os.access(parent, os.W_OK | os.X_OK) or not _takes_files(parent):
        raise InputError(option, f"{path}: {parent} cannot be written to; choose another folder")


def _takes_files(folder: Path) -> bool:
    """Say whether a file can be made in a folder; where the rights say so, as in /proc, a file system may refuse."""
    try:
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def write_all(folder: Path, contents: Mapping[str, bytes | str]) -> None:
    """Write files into `folder`, each under a temporary name first, then renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        write(folder / name, content.encode("utf-8") if isinstance(content, str) else content)


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, whatever stops the program or the machine."""
    with whole(path) as part, part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, as the files are."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a temporary name next to `path` to write to, which becomes `path` at the end if nothing is raised."""
    part = _part(path)
    try:
        if os.path.lexists(part):  # in a folder from somebody else it may be a link to another file
            part.unlink()
        yield part
        part.replace(path)
    except BaseException as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:  # under the name that the user knows
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise
