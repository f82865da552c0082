"""The catalogue of worst cases that `aqmlab break` found: replay them, add one, measure Linux, write the page.

    python validation/found.py                 replay all; exit code 1 if one no longer holds
    python validation/found.py --some 20 7     replay twenty of them, drawn under seed 7
    python validation/found.py --add DIR NAME  add the finding in a folder of `aqmlab break --out DIR`

`found/NAME.toml` is the scenario. `found.json` contains the target, the peer, the measure, and their values in the
simulator and on Linux (means of ten seeds). It also says whose the finding is: "scheme", "controller", "model" or
"simulator". The cause is one sentence; the source is a publication, if there is one. docs/break-evidence.md is written
from it.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pages

from aqmlab._core import read_toml
from aqmlab.kernel.images import images
from aqmlab.problems import InputError
from aqmlab.runs.task import LINUX
from aqmlab.runs.workers import workers
from aqmlab.worst.memory import RunMemory
from aqmlab.worst.plan import WorstPlan, plan
from aqmlab.worst.score import RATIO, Regret
from aqmlab.worst.trials import Bench, case_of
from aqmlab.worst.words import sentence, shown

HERE = Path(__file__).parent
FOLDER, LIST, PAGE = HERE / "found", HERE / "found.json", HERE.parent / "docs" / "break-evidence.md"
SEEDS = range(1, 11)
DIGITS = 4
"""Significant digits of a stored value."""


@dataclass(frozen=True)
class Found:
    """A finding of the catalogue."""

    name: str
    target: str
    peer: str
    measure: str
    whose: str = ""
    cause: str = ""
    source: str = ""
    command: str = ""
    between: bool = False
    """The target is compared with itself on Linux, or with another version of itself."""
    values: tuple[float, float] | None = None
    """Of the target and of the peer in the simulator."""
    linux: tuple[float, float] | None = None
    """The same on Linux; None if it cannot play the scenario."""
    refused: str = ""
    """The reason why Linux cannot."""

    @property
    def text(self) -> str:
        """The scenario."""
        return (FOLDER / f"{self.name}.toml").read_text(encoding="utf-8")

    @property
    def plan(self) -> WorstPlan:
        """The target and its peer, in the simulator."""
        against, between = ([], [self.peer]) if self.between else ([self.peer], [])
        return plan(self.target, by=[self.measure], space=["link"], against=against, between=between)


def read() -> list[Found]:
    """Return the catalogue."""
    rows: list[dict[str, Any]] = json.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else []
    return [Found(**{key: _value(value) for key, value in row.items()}) for row in rows]


def _value(value: Any) -> Any:
    """Return a value of the list: pairs are tuples."""
    return tuple(value) if isinstance(value, list) else value


def write(rows: Sequence[Found]) -> None:
    """Write the catalogue."""
    kept = [{key: value for key, value in asdict(row).items() if value not in ("", None, False)} for row in rows]
    LIST.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def measured(found: Found, engine: str = "sim") -> Regret:
    """Return the regret of a finding over ten seeds. InputError if the engine cannot play it."""
    asked = found.plan
    contenders = [replace(each, engine=engine) for each in asked.contenders]
    asked = replace(asked, target=contenders[0], peers=tuple(contenders[1:]))
    with workers() as pool:
        bench = Bench(asked, RunMemory(), pool)
        [trial] = bench.trials([case_of(asked, read_toml(found.text, found.name))], SEEDS)
    regret = trial.of(found.measure)
    if regret is None:
        raise InputError("found", f"{found.name}: {bench.failures or 'the measure has no value'}")
    return regret


def replay(rows: Sequence[Found]) -> Iterator[str]:
    """Yield a line for each finding that no longer holds."""
    for each in rows:
        regret = measured(each)
        print(f"{each.name}: {regret.mean:.2f} times as bad", flush=True)
        if regret.mean < RATIO:
            yield f"{each.name}: no longer {RATIO} times as bad: {regret.target:g} against {regret.peers}"


def pair(regret: Regret) -> tuple[float, float]:
    """Return the values of the target and of its peer, rounded."""
    ours, theirs = (float(f"{value:.{DIGITS}g}") for value in (regret.target, fmean(regret.peers.values())))
    return ours, theirs


def completed(row: Found) -> Found:
    """Return a finding with its values, and those of Linux if a kernel is built."""
    row = replace(row, values=pair(measured(row)))
    if not images():
        return row
    try:
        return replace(row, linux=pair(measured(row, LINUX)), refused="")
    except (InputError, ValueError) as error:
        return replace(row, linux=None, refused=str(error).splitlines()[0].partition(": ")[2])


def add(folder: Path, name: str) -> Found:
    """Add the finding in a folder of a search; the text of its cause and source is written by hand."""
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    if document["scenario"] is None:
        sys.exit(f"{folder}: has no finding")
    (FOLDER / f"{name}.toml").write_text(document["scenario"], encoding="utf-8")
    count, unit = document["budget"].split()
    budget = f"--runs {count}" if unit == "runs" else f"--time {count}{unit}"
    options = f"--by {document['by']} --space {document['space']} {budget} --seed {document['seed']}"
    command = f"aqmlab break {document['target']} --against {document['best_peer']['name']} {options}"
    return Found(
        name, document["target"], document["best_peer"]["name"], document["by"], document["kind"], command=command
    )


HEAD = f"""\
{pages.FRONT}# Worst cases

