"""Measure the example of docs/rfc7928-evidence.md and draw the picture of docs/rfc7928.md (some seconds).

`python docs/rfc7928.py` writes both; the table is between `<!-- matrix -->` and `<!-- end -->`.
"""

import re
from pathlib import Path

from aqmlab.present.figures.suite import trade_off
from aqmlab.present.labels import label
from aqmlab.present.plots.files import draw, encode
from aqmlab.present.suite_words import mark, sentence, totals
from aqmlab.study.suite_result import DELAY, GOODPUT, SuiteResult, compare_suite

PAGE = Path(__file__).parent / "rfc7928-evidence.md"
PICTURE = Path(__file__).with_suffix(".png")
SCHEMES = "droptail,codel,pie,fq-codel"
SHOWN = (
    "5.1.1-newreno",
    "5.3b-unresponsive-and-newreno",
    "8.2.3-medium",
    "8.2.6-capacity-1",
    "9.2-bidirectional",
    "10.2-same",
)
"""Experiments in the picture; the report has them all."""


def matrix(result: SuiteResult) -> str:
    """Which scheme is best where, and the ranks."""
    heads = ["experiment", *(label(spec) for spec in result.schemes)]
    rows = [[trial.experiment.name, *(mark(trial, spec) for spec in result.schemes)] for trial in result.trials]
    rows += [[head, *cells] for head, cells in totals(result).items()]
    lines = [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]
    told = [sentence(measure, result.ranking(measure)) for measure in (DELAY, GOODPUT)]
    return "\n".join([*lines, "", *told])


def main() -> None:
    """Write the table and the picture."""
    result = compare_suite("rfc7928", SCHEMES, rate="20 Mbit/s", rtt="50 ms", flows=10, seeds=5)
    shown = [trial for trial in result.trials if trial.experiment.scenario.partition("/")[2] in SHOWN]
    PICTURE.write_bytes(encode(draw(trade_off(result, shown)), "png"))
    text = PAGE.read_text(encoding="utf-8")
    table = f"<!-- matrix -->\n{matrix(result)}\n<!-- end -->"
    PAGE.write_text(re.sub(r"<!-- matrix -->.*?<!-- end -->", lambda _: table, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
