"""Reading of files that somebody else may have made: regular files, within limits, inside the folder that was named.

Every file that a user or a stranger hands over is read through this module. A refused file raises InputError with its
path, what was found and what was expected; a file that does not exist raises FileNotFoundError.
"""

import errno
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from aqmlab.problems import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

MIB = 2**20
LARGEST_JSON = 24 * MIB
"""Bytes of a JSON document; in memory it is up to 30 times as large."""
MOST_DEPTH = 100
"""Levels of lists and objects in a JSON document."""
MOST_DIGITS = 20
"""Digits of an integer in a JSON document: the digits of the largest seed."""
LARGEST_DIRECTORY = 4 * MIB
"""Bytes of the directory of a zip file, which takes some 100 for each file."""
ZIP_END, ZIP_COMMENT = 22, 2**16
"""Bytes of the last record of a zip file, and of the comment that may follow."""
LARGEST_PARQUET = 512 * MIB
"""Bytes of a Parquet file, and of its columns when decoded."""
MOST_ROWS = 20_000_000
"""Rows of a Parquet file that is read column by column; of one that is read row by row, `MOST_RECORDS`."""
MOST_RECORDS = 1_000_000
MOST_COLUMNS = 100_000

_SIZES = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 16}
"""Physical types of Parquet that are read, with the bytes of a decoded value; of a text, without its characters."""


@contextmanager
def opened(
    path: Path, most: int, *, within: Path | None = None, field: str = "file", expected: str = ""
) -> Iterator[BinaryIO]:
    """Open a regular file of at most `most` bytes; never waits for a pipe or a device.

    A file found in somebody's folder must stay `within` it, links followed. Errors are about `field`, and say what was
    `expected`, if that is more than a regular file. Raises InputError for any other file, and FileNotFoundError if
    there is none.
    """

    def refused(found: str) -> InputError:
        return InputError(field, f"{path}: {found}" + (f"; expected {expected}" if expected else ""))

    if "\0" in str(path):
        raise refused("is not a file name")
    target = Path(os.path.realpath(path))
    if within is not None and not target.is_relative_to(os.path.realpath(within)):
        raise refused(f"is a link that leads out of {within}")
    try:
        _check_kind(os.stat(target).st_mode, refused)  # opening a device can already have an effect
        flags = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_BINARY"))
        descriptor = os.open(target, os.O_RDONLY | flags)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    except OSError as error:
        raise refused(f"cannot be read ({error.strerror})") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_kind(status.st_mode, refused)
        if status.st_size > most:
            raise refused(f"{status.st_size:,} bytes, more than {most:,}")
        yield file


def read(path: Path, most: int, *, within: Path | None = None, field: str = "file", expected: str = "") -> bytes:
    """Return the content of a file; arguments and errors as for `opened`."""
    with opened(path, most, within=within, field=field, expected=expected) as file:
        return read_stream(file, most, str(path), field)


def read_stream(file: BinaryIO, most: int, name: str, field: str = "file") -> bytes:
    """Return all that an open file or pipe still holds; InputError about `name` for more than `most` bytes."""
    try:
        data: bytes | None = file.read(most + 1)
    except OSError as error:
        raise InputError(field, f"{name}: cannot be read ({error.strerror})") from error
    if data is None:
        raise InputError(field, f"{name}: cannot be read (it is still empty)")
    if len(data) > most:
        raise InputError(field, f"{name}: more than {most:,} bytes")
    return data


def read_json(path: Path, *, within: Path | None = None, field: str = "file") -> Any:
    """Return the document in a JSON file; arguments and errors as for `opened`, and InputError for invalid JSON."""
    data = read(path, LARGEST_JSON, within=within, field=field)
    try:
        return parse_json(data)
    except ValueError as error:
        raise InputError(field, f"{path}: is not the expected JSON ({error})") from error


def parse_json(text: str | bytes, refuse: Callable[[str], Any] | None = None, *, most_digits: int = MOST_DIGITS) -> Any:
    """Return a JSON document of bounded size, depth and integers; ValueError for any other text, with the reason.

    `refuse` is called for NaN and Infinity, which are read as numbers without it.
    """
    if len(text) > LARGEST_JSON:
        raise ValueError(f"{len(text):,} bytes; at most {LARGEST_JSON:,}")
    too_deep = f"nested more than {MOST_DEPTH} levels deep"
    try:
        found = json.loads(text, parse_int=partial(_integer, most_digits), parse_constant=refuse)
    except RecursionError:
        raise ValueError(too_deep) from None
    if not _is_shallow(found):
        raise ValueError(too_deep)
    if ("\\u" if isinstance(text, str) else b"\\u") in text:  # type: ignore[operator]
        _check_characters(found)
    return found


