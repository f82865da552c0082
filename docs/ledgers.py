"""Write the ledgers of the papers, docs/ledgers/NAME.md, and two summaries of them (twenty minutes).

The summaries are tables in docs/studies.md and docs/ledgers/changes.md, and docs/ledgers/second-reading.md, the
verdicts that changed since the first reading. `python docs/ledgers.py [NAME...]` runs the studies with five seeds, all
by default. `--sensitivity` first judges the failing sentences under other readings and settings, with three seeds. It
stores the origin of each failure in python/aqmlab/study/ledgers/sensitivity. `--keep FOLDER` stores its runs: the same
command goes on after an interruption.
"""

import argparse
import csv
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tables import table

import aqmlab
from aqmlab.study.claims import VERDICTS, Checked
from aqmlab.study.paper import load_study
from aqmlab.study.reproduction import Reproduction

DOCS = Path(__file__).parent
STORED = Path(aqmlab.__file__).parent / "study" / "ledgers" / "sensitivity"
SEEDS = 5
VARIED_SEEDS = defaultdict(lambda: 3, xiong2010=5)
"""Seeds of --sensitivity; under three seeds other sentences of Xiong et al. fail than under five."""
SAID = {
    "holds": "hold",
    "weak": "pass for a control too and do not count",
    "fails": "fail",
    "undecided": "are not decided",
    "shown": "are shown by a table or figure",
    "background": "are background",
    "untestable": "are not testable",
    "missing": "are not measured",
}
FIRST = "0.2, first reading"
COUNTED = ("holds", "weak", "fails", "undecided", "shown", "background", "untestable")
VERSION_01 = {
    "boudi": (73, 19, 0, 35, 0, 6, 0, 13),
    "jafar": (38, 24, 0, 6, 0, 1, 0, 7),
    "li2014": (187, 101, 0, 61, 0, 11, 0, 14),
    "sun2007": (35, 27, 0, 4, 0, 1, 0, 3),
    "xiong2010": (51, 7, 0, 28, 0, 8, 0, 8),
}
"""What version 0.1 counted: sentences, and COUNTED."""
COLUMNS = 7
"""Columns of a ledger's table."""
FRONT = "---\nsearch:\n  boost: 0.3\n---"
"""Metadata of an evidence page: the site's search ranks it low."""
IN_PRINT = {True: "holds", False: "fails", None: ""}


def page(again: Reproduction) -> str:
    """Return the ledger of one paper, in the order of its sentences."""
    study = again.study
    counts = ", ".join(f"{count} {SAID[name]}" for name, count in again.ledger.items() if count and name in SAID)
    return "\n\n".join(
        [
            FRONT,
            f"# Sentences of {title(study.name)}",
            f"<!-- Written by `python docs/ledgers.py {study.name}`; do not edit. -->",
            f"*{study.title}* contains {len(again.claims)} sentences about the behaviour of schemes: {counts}.\n"
            f"They were measured with seeds 1 to {SEEDS}. See the [meaning of the verdicts](../studies.md#claims)\n"
            f"and [the study](../{study.name}.md).",
            "Meaning of the paper's vague words:",
            "\n".join(f"- {word}: {meaning}." for word, meaning in study.words.items()),
            table(
                ("section", "sentence", "verdict", "seeds", "in print", "origin", "measured, and reason"),
                map(row, again.claims),
            ),
        ]
    )


def row(checked: Checked) -> Sequence[str]:
    """Return one sentence as a row, with the number of seeds under which it holds alone, if it was measured."""
    verdict = f"{VERDICTS[checked.verdict].mark} {checked.verdict}"
    seeds = f"{sum(checked.alone.values())} of {len(checked.alone)}" if checked.alone else ""
    text = re.sub(r"; under \d of \d seeds alone", "", checked.explanation)
    printed = IN_PRINT[checked.printed]
    return checked.claim.section, checked.claim.text, verdict, seeds, printed, checked.whose or "", text


