"""What a tune says, for a terminal and for a page."""

from collections.abc import Iterator

from aqmlab.tune.goal import Goal
from aqmlab.tune.result import PUBLISHED, Rival, Tuned


def rows(found: Tuned) -> Iterator[tuple[str, str, list[str]]]:
    """Yield place, what the parameters are, and the means with intervals; a star marks what surely differs."""
    for place in found.plan.shown_in:
        for rival in found.rivals:
            cells = []
            for goal in found.plan.goals:
                summary, less = rival.summary(place, goal), found.difference(rival, place, goal)
                text = goal.metric(place.scenario).show(*((summary.mean, summary.half_width) if summary else (None,)))
                sure = rival.role != PUBLISHED and less and less.p is not None and less.p < 0.05
                cells.append(f"{text}{' *' if sure else ''}{_broken(found, rival, place.name, goal)}")
            yield place.name, rival.role, cells


def _broken(found: Tuned, rival: Rival, place: str, goal: Goal) -> str:
    """Say that a bound is broken, with a sign."""
    for each in found.plan.constraints:
        values = [value for value in rival.values[place, str(each)] if value is not None]
        if each is goal and (not values or each.violation(sum(values) / len(values)) > 0):
            return " !"
    return ""


def words(found: Tuned) -> str:
    """Return what the numbers are, and what they cost."""
    plan, given_up = found.plan, sum(each.stopped for each in found.trials)
    failed = sum(each.failed is not None for each in found.trials)
    parts = [
        f"Means with 95 % intervals over seeds {plan.fresh[0]} to {plan.fresh[-1]}; the search had 1 to {plan.seeds}. "
        "* differs from the published parameters (paired t-test, 5 %)"
        + (", ! breaks its bound." if plan.constraints else "."),
        f"{len(found.trials)} candidates in {found.used} runs"
        + (f", {given_up} given up early" if given_up else "")
        + (f", {failed} failed" if failed else "")
        + f"; {found.wall:.0f} s, {found.engine:.0f} s of the engine.",
    ]
    return " ".join(parts)
