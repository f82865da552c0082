"""The parts of a recommendation: the words, the ranking, the evidence, and the commands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from aqmlab.advise.advice import NOTABLE, Advice, Seen
from aqmlab.advise.commands import Typed
from aqmlab.advise.ties import WORTH
from aqmlab.advise.tried import Check
from aqmlab.advise.words import sentences
from aqmlab.notebook import Sheet
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section

SHOWN = 4
"""The number of candidates in the evidence, with the baseline."""


UNTESTED = (
    "these commands are not tested on a kernel. {scheme} is recommended because its score is at least {better:.0f} % "
    "better than any tested candidate's; test the commands before you rely on them (--check)."
)


def parts(found: Advice, lines: Mapping[str, Typed]) -> list[Part]:
    """Return a recommendation, best candidate first, and the commands by scheme."""
    ranking = Section("Ranking", sheet=_ranking(found), findings=sentences(found))
    evidence = Section("Evidence", sheet=_evidence(found))
    commands = list(_commands(lines))
    return [Part("advice", "", "", [ranking, evidence]), Part("commands", "", "", commands)]


def check(tried: Check) -> list[Part]:
    """Return the measures of the commands under load."""
    sections = [Section(sheet.title, sheet=sheet) for sheet in tried.sheets()]
    return [Part("check", "", "", sections, about=["Linux in virtual time with these commands; one run each."])]


def _commands(lines: Mapping[str, Typed]) -> Iterator[Section]:
    for scheme, typed in lines.items():
        untested = [UNTESTED.format(scheme=label(scheme), better=100 * WORTH - 100)]
        warnings = untested if typed.commands and not typed.tested else []
        warnings += [typed.why_not] if typed.why_not else []
        code = [*(f"# {each}" for each in typed.notes), *typed.commands]
        yield Section(f"Commands for {label(scheme)}", warnings=warnings, code=code)
    if followed := next((typed.autorate for typed in lines.values() if typed.autorate), ()):
        title = "Commands for a queue in a modem: CAKE and cake-autorate, which follows the rate"
        yield Section(title, code=followed)


def _ranking(found: Advice) -> Sheet:
    [sheet] = found.sheets()
    rows = [[label(scheme), *row[1:]] for scheme, row in zip(found.schemes, sheet.rows, strict=True)]
    about = "Score: geometric mean of all measures relative to the first scheme, with its 95 % interval over the seeds."
    return replace(sheet, rows=rows, about=about)


def _evidence(found: Advice) -> Sheet:
    side = list(dict.fromkeys([found.advised, *found.schemes]))[: SHOWN - 1]
    side = list(dict.fromkeys([*side, found.baseline]))
    every = found.seen(found.advised)
    notable = [each for each in every if _spread(found, each, side) > NOTABLE]
    rows = []
    for each in notable:
        metric = each.sign.metric
        values = [found.summary(scheme, each) for scheme in side]
        texts = [metric.show(value.mean, value.half_width) if value else metric.show(None) for value in values]
        rows.append([found.names[each.condition], each.sign.heading, *texts])
    left = f"{len(every) - len(notable)} other measures differ by less than {100 * NOTABLE - 100:.0f} %"
    heads = ["Condition", "Measure", *map(label, side)]
    return Sheet("", heads, rows, names=2, about=f"{left} between these schemes.")


def _spread(found: Advice, seen: Seen, schemes: Sequence[str]) -> float:
    """Return the ratio of the largest to the smallest mean of a measure; infinite if a scheme has none."""
    means = [value.mean if (value := found.summary(scheme, seen)) else 0.0 for scheme in schemes]
    return max(means) / min(means) if min(means) > 0 else inf
