"""Words that the terminal and the pages share."""

from collections.abc import Callable, Sequence

from aqmlab.runs.statistics import Ranking


def seeds(count: int) -> str:
    """Return how many seeds there are, and what ± then means."""
    return "seed 1" if count == 1 else f"seeds 1 to {count}, mean ± half-width of the 95 % interval"


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names, and how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *first, last = [*names[:most], *more] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def ranking_sentence(measure: str, ranking: Ranking, over: str, name: Callable[[str], str]) -> str:
    """Return what the ranks by a measure say together; `over` says what they are means of, `name` names a scheme."""
    [first, *others] = sorted(ranking.ranks, key=ranking.ranks.__getitem__)
    near = [name(scheme) for scheme in others if ranking.ranks[scheme] - ranking.ranks[first] <= ranking.critical]
    p = "p < 0.001" if ranking.p < 0.001 else f"p = {ranking.p:.2g}"
    if ranking.p >= 0.05:
        return f"{measure}: no significant difference between the schemes over {over} (Friedman {p})."
    alike = f"not significantly better than {some(near)}" if near else "significantly better than all others"
    return (
        f"{measure}: {name(first)} ranks best, with mean rank {ranking.ranks[first]:.2f} over {over} (Friedman {p}); "
        f"by the Nemenyi test with critical difference {ranking.critical:.2f} it is {alike}."
    )
