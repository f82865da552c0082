"""Write the ledgers of the papers, docs/ledgers/NAME.md, and their summary in docs/studies.md (twenty minutes).

`python docs/ledgers.py [NAME...]` runs the studies with five seeds, all by default. `--sensitivity` first varies what
the sentences that fail rest on, with three seeds, and stores whose failure each is, in
python/aqmlab/study/ledgers/sensitivity.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tables import table

import aqmlab
from aqmlab.study.claims import VERDICTS, Checked
from aqmlab.study.paper import load_study
from aqmlab.study.reproduction import Reproduction

DOCS = Path(__file__).parent
STORED = Path(aqmlab.__file__).parent / "study" / "ledgers" / "sensitivity"
SEEDS = 5
VARIED_SEEDS = 3
SAID = {
    "holds": "hold",
    "weak": "hold of a control too and so do not count",
    "fails": "fail",
    "undecided": "not decided",
    "shown": "shown by a table or figure",
    "background": "background",
    "untestable": "not testable",
    "missing": "not measured",
}
IN_PRINT = {True: "holds", False: "fails", None: ""}


def page(again: Reproduction) -> str:
    """The ledger of one paper, by section in the paper's order of sentences."""
    study = again.study
    counts = ", ".join(f"{count} {SAID[name]}" for name, count in again.ledger.items() if count and name in SAID)
    return "\n\n".join(
        [
            f"# What {title(study.name)} says",
            f"<!-- Written by `python docs/ledgers.py {study.name}`; do not edit. -->",
            f"Every sentence of *{study.title}* about what a scheme does: {len(again.claims)}, of which {counts}.\n"
            f"Measured with seeds 1 to {SEEDS}. [What the verdicts mean](../studies.md#claims);\n"
            f"[the study](../{study.name}.md).",
            "What the paper's words are taken for:",
            "\n".join(f"- {word}: {meaning}." for word, meaning in study.words.items()),
            table(
                ("section", "sentence", "verdict", "seeds", "in print", "whose", "measured, and why"),
                map(row, again.claims),
            ),
        ]
    )


def row(checked: Checked) -> Sequence[str]:
    """One sentence; the seeds under which it holds alone, if it was measured."""
    verdict = f"{VERDICTS[checked.verdict].mark} {checked.verdict}"
    seeds = f"{sum(checked.alone.values())} of {len(checked.alone)}" if checked.alone else ""
    told = re.sub(r"; under \d of \d seeds alone", "", checked.told)
    printed = IN_PRINT[checked.printed]
    return checked.claim.section, checked.claim.text, verdict, seeds, printed, checked.whose or "", told


def title(name: str) -> str:
    """The paper's name on its page."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def summary() -> str:
    """How many sentences each paper's ledger has of each verdict, read from the pages."""
    rows = []
    for name in aqmlab.studies():
        ledger = (DOCS / "ledgers" / f"{name}.md").read_text(encoding="utf-8")
        counts = [
            len(re.findall(rf"^\|.*\| {re.escape(verdict.mark)} {kind} \|", ledger, re.MULTILINE))
            for kind, verdict in VERDICTS.items()
        ]
        rows.append([f"[{title(name)}](ledgers/{name}.md)", str(sum(counts)), *map(str, counts)])
    total = ["all", *(str(sum(int(row[i]) for row in rows)) for i in range(1, len(rows[0])))]
    heads = ["paper", "sentences", *(f"{verdict.mark} {kind}" for kind, verdict in VERDICTS.items())]
    return table(heads, [*rows, total])


def main() -> None:
    """Write the pages asked for, and the summary; with --sensitivity also what they show of failures."""
    for name in [name for name in sys.argv[1:] if name != "--sensitivity"] or aqmlab.studies():
        if "--sensitivity" in sys.argv:
            found = aqmlab.sensitivity(load_study(name).name, seeds=VARIED_SEEDS)
            (STORED / f"{name}.json").write_text(found.json() + "\n", encoding="utf-8")
        again = aqmlab.reproduce(load_study(name).name, seeds=SEEDS)
        (DOCS / "ledgers" / f"{name}.md").write_text(page(again) + "\n", encoding="utf-8")
    studies = DOCS / "studies.md"
    text = studies.read_text(encoding="utf-8")
    told = f"<!-- ledgers -->\n{summary()}\n<!-- end -->"
    studies.write_text(
        re.sub(r"<!-- ledgers -->.*?<!-- end -->", lambda _: told, text, flags=re.DOTALL), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
