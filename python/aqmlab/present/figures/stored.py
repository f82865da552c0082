"""Single runs of a sweep: the time series and distributions stored next to its table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqmlab import untrusted
from aqmlab.problems import in_words
from aqmlab.runs.columns import StoreError
from aqmlab.runs.findings import Findings
from aqmlab.runs.table import Case

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SERIES: tuple[str, tuple[str, ...]] = ("series", ("time", "queue", "utilisation"))
DELAYS: tuple[str, tuple[str, ...]] = ("delays", ("queue_delay", "share"))
"""The source of the figures of single runs: the folder and its columns."""


@dataclass(frozen=True)
class Stored:
    """The recorded columns of one run, by name; `seed` says which run it was."""

    seed: int
    columns: Mapping[str, "Array"] = field(repr=False)


Runs = Mapping[tuple[Case, str], Stored]
"""By case and scheme."""


def stored(found: Findings, what: str, columns: Sequence[str], cases: Sequence[Case]) -> Runs:
    """Return what is stored in the folder `what` (series or delays) of the first link, by case and scheme.

    Of several stored runs of a scheme in a case, the one of the lowest seed. Empty if nothing is stored. Raises
    StoreError for a file that is damaged.
    """
    runs = {row["key"]: (case, scheme, seed) for case, scheme, seed, row in _done(found, cases)}
    kept: dict[tuple[Case, str], Stored] = {}
    for path in sorted((found.folder / what).glob("[!.]*.parquet")):
        for (key, link), part in _read(found.folder, path, ["key", "link", *columns]).groupby(
            ["key", "link"], sort=False
        ):
            case, scheme, seed = runs.get(key, (None, "", 0))
            if case and link == case.link and ((case, scheme) not in kept or seed < kept[case, scheme].seed):
                kept[case, scheme] = Stored(seed, {name: part[name].to_numpy(float) for name in columns})
    return kept


def _read(folder: Path, path: Path, columns: Sequence[str]) -> "pd.DataFrame":
    import pyarrow as pa

    try:
        return untrusted.read_parquet(path, within=folder, columns=columns).to_pandas()[columns]  # type: ignore[no-any-return]
    except (OSError, KeyError, pa.ArrowException) as error:
        why = in_words(error).splitlines()[0]
        raise StoreError(
            f"{path}: cannot be read ({why}); delete it, and get it again by: aqmlab sweep --resume --series"
        ) from error


def _done(found: Findings, cases: Sequence[Case]) -> list[tuple[Case, str, int, Mapping[str, Any]]]:
    return [
        (case, scheme, seed, row)
        for case in cases
        for scheme in found.schemes
        for seed, row in found.runs(case, scheme).items()
    ]


def how_to_store(found: Findings) -> str:
    """Return the command that adds time series to a sweep."""
    return f"get them by: aqmlab sweep {found.folder / 'experiment.toml'} --out {found.folder} --resume --series first"