<!-- Written by `validation/found.py`; do not edit. -->

`aqmlab break` [searches](break.md) for the smallest scenario in which a scheme or a congestion controller is worst.
These are the findings in `validation/found/`, with means of ten seeds. Linux 7.3 in virtual time runs the same scenario
if it supports it. `make soak` replays all findings, and `make nightly` twenty of them.

"""


def cells(row: Found) -> Iterator[list[str]]:
    """Yield the rows of a finding's table."""
    asked = row.plan
    target, peer = asked.target.name, asked.peers[0].name
    for title, values in (("simulator", row.values), ("Linux 7.3", row.linux)):
        if values:
            regret = Regret(asked.criteria[0], values[0], {peer: values[1]}, peer, 1.0, None, len(SEEDS))
            if title == "simulator":
                yield ["case", sentence(asked, read_toml(row.text, row.name), regret)]
            yield [title, f"{shown(regret, values[0])} under {target}, {shown(regret, values[1])} under {peer}"]
    told = {"Linux 7.3": row.refused, "part": row.whose, "cause": row.cause, "source": row.source}
    yield from ([title, text] for title, text in told.items() if text)
    yield ["command", f"`{row.command}`"]


def page(rows: Sequence[Found]) -> str:
    """Return the page."""
    on_linux = sum(row.linux is not None for row in rows)
    parts = [f"{HEAD}Findings: {len(rows)}. Linux runs {on_linux} of them.", ""]
    for row in rows:
        parts += [f"## {row.name}", "", *pages.table(["", ""], cells(row)), "", "```toml", row.text.rstrip(), "```", ""]
    return "\n".join(parts).rstrip() + "\n"


def publish(rows: Sequence[Found]) -> None:
    """Write the catalogue and its page."""
    write(rows)
    PAGE.write_text(page(rows), encoding="utf-8")


def main() -> None:
    """Replay, add a finding, or measure and write the page."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    wanted = parser.add_mutually_exclusive_group()
    wanted.add_argument("--some", nargs=2, type=int, metavar=("N", "SEED"), help="replay N findings, drawn under SEED")
    wanted.add_argument("--add", nargs=2, metavar=("DIR", "NAME"), help="add the finding in the folder of a search")
    wanted.add_argument("--page", action="store_true", help="measure findings without values, and write the page")
    asked = parser.parse_args()
    rows = read()
    if asked.add:
        rows = [row for row in rows if row.name != asked.add[1]] + [completed(add(Path(asked.add[0]), asked.add[1]))]
    if asked.add or asked.page:
        publish([row if row.values else completed(row) for row in rows])
        return
    if asked.some:
        count, seed = asked.some
        rows = random.Random(seed).sample(rows, min(count, len(rows)))
    sys.exit("\n".join(replay(rows)) or 0)


if __name__ == "__main__":
    main()
