"""The words of a tune, for a terminal and for a page."""

from collections.abc import Iterator

from aqmlab.tune.goal import Goal
from aqmlab.tune.plan import Place
from aqmlab.tune.result import PUBLISHED, Rival, Tuned


def rows(found: Tuned) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the scenario, the parameters, and means with intervals; a star marks significant differences."""
    for place in found.plan.shown_in:
        for rival in found.rivals:
            cells = []
            for goal in found.plan.shown:
                summary, less = rival.summary(place, goal), found.difference(rival, place, goal)
                text = goal.metric(place.scenario).show(*((summary.mean, summary.half_width) if summary else (None,)))
                sure = rival.role != PUBLISHED and less and less.p is not None and less.p < 0.05
                cells.append(f"{text}{' *' if sure else ''}{_broken(found, rival, place, goal)}")
            yield place.name, rival.role, cells


def _broken(found: Tuned, rival: Rival, place: Place, goal: Goal) -> str:
    """Return the sign of a measure that breaks a bound."""
    bounds = [each for each in found.plan.constraints if each.pattern == goal.pattern]
    means = [(each, rival.summary(place, each)) for each in bounds]
    return " !" if any(mean is None or each.violation(mean.mean) > 0 for each, mean in means) else ""


def words(found: Tuned) -> str:
    """Return a legend of the numbers, and the cost of the search."""
    plan, given_up = found.plan, sum(each.stopped for each in found.trials)
    failed = sum(each.failed is not None for each in found.trials)
    searched = "1" if plan.seeds == 1 else f"1 to {plan.seeds}"
    signs = "* differs from the published parameters (paired t-test, 5 %)"
    parts = [
        f"Means with 95 % intervals over seeds {plan.fresh[0]} to {plan.fresh[-1]}; the search used {searched}.",
        f"{signs}, ! violates its bound." if plan.constraints else f"{signs}.",
        f"{len(found.trials)} candidates in {found.used} runs"
        + (f", {given_up} stopped early" if given_up else "")
        + (f", {failed} failed" if failed else "")
        + f"; {found.wall:.0f} s in total, {found.engine:.0f} s in the simulator.",
    ]
    return "\n".join(parts)