def check_zip(file: BinaryIO, name: str, field: str = "file") -> None:
    """Raise InputError about `name` if the directory of an open zip file is too large to be read.

    What is no zip file at all passes: `zipfile` says so without reading a directory.
    """
    start = max(0, file.seek(0, os.SEEK_END) - ZIP_END - ZIP_COMMENT)
    file.seek(start)
    tail = file.read()
    file.seek(0)
    at = len(tail) - ZIP_END if tail[-ZIP_END:].startswith(b"PK\5\6") else tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < ZIP_END:
        return
    size = int.from_bytes(tail[at + 12 : at + 16], "little")
    if tail[max(0, at - 20) : at].startswith(b"PK\6\7") or size > LARGEST_DIRECTORY:
        raise InputError(field, f"{name}: the directory of the zip file has more than {LARGEST_DIRECTORY:,} bytes")


def read_parquet(
    path: Path,
    *,
    rows: int = MOST_ROWS,
    within: Path | None = None,
    field: str = "file",
    columns: Sequence[str] | None = None,
) -> "pa.Table":
    """Return the table of at most `rows` rows in a Parquet file, or the `columns` of it that are there.

    Rows, columns and unpacked bytes are checked before anything is decoded, and texts before their repetitions are
    written out. Arguments and errors as for `opened`; ArrowException for a damaged file.
    """
    from pyarrow import parquet

    with opened(path, LARGEST_PARQUET, within=within, field=field) as opened_file:
        with parquet.ParquetFile(opened_file) as file:
            texts = _check_metadata(file.metadata, rows, path, field)
            _check_pages(opened_file, file.metadata, path, field)
            wanted = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
        opened_file.seek(0)
        with parquet.ParquetFile(opened_file, page_checksum_verification=True, read_dictionary=texts) as file:
            # Alone, because threads that still read when one has met the damage abort the program at its end.
            return _written_out(file.read(wanted, use_threads=False), path, field)


def _check_kind(mode: int, refused: Callable[[str], InputError]) -> None:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    if not stat.S_ISREG(mode):
        raise refused(f"is {kinds.get(stat.S_IFMT(mode), 'a device')}, not a regular file")


def _integer(most: int, digits: str) -> int:
    if len(digits.lstrip("-")) > most:
        raise ValueError(f"an integer of {len(digits):,} characters; at most {most:,} digits")
    return int(digits)


def _is_shallow(document: Any) -> bool:
    """Return whether lists and objects are nested at most MOST_DEPTH levels deep."""
    level: list[list[Any] | dict[Any, Any]] = [[document]]
    for _ in range(MOST_DEPTH + 2):
        level = [
            each
            for part in level
            for each in (part.values() if isinstance(part, dict) else part)
            if each and isinstance(each, dict | list)
        ]
        if not level:
            return True
    return False


def _check_characters(document: Any) -> None:
    """Raise ValueError for half of a character (a lone surrogate), which no file can hold."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a character (a lone surrogate)") from None


def _check_metadata(found: "parquet.FileMetaData", rows: int, path: Path, field: str) -> list[str]:
    """Raise InputError for a Parquet file whose metadata exceed a limit, else return the names of its texts."""
    groups = [found.row_group(i) for i in range(found.num_row_groups)]
    for number, most, unit in (
        (found.num_rows, rows, "rows"),
        (found.num_columns * len(groups), MOST_COLUMNS, "columns in all row groups"),
        (sum(group.total_byte_size for group in groups), LARGEST_PARQUET, "unpacked bytes"),
    ):
        if not 0 <= number <= most:
            raise InputError(field, f"{path}: {number:,} {unit}; at most {most:,}")
    leaves = [found.schema.column(i) for i in range(found.num_columns)]
    decoded = 0
    for i, leaf in enumerate(leaves):
        if leaf.physical_type not in _SIZES:
            raise InputError(field, f"{path}: {leaf.path}: is neither a number nor a text")
        decoded += _SIZES[leaf.physical_type] * sum(group.column(i).num_values for group in groups)
    _check_decoded(decoded, path, field)
    return [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]


def _check_pages(file: BinaryIO, found: "parquet.FileMetaData", path: Path, field: str) -> None:
    """Raise InputError for a Parquet file with pages that are larger than its metadata say, ArrowInvalid for damage."""
    import pyarrow as pa

    from aqmlab import parquet_pages

    try:
        parquet_pages.check(file, found)
    except parquet_pages.PageError as error:
        raise InputError(field, f"{path}: {error}") from None
    except parquet_pages.DamageError as error:
        raise pa.ArrowInvalid(str(error)) from None


def _written_out(found: "pa.Table", path: Path, field: str) -> "pa.Table":
    """Return a table whose texts are stored once each with the repetitions written out; not those in lists."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [i for i, kind in enumerate(found.schema.types) if pa.types.is_dictionary(kind)]
    decoded = found.nbytes
    for chunk in (chunk for i in texts for chunk in found.column(i).chunks):
        decoded += pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0
    _check_decoded(decoded, path, field)
    for i in texts:
        column = found.column(i)
        found = found.set_column(i, found.field(i).name, column.cast(column.type.value_type))
    return found


def _check_decoded(size: int, path: Path, field: str) -> None:
    if size > LARGEST_PARQUET:
        raise InputError(field, f"{path}: {size:,} bytes when decoded; at most {LARGEST_PARQUET:,}")
