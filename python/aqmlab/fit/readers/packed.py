"""Files that gzip packed: the content as a stream, read in one pass."""

import io
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

from aqmlab.problems import InputError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MAGIC = b"\x1f\x8b"
_CHUNK = 2**16
"""Packed bytes that are read at a time."""
_GZIP = 31
"""Window bits by which zlib expects the header and the checksum of gzip."""


def unpacked(file: BinaryIO, name: str) -> BinaryIO:
    """Return what an open file contains from its start, unpacked if gzip packed it.

    Reading raises InputError about `name` if the file is damaged, or has data after its first member.
    """
    file.seek(0)
    is_packed = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    return cast(BinaryIO, io.BufferedReader(_Member(file, name), _CHUNK)) if is_packed else file


class _Member(io.RawIOBase):
    """The one member of a gzip file. Many empty members, which take long and contain nothing, are refused."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__()
        self._file, self._name = file, name
        self._unpack = zlib.decompressobj(_GZIP)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        while not self._unpack.eof:
            packed = self._unpack.unconsumed_tail or self._file.read(_CHUNK)
            try:
                found = self._unpack.decompress(packed, len(view))
            except zlib.error as error:
                raise self._damaged(str(error)) from None
            if found:
                view[: len(found)] = found
                return len(found)
            if not packed and not self._unpack.eof:
                raise self._damaged("it is truncated")
        if self._unpack.unused_data or self._file.read(1):
            raise self._damaged("it has data after its end")
        return 0

    def _damaged(self, reason: str) -> InputError:
        return InputError("file", f"{self._name}: is damaged ({reason}); expected a complete gzip file")
