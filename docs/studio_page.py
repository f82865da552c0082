"""Write what the studio's server would answer as files of the page that needs none: `docs/studio_page.py FOLDER`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aqmlab import exercise, scenario
from aqmlab.studio.app import Studio, opened
from aqmlab.studio.lessons import lessons
from aqmlab.studio.published import published
from aqmlab.study import paper


def answers() -> Iterator[tuple[str, Any]]:
    """Yield each route with its answer; what depends on a message is asked of the engine."""
    studio = Studio()
    yield "catalogue", json.loads(studio.catalogue)
    yield "results", {"folders": []}
    yield from ((f"scenario/{name}", opened(studio, name)) for name in scenario.scenarios())
    yield from ((f"lessons/{each.id}", each.document()) for each in lessons())
    yield from ((f"exercise/{each.id}", each.document()) for each in exercise.sheets())
    yield from ((f"published/{name}", published(name)) for name in paper.studies())


if __name__ == "__main__":
    for route, answer in answers():
        file = Path(sys.argv[1], f"{route}.json")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False), encoding="utf-8"
        )
