"""Compare every built-in scenario with the results stored in frozen.json: no result may change unnoticed.

    python validation/frozen.py

The exit code is 1 if any result changed. `--whole` also compares the larger runs of the papers' documents. `--store`
stores the results, after a change that is meant to move numbers and that CHANGELOG.md mentions. With
`--only pi li2014` it stores one scheme and one study only.

A digest covers the values of all keys that the results contained when they were stored. Keys may be added, and the keys
under `engine` (events, wall time) are ignored. `--dump DIR` writes these values, to find the change.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aqmlab
from aqmlab.catalogue import halves
from aqmlab.studio.lessons import lesson

STORED = Path(__file__).with_name("frozen.json")
PAPERS = ("boudi", "jafar", "li2014", "sun2007", "xiong2010")
LARGE = ("networks/", "board/")
"""Scenarios of ten thousand lines, which `make bench` runs, and those of the board, which `docs/board.py` repeats."""
BRIEF = ("rmcat-wireless", "marking", "fq-memory", "bbr-docsis", "bursts")
"""Suites whose scenarios take a second each, and are held under the schemes of the suite only."""
AVERAGED = re.compile(r"boudi/.*-(40|50|60|80|100)$")
"""Scenarios that the document of their paper holds, too, in averages and figures: `make soak` runs them once more."""
EXTRA = ("fq-pi", "fq-red")
"""Schemes that no list shows, in addition to the listed ones."""
ADDED = re.compile(r"\.(flows\.[^.]+|total)\.(dropped|drop_ratio)$")
"""Values of groups of flows that came later than the links' of the same name, and so are not held."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and value of everything in a JSON document but what the engine says of itself."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "engine":
                yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}.{index}")
    else:
        yield path, value


def key(path: str) -> str:
    """Return the last name in a path: the name of a value at any place in a result."""
    return next((part for part in reversed(path.split(".")) if not part.isdigit()), "")


def schemes_of(scenario: str) -> list[str]:
    """Return the schemes that a scenario is held to: its paper's, its lesson's, or all."""
    study, _, name = scenario.partition("/")
    if study == "lessons":
        return [spec for spec in lesson(name).aqms if spec]
    if study in BRIEF:
        from aqmlab.study.suite import load_suite

        return list(load_suite(study).schemes.values())
    if study in PAPERS:
        from aqmlab.study.paper import load_study

        paper = load_study(study)
        specs = [spec for table in paper.tables for spec in table.schemes.values()]
        return list(dict.fromkeys([*paper.schemes.values(), *specs]))
    return [*(scheme.name for scheme in aqmlab.schemes()), *EXTRA]


def measure(task: tuple[str, str]) -> dict[str, Any]:
    """Return one run, its scheme without parameters, as it was stored; or the words in which it was refused."""
    scenario, aqm = task
    try:
        return {**aqmlab.run(scenario, aqm, seed=1).measured, "aqm": halves(aqm)[0]}
    except aqmlab.InputError as error:
        return {"refused": str(error)}


def measure_all(only: frozenset[str], whole: bool) -> dict[str, Any]:
    """Return every result by its name, or the results of some schemes, studies and papers."""
    scenarios = [name for name in aqmlab.scenarios() if not name.startswith(LARGE)]
    scenarios = [name for name in scenarios if whole or not AVERAGED.match(name)]
    runs = [(scenario, aqm) for scenario in scenarios for aqm in schemes_of(scenario)]
    tasks = [
        (scenario, aqm) for scenario, aqm in runs if not only or {halves(aqm)[0], scenario.partition("/")[0]} & only
    ]
    papers = [paper for paper in PAPERS if not only or paper in only]
    with ThreadPoolExecutor() as pool:
        documents = {" ".join(task): found for task, found in zip(tasks, pool.map(measure, tasks), strict=True)}
    return documents | {paper: json.loads(aqmlab.reproduce(paper).json()) for paper in papers}


def digest(document: Any, keys: frozenset[str]) -> str:
    """Return a digest of the values of `keys` in a document."""
    held = [(path, value) for path, value in leaves(document) if key(path) in keys and not ADDED.search(path)]
    return hashlib.sha256(json.dumps(sorted(held), ensure_ascii=True).encode()).hexdigest()[:16]


def main() -> int:
    """Store or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", action="store_true", help="store what is measured now")
    parser.add_argument(
        "--new-keys", action="store_true", help="for --store: include new measures; every digest changes"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="the results of these schemes, studies and papers, not all",
    )
    parser.add_argument("--whole", action="store_true", help="also the runs that the document of their paper holds")
    parser.add_argument("--dump", type=Path, metavar="DIR", help="also write every result there")
    asked = parser.parse_args()
    documents = measure_all(frozenset(asked.only), asked.whole or asked.store)
    if asked.dump:
        asked.dump.mkdir(parents=True, exist_ok=True)
        for name, document in documents.items():
            (asked.dump / f"{name.replace('/', '_').replace(' ', '__')}.json").write_text(
                json.dumps(document, indent=1)
            )
    stored = json.loads(STORED.read_text())
    keys = frozenset(stored["keys"])
    if asked.store:
        if asked.new_keys:
            keys = frozenset(key(path) for document in documents.values() for path, _ in leaves(document))
        kept = stored["digests"] if asked.only else {}
        digests = kept | {name: digest(document, keys) for name, document in documents.items()}
        STORED.write_text(json.dumps({"keys": sorted(keys), "digests": digests}, indent=0) + "\n")
        print(f"{len(documents)} results stored")
        return 0
    asked_for = [name for name in stored["digests"] if asked.whole or not AVERAGED.match(name.partition(" ")[0])]
    moved = [
        name
        for name in asked_for
        if (name not in documents and not asked.only)
        or (name in documents and digest(documents[name], keys) != stored["digests"][name])
    ]
    left = len(stored["digests"]) - len(asked_for)
    print(*(f"moved: {name}" for name in moved), f"{len(moved)} of {len(asked_for)} results moved", sep="\n")
    if left:
        print(f"{left} more are held by the documents of their papers, too: --whole runs them")
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main())
