"""The folder of a tune or a search for the worst case: it is continued by the same request only."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aqmlab.problems import InputError
from aqmlab.runs.store import Store


@contextmanager
def requested(
    folder: Path | None, kind: str, request: Mapping[str, Any], *, resume: bool, what: str, free: str
) -> Iterator[Store | None]:
    """Give the store of a request, which is locked meanwhile; its file `kind` (TUNE, BREAK) holds the request.

    Without a folder there is no store. InputError if another one is at work there, or if the folder holds one and
    `resume` is false or `request` differs. The message names `what` it is and its `free` values, which may change.
    """
    if folder is None:
        yield None
        return
    store = Store(folder, kind)
    with store.held(resume=resume):
        if (folder / kind).exists():
            changed = _changed(store.read(kind), request)
            if changed:
                raise InputError(
                    "out", f"{folder}: the {what} there differs in {', '.join(changed)}; only {free} may change"
                )
        else:
            store.write(kind, request)
        yield store
        store.pack(store.results())


def _changed(before: Any, request: Mapping[str, Any]) -> list[str]:
    before = before if isinstance(before, dict) else {}
    return [key for key, value in json.loads(json.dumps(request)).items() if before.get(key) != value]
