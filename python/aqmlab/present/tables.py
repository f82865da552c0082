"""The tables of findings: scenarios × schemes × measures as text for LaTeX, Markdown and programs."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from aqmlab.csv_text import csv_text
from aqmlab.names import plain
from aqmlab.present.labels import footnote, label
from aqmlab.present.text import runs
from aqmlab.runs.findings import Findings, more_is_better
from aqmlab.runs.measures import heading
from aqmlab.runs.metrics import Metric, find
from aqmlab.runs.statistics import Summary
from aqmlab.runs.table import Case, State, told_states

ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "µ": r"\textmu{}",
        "×": r"$\times$",
        "±": r"$\pm$",
        "→": r"$\to$",
        "†": r"\textdagger{}",
        "‡": r"\textdaggerdbl{}",
        "\n": " ",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)
"""Characters that LaTeX needs escaped."""
MARKDOWN = str.maketrans({"|": "&#124;", "[": "&#91;", "`": "&#96;", "\n": " "})
"""Characters that end a cell of Markdown or begin a link, a picture or code; an entity of HTML begins none."""

DIFFERS = "*"
"""The mark of a value that differs from the value of the first scheme."""


@dataclass(frozen=True)
class Entry:
    """One cell of a table: a mean over seeds, or the means of two states.

    `best` if it is better than all others under the same seeds, `differs` if it differs from the first scheme's.
    """

    metric: Metric
    summary: Summary | None
    states: Sequence[Summary | None]
    missing: int
    best: bool
    differs: bool

    @property
    def means(self) -> list[str]:
        """The mean as people read it, or the means of both states."""
        summaries = self.states if self.states and self.summary else [self.summary]
        return [self.metric.show(summary.mean if summary else None) for summary in summaries]

    @property
    def half_width(self) -> str | None:
        """The half-width of the interval as people read it, None where there is none."""
        width = None if self.states or not self.summary else self.summary.half_width
        return None if width is None else self.metric.show(width)

    @property
    def text(self) -> str:
        """The number as people read it: mean ± half-width, or both states."""
        means = " | ".join(self.means)
        return means if self.half_width is None else f"{means} ±\N{NO-BREAK SPACE}{self.half_width}"

    @property
    def some(self) -> str:
        """The number of seeds that have a value, if not all have one."""
        return f"{self.summary.n} of {self.summary.n + self.missing} seeds" if self.summary and self.missing else ""


def entries(found: Findings, case: Case, measures: Sequence[str]) -> dict[str, list[Entry]]:
    """Return the table of a case: the entries of each scheme, a column for each measure."""
    columns = [_column(found, case, measure) for measure in measures]
    return {scheme: [column[scheme] for column in columns] for scheme in found.schemes}


def _column(found: Findings, case: Case, measure: str) -> dict[str, Entry]:
    metric = find(measure)
    summaries = {scheme: found.measured.summary(case, scheme, measure) for scheme in found.schemes}
    best = _best(found, case, measure)
    return {
        scheme: Entry(
            metric,
            summary,
            [found.measured.summary(case, scheme, measure, branch) for branch in _states(found, case, scheme)],
            len(found.runs(case, scheme)) - (summary.n if summary else 0),
            scheme == best,
            scheme != found.schemes[0] and _differ(found, case, measure, scheme, found.schemes[0]),
        )
        for scheme, summary in summaries.items()
    }


def _best(found: Findings, case: Case, measure: str) -> str | None:
    """The scheme that is better than every other one that has a value; None where neither or both of two are."""
    more = more_is_better(measure)
    means = {each: summary.mean for each in found.schemes if (summary := found.measured.summary(case, each, measure))}
    if more is None or len(means) < 2:
        return None
    best = (max if more else min)(means, key=lambda each: means[each])
    return best if all(_differ(found, case, measure, best, other) for other in means if other != best) else None


def _differ(found: Findings, case: Case, measure: str, one: str, other: str) -> bool:
    """Return whether the paired difference's interval leaves 0 out; with one seed, whether people read two numbers."""
    paired = found.measured.difference(case, one, other, measure)
    if paired is None:
        return False
    width = paired.difference.half_width
    if width is not None:
        return abs(paired.difference.mean) > width
    means = [summary.mean for each in (one, other) if (summary := found.measured.summary(case, each, measure))]
    return len(set(map(find(measure).show, means))) > 1


def _states(found: Findings, case: Case, scheme: str) -> Sequence[State]:
    return found.measured.states(case, scheme) or ()


def notes(found: Findings, case: Case) -> list[str]:
    """Return what must be read before the means of a case are trusted: which schemes have two states."""
    return [told_states(label(scheme), two) for scheme in found.schemes if (two := found.measured.states(case, scheme))]


def named(found: Findings, case: Case, scheme: str) -> str:
    """Return the label of a scheme in a case: what it was replaced by there, too, or what the link kept instead."""
    return label(scheme) + found.departs(case, scheme)


def as_csv(found: Findings, measures: Sequence[str]) -> str:
    """Return a row for each case, scheme and measure: mean and half-width in SI units or packets, number of seeds."""
    varied = [name for name in found.varied if name.startswith("set.")]
    rows: list[list[object]] = [["scenario", *varied, "aqm", "measure", "unit", "mean", "half_width", "n"]]
    for case in found.cases:
        given = dict(case.overrides)
        place = [case.scenario, *(given.get(name.removeprefix("set."), "") for name in varied)]
        for scheme in found.schemes:
            for measure in measures:
                summary = found.measured.summary(case, scheme, measure) or Summary(float("nan"), None, 0)
                mean = float(summary.mean) if summary.n else None
                width = None if summary.half_width is None else float(summary.half_width)
                rows.append([*place, scheme, measure, find(measure).unit, mean, width, summary.n])
    return csv_text(rows)


