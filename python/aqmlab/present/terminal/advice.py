"""A recommendation: the words, the ranking, the evidence, and the commands."""

from collections.abc import Mapping, Sequence
from math import inf

from rich.console import Console

from aqmlab.advise.advice import NOTABLE, Advice, Seen
from aqmlab.advise.commands import Typed
from aqmlab.advise.ties import WORTH
from aqmlab.advise.tried import Check
from aqmlab.advise.words import sentences
from aqmlab.present.labels import label
from aqmlab.present.terminal.console import aside, console, marks, note, table, title
from aqmlab.present.terminal.parts import as_table

SHOWN = 4
"""The number of candidates in the evidence, with the baseline."""


UNTESTED = (
    "these commands are not tested on a kernel. {scheme} is recommended because its score is at least {better:.0f} % "
    "better than any tested candidate's; test the commands before you rely on them (--check)."
)


def advice(found: Advice, lines: Mapping[str, Typed]) -> None:
    """Print a recommendation, best candidate first, with the commands by scheme."""
    out = console()
    out.print(*sentences(found), "", sep="\n")
    _ranking(out, found)
    _evidence(out, found)
    for scheme, typed in lines.items():
        out.print(title(f"Commands for {label(scheme)}"))
        if typed.commands and not typed.tested:
            out.print(note(UNTESTED.format(scheme=label(scheme), better=100 * WORTH - 100)))
        if typed.why_not:
            out.print(note(typed.why_not))
        for each in typed.notes:
            out.print(aside(f"# {each}"), soft_wrap=True)
        for command in typed.commands:
            out.print(command, soft_wrap=True)
    if followed := next((typed.autorate for typed in lines.values() if typed.autorate), ()):
        out.print(title("Commands for a queue in a modem: CAKE and cake-autorate, which follows the rate"))
        for line in followed:
            out.print(line, soft_wrap=True)


def check(tried: Check) -> None:
    """Print the measures of the commands under load."""
    out = console()
    for sheet in tried.sheets():
        out.print(as_table(sheet, sheet.title))
    out.print(aside("Linux in virtual time with these commands; one run each."))


def _ranking(out: Console, found: Advice) -> None:
    needs = [need.capitalize() for need in found.told]
    shown = table("Ranking", "Scheme", numbers=["Score", "Interval", *needs])
    for scheme in found.schemes:
        score = found.score(scheme)
        ends = "–" if scheme == found.first or not score.interval else "{:.3f} to {:.3f}".format(*score.interval)
        parts = [f"{found.score(scheme, need=need).ratio:.2f}" for need in found.told]
        shown.add_row(label(scheme), f"{score.ratio:.3f}", ends, *parts)
    text = "Score: geometric mean of all measures relative to the first scheme, with its 95 % interval over the seeds."
    out.print(shown, *marks(map(label, found.schemes)), aside(text), sep="\n")


def _evidence(out: Console, found: Advice) -> None:
    side = list(dict.fromkeys([found.advised, *found.schemes]))[: SHOWN - 1]
    side = list(dict.fromkeys([*side, found.baseline]))
    shown = table("Evidence", "Condition", "Measure", numbers=map(label, side))
    every = found.seen(found.advised)
    told = [each for each in every if _spread(found, each, side) > NOTABLE]
    for each in told:
        metric = each.sign.metric
        values = [found.summary(scheme, each) for scheme in side]
        texts = [metric.show(value.mean, value.half_width) if value else metric.show(None) for value in values]
        shown.add_row(found.names[each.condition], each.sign.heading, *texts)
    left = len(every) - len(told)
    out.print(
        shown,
        aside(f"{left} other measures differ by less than {100 * NOTABLE - 100:.0f} % between these schemes."),
        sep="\n",
    )


def _spread(found: Advice, seen: Seen, schemes: Sequence[str]) -> float:
    """Return the ratio of the largest to the smallest mean of a measure; infinite if a scheme has none."""
    means = [value.mean if (value := found.summary(scheme, seen)) else 0.0 for scheme in schemes]
    return max(means) / min(means) if min(means) > 0 else inf
