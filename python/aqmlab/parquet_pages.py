"""The sizes that the pages of a Parquet file state: Arrow allocates them before it decodes anything.

The header of a page is a struct in Thrift's compact protocol before its data; no library provides it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pyarrow import parquet

MOST_PAGES = 100_000
"""Pages of a file."""
LONGEST_HEADER = 2**16
"""Bytes of a page's header that are read; statistics within it can be long."""

DEEPEST = 8
"""Levels of structs and lists within a header."""
_SIZES = {2, 3}
"""The fields of a header with the unpacked and the packed size."""
LONG_LIST = 15
"""Marks that a list's size follows."""

_STOP, _TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 0, 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 12
_FIXED = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
"""Bytes of values of a fixed size; a truth value is encoded in its kind."""


class PageError(ValueError):
    """Pages that are larger than the metadata of their file say, or too many."""


class DamageError(ValueError):
    """A header that cannot be read."""


def check(file: BinaryIO, found: "parquet.FileMetaData") -> None:
    """Raise PageError if pages are larger than the metadata state or too many, DamageError for damage."""
    left = MOST_PAGES
    for group in (found.row_group(i) for i in range(found.num_row_groups)):
        for column in (group.column(i) for i in range(group.num_columns)):
            unpacked = 0
            for size in _sizes(file, column):
                unpacked, left = unpacked + size, left - 1
                if unpacked > column.total_uncompressed_size:
                    raise PageError(
                        f"{column.path_in_schema}: a page of {size:,} bytes in a column of "
                        f"{column.total_uncompressed_size:,}"
                    )
                if left < 0:
                    raise PageError(f"more than {MOST_PAGES:,} pages")


def _sizes(file: BinaryIO, column: "parquet.ColumnChunkMetaData") -> Iterator[int]:
    """Yield the unpacked size of each page of a column, as its header states it."""
    starts = [at for at in (column.dictionary_page_offset, column.data_page_offset) if at is not None]
    at = min(starts)
    end = at + column.total_compressed_size
    while at < end:
        file.seek(at)
        data = file.read(LONGEST_HEADER)
        try:
            unpacked, packed, header = _header(data)
        except IndexError:
            raise DamageError(f"{column.path_in_schema}: a page without a header") from None
        if unpacked < 0 or packed < 0:
            raise PageError(f"{column.path_in_schema}: a page of fewer than no bytes")
        yield unpacked
        at += header + packed


def _header(data: bytes) -> tuple[int, int, int]:
    """Return the unpacked and packed size in a page's header, and its own length; IndexError if there is none."""
    at, field = 0, 0
    sizes: dict[int, int] = {}
    while (kind := data[at] & 15) != _STOP:
        step = data[at] >> 4
        at += 1
        if step:
            field += step
        else:
            number, at = _varint(data, at)
            field = _signed(number)
        if field in _SIZES and kind in _INTEGERS:
            number, at = _varint(data, at)
            sizes[field] = _signed(number)
        else:
            at = _after(data, at, kind)
    if sizes.keys() != _SIZES:
        raise IndexError
    return sizes[2], sizes[3], at + 1


def _after(data: bytes, at: int, kind: int, depth: int = 0) -> int:
    """Return where a value of a kind ends."""
    if kind in _FIXED:
        return at + _FIXED[kind]
    if depth > DEEPEST:
        raise IndexError
    if kind == _STRUCT:
        while (inner := data[at] & 15) != _STOP:
            at = at + 1 if data[at] >> 4 else _varint(data, at + 1)[1]
            at = _after(data, at, inner, depth + 1)
        return at + 1
    if kind in _LISTS:
        size, inner, at = data[at] >> 4, data[at] & 15, at + 1
        if size == LONG_LIST:
            size, at = _varint(data, at)
        for _ in range(min(size, LONGEST_HEADER)):
            at = _after(data, at, _BYTE if inner in (_TRUE, _FALSE) else inner, depth + 1)
        return at
    number, at = _varint(data, at)
    return at + number if kind == _BINARY else at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an integer of a variable number of bytes, and where it ends; IndexError for one that does not."""
    number = 0
    for i in range(10):
        number |= (data[at + i] & 127) << 7 * i
        if data[at + i] < 128:
            return number, at + i + 1
    raise IndexError


def _signed(number: int) -> int:
    return number >> 1 ^ -(number & 1)