def as_markdown(found: Findings, measures: Sequence[str], footnotes: bool = True) -> str:
    """Return a Markdown table for each case, the best means in bold."""
    return "\n".join(["\n".join(_markdown(found, case, measures, footnotes)) for case in found.cases])


def _markdown(found: Findings, case: Case, measures: Sequence[str], footnotes: bool) -> Iterator[str]:
    yield f"## {in_markdown(case.name)}\n"
    yield f"| {in_markdown(found.head)} | {' | '.join(in_markdown(heading(measure)) for measure in measures)} |"
    yield "|---" + "|--:" * len(measures) + "|"
    for scheme, row in entries(found, case, measures).items():
        cells = [(f"**{entry.text}**" if entry.best else entry.text).replace("|", "/") for entry in row]
        cells = [rf"{text} \{DIFFERS}" if entry.differs else text for text, entry in zip(cells, row, strict=True)]
        cells = [f"{text} ({entry.some})" if entry.some else text for text, entry in zip(cells, row, strict=True)]
        yield f"| {in_markdown(named(found, case, scheme))} | {' | '.join(cells)} |"
    yield ""
    if footnotes:
        yield from (f"- {in_markdown(note)}" for note in [*remarks(found, measures), *notes(found, case)])
        yield ""


def as_latex(found: Findings, measures: Sequence[str], footnotes: bool = True) -> str:
    """Return a LaTeX table for each case, for the package booktabs; the best means in bold."""
    tables = [_latex(found, case, measures, footnotes) for case in found.cases]
    return "\n".join(["% \\usepackage{booktabs}", *tables])


def _latex(found: Findings, case: Case, measures: Sequence[str], footnotes: bool) -> str:
    rows = [
        " & ".join([escaped(named(found, case, scheme)), *map(cell, row)]) + r" \\"
        for scheme, row in entries(found, case, measures).items()
    ]
    sentences = [*remarks(found, measures), *notes(found, case)] if footnotes else []
    where = found.title if len(found.cases) == 1 else f"{found.title}: {case.name}"
    columns = "l" + "r" * len(measures)
    caption = " ".join([f"{where.rstrip('.')}.", *sentences])
    heads = [found.head, *map(heading, measures)]
    return "\n".join(floating(columns, caption, case.name, heads, rows))


def stacked(head: str) -> str:
    """The head of a LaTeX column: whose it is, the measure and the unit below each other, as a column is narrow."""
    lines = [escaped(line) for line in re.split(r"(?<=:) | (?=\()", head)]
    return lines[0] if len(lines) == 1 else r"\shortstack[r]{" + r"\\".join(lines) + "}"


def cell(entry: Entry) -> str:
    """An entry of a LaTeX table, the best mean in bold."""
    means = " / ".join(entry.means)
    width = "" if entry.half_width is None else rf" \pm {entry.half_width}"
    formula = rf"\mathbf{{{means}}}{width}" if entry.best else f"{means}{width}"
    text = escaped(means) if "–" in means else f"${formula}$"
    if entry.differs:
        text += rf"\rlap{{$^{DIFFERS}$}}"
    return f"{text} ({entry.some})" if entry.some else text


def remarks(found: Findings, measures: Sequence[str]) -> list[str]:
    """The remarks under a table."""
    counts = [len(found.runs(case, scheme)) for case in found.cases for scheme in found.schemes]
    n = runs([count for count in counts if count] or [0], found.seeds)
    several = f"mean ± half-width of the 95 % interval, {n}" if len(found.seeds) > 1 else "one seed"
    compared = len(found.schemes) > 1
    first = f"; {DIFFERS}: differs from {label(found.schemes[0])}" if compared else ""
    ranked = compared and any(more_is_better(measure) is not None for measure in measures)
    bold = "; bold: better than all others" if ranked else ""
    test = " (95 % interval of the paired difference excludes 0)" if compared and len(found.seeds) > 1 else ""
    marks = footnote(map(label, found.schemes))
    return [f"{several[0].upper()}{several[1:]}{bold}{first}{test}.", *([marks] if marks else [])]


def floating(columns: str, caption: str, name: str, heads: Sequence[str], rows: Iterable[str]) -> list[str]:
    """Return the lines of a LaTeX table, whose rows are written already; its label is `tab:` and `name`.

    Three measures with intervals fit into one column of a journal.
    """
    return [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(caption)}}}",
        rf"\label{{tab:{slug(name)}}}",
        r"\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        rf"{' & '.join(map(stacked, heads))} \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]


def longtable(columns: str, caption: str, name: str, heads: Sequence[str], rows: Iterable[str]) -> list[str]:
    """Return the lines of `floating` as a table over several pages."""
    return [
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{escaped(caption)}}}\label{{tab:{slug(name)}}}\\",
        r"\toprule",
        rf"{' & '.join(map(escaped, heads))} \\",
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endlastfoot",
        *rows,
        r"\end{longtable}",
        "",
    ]


def slug(text: str) -> str:
    """A text as a label of LaTeX may be written."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


def escaped(text: str) -> str:
    """Return a text as LaTeX prints it."""
    return plain(text).replace("\N{NO-BREAK SPACE}", " ").translate(ESCAPES)


def in_markdown(text: str) -> str:
    """Return a text as Markdown shows it in a cell or a paragraph."""
    return escape(plain(text), quote=False).translate(MARKDOWN)


TABLES: Mapping[str, Callable[[Findings, Sequence[str], bool], str]] = {"latex": as_latex, "markdown": as_markdown}
"""The writers of tables for people, by format; they may have footnotes."""
