"""Optuna's journal of a tune, for its dashboard and other tools of the kind."""

import json
from pathlib import Path
from typing import Any

from optuna.storages.journal import JournalFileBackend


class Journal(JournalFileBackend):
    """A journal file that is not synced with the disk at each line: it is made again from the runs that are stored.

    The folder's lock keeps other writers out.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write entries."""
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
