"""Measure the tables of docs/tune.md, and the tournament of docs/tuned.md with its diagrams.

`python docs/tune.py FOLDER` stores the runs of the tournament in the folder, and resumes from the runs there. It takes
five minutes on two cores.
"""

import re
import shlex
import sys
from pathlib import Path

from aqmlab.present.figures.tune import ranks
from aqmlab.present.labels import label
from aqmlab.present.plots.files import draw, encode
from aqmlab.present.tune_words import rows
from aqmlab.tune import tournament
from aqmlab.tune.plan import plan
from aqmlab.tune.result import PUBLISHED, TUNED, tune

DOCS = Path(__file__).parent
COMMAND = "$ aqmlab tune pi --parameters "


def pi() -> tuple[str, str]:
    """Return the result of the command of docs/tune.md for PI, and its run time with one job."""
    [line] = [each for each in (DOCS / "tune.md").read_text(encoding="utf-8").splitlines() if each.startswith(COMMAND)]
    words = shlex.split(line)[3:]
    given: dict[str, list[str]] = {}
    for option, value in zip(words[1::2], words[2::2], strict=True):
        given.setdefault(option, []).append(value)
    asked = plan(
        words[0],
        given["--scenario"],
        given["--objective"],
        subject_to=given["--subject-to"],
        parameters=given["--parameters"][0].split(","),
        budget=given["--budget"][0],
        seeds=int(given["--seeds"][0]),
        held_out=given["--held-out"],
    )
    found = tune(asked, jobs=1)
    table = grid(
        ["scenario", "parameters", *(goal.heading for goal in asked.shown)], [(a, b, *c) for a, b, c in rows(found)]
    )
    added = 100 * (found.wall / found.engine - 1)
    cost = (
        f"The search for PI took {found.wall:.1f} s with one job, including the evaluation. The simulator used "
        f"{found.engine:.1f} s, so tuning adds {added:.1f} %."
    )
    return f"`--aqm {found.best.spec if found.best else '–'}`\n\n{table}", cost


def tuned(folder: Path) -> str:
    """Return the sentences and tables of the tournament; draws the diagrams."""
    found = tournament.run(folder, resume=True)
    for role in (PUBLISHED, TUNED):
        if drawn := ranks(found, role):
            (DOCS / f"tuned-{role}.png").write_bytes(encode(draw(drawn), "png"))
    heads = ["scheme", "rank published", "rank tuned", "queue error published", "queue error tuned", "runs"]
    table = grid(heads, [(label(row.name), *row.texts) for row in found.rows()])
    lines = grid(["scheme", "tuned"], [(label(name), f"`{spec}`") for name, spec in found.tuned.items()])
    return "\n\n".join(["\n".join(tournament.sentences(found)), table, lines])


def grid(heads: list[str], cells: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(each)} |" for each in [heads, ["---"] * len(heads), *cells])


def fill(page: str, mark: str, text: str) -> None:
    """Put a text between its marks on a page."""
    path = DOCS / page
    old = path.read_text(encoding="utf-8")
    new = re.sub(
        rf"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}{text}\n{m[2]}", old, count=1, flags=re.DOTALL
    )
    path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    table, cost = pi()
    fill("tune.md", "pi", table)
    fill("tune.md", "cost", cost)
    fill("tuned.md", "answer", tuned(Path(sys.argv[1])))
