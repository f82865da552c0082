"""A bundle as a file: packed the same way each time, and unpacked as what a stranger may have made.

Names stay within the folder, sizes are bounded before anything is unpacked, nothing is written to a disk, and every
file must be the one whose SHA-256 the manifest has.
"""

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from aqmlab import untrusted
from aqmlab.names import plain
from aqmlab.problems import InputError, in_words

MANIFEST = "SHA256SUMS"
"""The manifest, as `sha256sum --check` reads it."""

MOST_FILES = 10_000
LARGEST_FILE = 256 * 2**20
MOST_BYTES = 512 * 2**20
MOST_RATIO = 300
"""Maximum bytes that one packed byte may become; text of bundles becomes 5 to 50."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file, so that the same files give the same bytes."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")

Files = Mapping[str, bytes]
"""The files of a bundle by name, the manifest left out."""


def pack(files: Files) -> bytes:
    """Return files with their manifest as a zip file: in the order of their names, without times."""
    every = {**files, MANIFEST: manifest(files)}
    for name in every:
        _check_name(name, "bundle")
    _check_sizes("bundle", {name: len(data) for name, data in every.items()})
    buffer = BytesIO()
    with ZipFile(buffer, "w") as file:
        for name in sorted(every):
            info = ZipInfo(name, EPOCH)
            info.create_system, info.compress_type = 3, ZIP_DEFLATED  # the same on every system
            info.external_attr = (stat.S_IFREG | (0o755 if name.endswith(".sh") else 0o644)) << 16
            file.writestr(info, every[name], compresslevel=9)
    return buffer.getvalue()


def manifest(files: Files) -> bytes:
    """Return one row of text per file: its SHA-256 and its name."""
    lines = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)]
    return "".join(lines).encode()


def unpack(path: Path) -> dict[str, bytes]:
    """Return the files of a bundle, a zip file or its unpacked folder.

    InputError names the first file that is changed, missing, too many, or not as a bundle may have it.
    """
    where = f"bundle: {plain(str(path))}"
    found = _of_folder(path, where) if os.path.isdir(path) else _of_file(path, where)
    listed = found.pop(MANIFEST, None)
    if listed is None:
        raise InputError(where, f"has no {MANIFEST}; expected a bundle of aqmlab bundle")
    _check_manifest(listed, found, where)
    return found


def _check_manifest(listed: bytes, found: Files, where: str) -> None:
    sums = {}
    for number, line in enumerate(listed.decode("ascii", "replace").splitlines(), 1):
        fits = _LINE.fullmatch(line)
        if not fits or fits[2] in sums:
            raise InputError(where, f"{MANIFEST}: line {number} is not a SHA-256 and the name of one more file")
        sums[fits[2]] = fits[1]
    for name in sorted(found.keys() | sums.keys()):
        if name not in found:
            raise InputError(where, f"{plain(name)}: is missing; {MANIFEST} lists it")
        if name not in sums:
            raise InputError(where, f"{name}: is not in {MANIFEST}; it was added later")
        if hashlib.sha256(found[name]).hexdigest() != sums[name]:
            raise InputError(where, f"{name}: was changed; its SHA-256 is not that of {MANIFEST}")


def _of_file(path: Path, where: str) -> dict[str, bytes]:
    try:
        with untrusted.opened(path, MOST_BYTES, field="bundle", expected="a file of aqmlab bundle") as file:
            return _of_zip(file, os.fstat(file.fileno()).st_size, where)
    except FileNotFoundError:
        expected = "a file of aqmlab bundle, or the folder it was unpacked to"
        raise InputError(where, f"no such file; expected {expected}") from None


def _of_zip(packed: BinaryIO, size: int, where: str) -> dict[str, bytes]:
    try:
        untrusted.check_zip(packed, "the bundle", where)
        with ZipFile(packed) as file:
            entries = file.infolist()
            _check_entries(entries, where, size)
            return {entry.filename: file.read(entry) for entry in entries}
    except InputError:
        raise
    except (BadZipFile, zlib.error, EOFError) as error:
        raise InputError(where, f"is damaged, or not a zip file ({plain(str(error))})") from error
    except (OSError, ValueError, RuntimeError, ArithmeticError, LookupError) as error:  # zipfile on made-up headers
        raise InputError(where, f"cannot be read ({plain(in_words(error) or type(error).__name__)})") from error


def _check_entries(entries: list[ZipInfo], where: str, packed: int) -> None:
    """Refuse what a bundle never has, before any of it is unpacked."""
    if len(entries) > MOST_FILES:
        raise InputError(where, f"{len(entries):,} files; at most {MOST_FILES:,}")
    seen: set[str] = set()
    for entry in entries:
        name = entry.orig_filename
        _check_name(name, where)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise InputError(where, f"{name}: is a link or another special file; a bundle has plain files only")
        if entry.flag_bits & 1 or entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise InputError(where, f"{name}: is encrypted or compressed in a way that bundles do not use")
        if name.lower() in seen:
            raise InputError(where, f"{name}: occurs twice, or differs from another file only in capitals")
        seen.add(name.lower())
    _check_sizes(where, {entry.filename: entry.file_size for entry in entries})
    for entry in entries:
        if entry.file_size > MOST_RATIO * max(entry.compress_size, 1):
            raise InputError(where, f"{entry.filename}: becomes more than {MOST_RATIO} times as large when unpacked")
    if sum(entry.compress_size for entry in entries) > packed:
        raise InputError(where, "its files overlap")


def _of_folder(folder: Path, where: str) -> dict[str, bytes]:
    paths: dict[str, Path] = {}
    try:
        for name, path in _walk(folder, "", where):
            _check_name(name, where)
            paths[name] = path
            if len(paths) > MOST_FILES:
                raise InputError(where, f"more than {MOST_FILES:,} files")
        _check_sizes(where, {name: path.stat().st_size for name, path in paths.items()})
        return {name: untrusted.read(path, LARGEST_FILE, within=folder, field="bundle") for name, path in paths.items()}
    except OSError as error:  # a folder that is closed to us, or a file that is gone meanwhile
        raise InputError(where, f"cannot be read ({in_words(error)})") from error


def _walk(folder: Path, before: str, where: str) -> Iterator[tuple[str, Path]]:
    """Yield the files of a folder by their names within it; a link is refused, not followed."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        name = before + entry.name
        if entry.is_dir(follow_symlinks=False):
            _check_name(name, where)
            yield from _walk(Path(entry.path), f"{name}/", where)
        elif entry.is_file(follow_symlinks=False):
            yield name, Path(entry.path)
        else:
            raise InputError(where, f"{plain(name)}: is a link or another special file; a bundle has plain files")


def _check_name(name: str, where: str) -> None:
    parts = name.split("/")
    bad = len(name) > 200 or not _NAME.fullmatch(name) or any(_DEVICE.match(part) for part in parts)
    if bad or any(part.endswith(".") for part in parts):
        raise InputError(
            where,
            f"{plain(name)}: is not a valid file name for a bundle: letters, digits, _ . - and / between folders, "
            "none beginning with a point or a dash",
        )


def _check_sizes(where: str, sizes: Mapping[str, int]) -> None:
    for name, size in sizes.items():
        if size > LARGEST_FILE:
            raise InputError(where, f"{name}: {size:,} bytes; at most {LARGEST_FILE:,}")
    if sum(sizes.values()) > MOST_BYTES:
        raise InputError(where, f"{sum(sizes.values()):,} bytes unpacked; at most {MOST_BYTES:,}")