def title(name: str) -> str:
    """Return the paper's name, from the title of its page."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def sentences(name: str) -> dict[tuple[str, str], Sequence[str]]:
    """Return the cells of each row of a ledger's page, by section and sentence; the verdict without its mark."""
    lines = (DOCS / "ledgers" / f"{name}.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    found = [cells for cells in rows if len(cells) == COLUMNS and cells[2].split()[-1] in VERDICTS]
    return {(section, sentence): [verdict.split()[-1], *rest] for section, sentence, verdict, *rest in found}


def summary() -> str:
    """Return the table of sentences by paper and verdict, read from the pages."""
    rows = []
    for name in aqmlab.studies():
        verdicts = [verdict for verdict, *_ in sentences(name).values()]
        counts = map(str, map(verdicts.count, VERDICTS))
        rows.append([f"[{title(name)}](ledgers/{name}.md)", str(len(verdicts)), *counts])
    total = ["all", *(str(sum(int(row[i]) for row in rows)) for i in range(1, len(rows[0])))]
    heads = ["paper", "sentences", *(f"{verdict.mark} {kind}" for kind, verdict in VERDICTS.items())]
    return table(heads, [*rows, total])


def changes() -> str:
    """Return how many sentences of each verdict each version has, the present one read from the pages."""
    with (DOCS / "ledgers" / "first-reading.csv").open(encoding="utf-8", newline="") as file:
        first = [*csv.DictReader(file)]
    rows = []
    for name in aqmlab.studies():
        versions = {
            FIRST: [row["verdict"] for row in first if row["paper"] == name],
            "0.2": [verdict for verdict, *_ in sentences(name).values()],
        }
        rows.append([f"[{title(name)}]({name}.md)", "0.1", *map(str, VERSION_01[name])])
        rows += [["", version, *counts(verdicts)] for version, verdicts in versions.items()]
    totals = {version: [row[2:] for row in rows if row[1] == version] for version in ("0.1", FIRST, "0.2")}
    for version, of in totals.items():
        rows.append(["all", version, *(str(sum(map(int, each))) for each in zip(*of, strict=True))])
    return table(["paper", "version", "sentences", *COUNTED], rows)


def counts(verdicts: Sequence[str]) -> list[str]:
    """Return the number of sentences, and of each verdict of COUNTED."""
    return list(map(str, (len(verdicts), *map(verdicts.count, COUNTED))))


def second_reading() -> str:
    """Return the page of the verdicts that changed since the first reading, read from the pages."""
    with (DOCS / "ledgers" / "first-reading.csv").open(encoding="utf-8", newline="") as file:
        first = [*csv.DictReader(file)]
    parts: dict[str, list[Sequence[str]]] = defaultdict(list)
    for name in aqmlab.studies():
        compare(name, {(row["section"], row["sentence"]): row for row in first if row["paper"] == name}, parts)
    return "\n\n".join(
        [
            FRONT,
            "# Verdicts of the second reading",
            "<!-- Written by `python docs/ledgers.py`; do not edit. -->",
            "The papers were read a second time, sentence by sentence. A failing sentence was judged by every\n"
            "reading that its text allows. [Studies](../studies.md#claims) defines the verdicts.",
            table(["paper", "reading", "sentences", *VERDICTS], parts["counts"]),
            f"## Changed: {len(parts['changed'])}",
            table(("paper", "section", "sentence", "before", "after", "readings", "measured"), parts["changed"]),
            f"## New or reworded: {len(parts['new'])}",
            table(("paper", "section", "sentence", "verdict", "readings", "measured"), parts["new"]),
            f"## Removed or reworded: {len(parts['gone'])}",
            table(("paper", "section", "sentence", "verdict before"), parts["gone"]),
        ]
    )


def compare(
    name: str, before: Mapping[tuple[str, str], Mapping[str, str]], parts: Mapping[str, list[Sequence[str]]]
) -> None:
    """Add the rows of one paper to the tables of `second_reading`."""
    now, paper = sentences(name), f"[{title(name)}]({name}.md)"
    readings = {"first": [row["verdict"] for row in before.values()], "second": [row[0] for row in now.values()]}
    for reading, verdicts in readings.items():
        parts["counts"].append([paper, reading, str(len(verdicts)), *map(str, map(verdicts.count, VERDICTS))])
    for place, (verdict, _, _, whose, measured) in now.items():
        was = before.get(place)
        if was is None:
            parts["new"].append([paper, *place, verdict, whose, measured])
        elif (was["verdict"], _origin(was["whose"])) != (verdict, _origin(whose)):
            old = ", ".join(filter(None, (was["verdict"], _origin(was["whose"]))))
            parts["changed"].append([paper, *place, old, verdict, whose, measured])
    parts["gone"].extend([paper, *place, was["verdict"]] for place, was in before.items() if place not in now)


def _origin(whose: str) -> str:
    """Return the origin of a failure without its variations."""
    return whose.partition(" (")[0]


def main() -> None:
    """Write the selected pages and the summaries; with --sensitivity first the origins of failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a study; by default all")
    parser.add_argument("--sensitivity", action="store_true", help="judge the failing sentences under other readings")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="store the runs of --sensitivity, and use them")
    asked = parser.parse_args()
    for name in asked.names or aqmlab.studies():
        if asked.sensitivity:
            file = asked.keep / f"{name}.jsonl" if asked.keep else None
            found = aqmlab.sensitivity(load_study(name).name, seeds=VARIED_SEEDS[name], file=file, whole=True)
            (STORED / f"{name}.json").write_text(found.json() + "\n", encoding="utf-8")
        again = aqmlab.reproduce(load_study(name).name, seeds=SEEDS)
        (DOCS / "ledgers" / f"{name}.md").write_text(page(again) + "\n", encoding="utf-8")
    (DOCS / "ledgers" / "second-reading.md").write_text(second_reading() + "\n", encoding="utf-8")
    fill(DOCS / "studies.md", "ledgers", summary())
    fill(DOCS / "ledgers" / "changes.md", "counts", changes())


def fill(page: Path, mark: str, text: str) -> None:
    """Write text between the marks of a page."""
    told, old = f"<!-- {mark} -->\n{text}\n<!-- end -->", page.read_text(encoding="utf-8")
    page.write_text(re.sub(rf"<!-- {mark} -->.*?<!-- end -->", lambda _: told, old, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
