"""Shrinking: a smaller scenario with fewer flows, steps and digits, in which the target is still about as bad."""

from collections.abc import Iterator
from math import log

from aqmlab.problems import InputError
from aqmlab.runs.grid import number
from aqmlab.worst.document import Document, Path, leaves, put, written
from aqmlab.worst.score import RATIO, Criterion
from aqmlab.worst.search import SHRINKING, WorstSearch
from aqmlab.worst.spaces import short
from aqmlab.worst.trials import CaseTrial, case_of

SHRINKING_SEEDS = range(11, 16)
"""Seeds that neither the search nor the confirmation use."""
KEEPS = 0.7
"""Share of the regret's logarithm that a smaller scenario keeps."""
FEW_DIGITS = (1, 2)
TABLES = ("links", "flows", "changes")
NEEDED = ("schema", "name", "kind", "path", "links", "flows", "start_spread")
"""Keys that are never left out; the last lets seeds differ, so that no coincidence of one run is a finding."""


def shrunk(search: WorstSearch, trial: CaseTrial, criterion: Criterion) -> Document:
    """Return a smaller document of a trial; the trial's own if none is, or the share of the budget is spent."""
    document = trial.case.document
    regret = trial.of(criterion.name)
    least = max(log(RATIO), KEEPS * (regret.log if regret else 0.0))
    known = {written(document)}
    while search.has_time(SHRINKING):
        for smaller in _smaller(document):
            text = written(smaller)
            if text not in known and search.has_time(SHRINKING):
                known.add(text)
                if _still_bad(search, smaller, criterion, least):
                    document = smaller
                    break
        else:
            break
    return document


def _still_bad(search: WorstSearch, document: Document, criterion: Criterion, least: float) -> bool:
    try:
        case = case_of(search.plan, document)
    except InputError:
        return False
    [trial] = search.trials([case], SHRINKING_SEEDS)
    regret = trial.of(criterion.name)
    return regret is not None and regret.log >= least


def _smaller(document: Document) -> Iterator[Document]:
    """Yield documents that are one step smaller, the largest steps first."""
    paths = list(leaves(document))
    for table in reversed(TABLES):
        yield from (put(document, path, None) for path, _ in paths if len(path) == 2 and path[0] == table)
    for path, _ in paths:
        if path[-1] not in NEEDED and not isinstance(path[-1], int):
            yield put(document, path, None)
    for path, value in paths:
        if path[-1] == "count" and isinstance(value, int):
            yield from (put(document, path, fewer) for fewer in dict.fromkeys((1, 2, value // 2)) if 0 < fewer < value)
        if path == ("duration",):
            yield from _halved(document, path, value)
    for path, value in paths:
        yield from _rounded(document, path, value)


def _halved(document: Document, path: Path, value: object) -> Iterator[Document]:
    if found := number(value):
        yield put(document, path, short(found[0] / 2, found[1], 2))


def _rounded(document: Document, path: Path, value: object) -> Iterator[Document]:
    """Yield the document with fewer digits of a quantity."""
    found = number(value) if isinstance(value, str) else None
    if found is None or not found[1]:
        return
    for digits in FEW_DIGITS:
        rounder = short(found[0], found[1], digits)
        if rounder != short(found[0], found[1], 12):
            yield put(document, path, rounder)
