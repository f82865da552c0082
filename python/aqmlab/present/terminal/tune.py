"""A tune: the tuned parameters, their results on fresh seeds, and importances; and a tournament of many schemes."""

from aqmlab.present.labels import label
from aqmlab.present.terminal.console import aside, console, marks, note, table, title
from aqmlab.present.tune_words import rows, words
from aqmlab.tune.result import Tuned
from aqmlab.tune.tournament import Compared, sentences


def tuned(found: Tuned) -> None:
    """Print a tune."""
    out = console()
    plan = found.plan
    if found.best:
        out.print(
            title(
                "Tuned parameters"
                if len(found.front) == 1
                else "Tuned parameters: Pareto front, best in the first objective first"
            )
        )
        for each in found.front:
            out.print(f"--aqm {each.spec}", soft_wrap=True)
        out.print("")
    heads = [each.heading for each in plan.shown]
    shown = table("Results on fresh seeds", "Scenario", "Parameters", numbers=heads)
    for place, rival, cells in rows(found):
        shown.add_row(place, rival, *cells)
    out.print(shown)
    out.print(aside(words(found)), soft_wrap=True)
    for goal, parts in found.importance.items():
        told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in parts.items())
        out.print(aside(f"Parameter importance for {goal} (PED-ANOVA): {told}."), soft_wrap=True)
    if plan.budget.runs is None:
        out.print(note("a budget in seconds is not reproducible; use --budget 'N runs'"))
    for failure in found.failures:
        out.print(note(failure))


def tournament(found: Compared) -> None:
    """Print a tournament: the answer, the ranks, the values."""
    out = console()
    out.print(*sentences(found), "", sep="\n", soft_wrap=True)
    shown = table(
        "Queue error on held-out scenarios",
        "Scheme",
        numbers=["Rank published", "Rank tuned", "Published", "Tuned", "Runs"],
    )
    for row in found.rows():
        shown.add_row(label(row.name), *row.texts)
    out.print(shown, *marks(map(label, found.schemes)), sep="\n")
