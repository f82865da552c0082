"""Rows and columns of a sweep's files: to Parquet and back."""

import io
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab import _core, untrusted
from aqmlab.problems import in_words

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Links = Mapping[str, "Mapping[str, NDArray[Any]]"]
"""Columns of equal length by link, such as time series."""


class StoreError(OSError):
    """Results that cannot be written or read; those stored before are intact."""


def flat(path: str, value: Any) -> dict[str, Any]:
    """Return the plain values in nested dictionaries by their paths, in order."""
    if not isinstance(value, dict):
        return {path: value}
    found: dict[str, Any] = {}
    for place, inner in zip(_paths(path, tuple(value)), value.values(), strict=True):
        if isinstance(inner, dict):
            found |= flat(place, inner)
        else:
            found[place] = inner
    return found


@lru_cache(maxsize=1024)
def _paths(path: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The runs of a sweep have the same names; each is put together once."""
    return tuple(f"{path}.{name}" for name in names)


def measures(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measures in the JSON of a run by their full names, such as "links.bottleneck.queue_mean"."""
    return {
        **flat("links", run["links"]),
        **flat("flows", run["flows"]),
        **flat("stations", run.get("stations", {})),
        **flat("total", run["total"]),
        **flat("program", run.get("program", {})),
    }


def table(rows: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """Return a table with every column that a row has, in the order of their first appearance."""
    import pyarrow as pa

    names = dict.fromkeys(name for alike in dict.fromkeys(map(tuple, rows)) for name in alike)
    return typed({name: pa.array([row.get(name) for row in rows]) for name in names})


def typed(columns: "Mapping[str, pa.Array | pa.ChunkedArray]") -> "pa.Table":
    """Return columns as a table; one without any value needs a type too."""
    import pyarrow as pa

    blank = {"error": pa.string(), "result": pa.string()}
    return pa.table(
        {
            name: column.cast(blank.get(name, pa.float64())) if pa.types.is_null(column.type) else column
            for name, column in columns.items()
        }
    )


def measured(texts: "Sequence[str | None]") -> "dict[str, pa.Array]":
    """Return the numbers in the JSON of runs: columns by path, in the order of their first appearance.

    A run without a text has null in each; if none has one, there are no columns.
    """
    import pyarrow as pa

    def column(found: "_core.Column") -> "pa.Array":
        if isinstance(found, list):
            return pa.array(found)
        numbers, known, whole = found
        kind = pa.int64() if whole else pa.float64()
        return pa.array(numbers.astype("int64") if whole else numbers, kind, mask=~known)

    return {path: column(found) for path, found in _core.columns(texts).items()}


def by_link(key: str, links: Links) -> "pa.Table":
    """Return the columns of all links of a run as one table; where a link lacks a column, it is null."""
    import pyarrow as pa

    def of(link: str) -> "pa.Table":
        columns = {name: pa.array(values, pa.float64()) for name, values in links[link].items()}
        n = len(next(iter(columns.values())))
        return pa.table({"key": pa.array([key] * n, pa.string()), "link": pa.array([link] * n, pa.string()), **columns})

    return joined([of(link) for link in links])


def joined(tables: "Sequence[pa.Table]") -> "pa.Table":
    """Return the rows of all tables, with the columns of all."""
    import pyarrow as pa

    return pa.concat_tables(tables, promote_options="default")


def encode(columns: "pa.Table") -> bytes:
    """Return a table as a Parquet file, with checksums, so that no damage is read as a result."""
    import pyarrow as pa
    from pyarrow import parquet

    buffer = io.BytesIO()
    numbers = [field.name for field in columns.schema if not pa.types.is_string(field.type)]
    parquet.write_table(
        columns,
        buffer,
        compression="zstd",
        write_page_checksum=True,
        write_statistics=numbers or False,  # of a text, such as a result, they would be copies
    )
    return buffer.getvalue()


def decode(
    folder: Path, path: Path, wanted: Sequence[str], again: str = "--resume", rows: int = untrusted.MOST_RECORDS
) -> "pa.Table":
    """Return the table of at most `rows` rows in a file of a sweep's `folder`, which has the columns `wanted`.

    Raises StoreError for a damaged file, which says that the option `again` makes it again; InputError for a file
    that is not within the folder or beyond a limit; FileNotFoundError where there is none.
    """
    import pyarrow as pa

    try:
        found = untrusted.read_parquet(path, rows=rows, within=folder)
        names = found.column_names
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:  # the last by a damaged name of a column
        why = (error.strerror if isinstance(error, OSError) else None) or in_words(error).splitlines()[0]
        of_runs = f"delete it and continue with {again}: only its runs are done again"
        cure = f"continue with {again}, which writes it again" if path.parent == folder else of_runs
        raise StoreError(f"{path}: cannot be read ({why}); {cure}") from error
    if missing := [name for name in wanted if name not in names]:
        raise StoreError(f"{path}: is not a file of a sweep (it has no column {missing[0]}); move it elsewhere")
    return found
