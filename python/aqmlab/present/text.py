"""Words that the terminal and the pages share."""

from collections.abc import Callable, Collection, Sequence

from aqmlab._core import Scenario
from aqmlab.present.labels import in_figure, of_panel
from aqmlab.runs.statistics import Ranking, Summary
from aqmlab.study.charts import Chart, ChartPanel
from aqmlab.study.paper import Study


def seeds(count: int) -> str:
    """Return how many seeds there are, and what ± then means."""
    return "seed 1" if count == 1 else f"seeds 1 to {count}, mean ± half-width of the 95 % interval"


def runs(counts: Collection[int], numbers: Collection[int]) -> str:
    """Return how many runs values are from, and their seeds: "n = 4 (seeds 1 to 4)", "n = 3 to 10 (seeds 1 to 10)"."""
    least, most = min(counts), max(counts)
    first, last = min(numbers), max(numbers)
    n = str(least) if least == most else f"{least} to {most}"
    if first == last:
        return f"n = {n} (seed {first})"
    in_a_row = last - first + 1 == len(numbers)
    return f"n = {n} (seeds {f'{first} to {last}' if in_a_row else ', '.join(map(str, sorted(numbers)))})"


def titled(scenario: Scenario, but: str = "title") -> str:
    """Return the title of a scenario with the values that were set of it, which the title may contradict.

    Paths that end in `but` are left out.
    """
    given = [f"{path}={value}" for path, value in scenario.overrides if not path.endswith(("title", but))]
    return f"{scenario.title}, with {', '.join(given)}" if given else scenario.title


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names, and how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *first, last = [*names[:most], *more] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def chart_rows(study: Study, chart: Chart) -> dict[str, list[str]]:
    """Return the numbers of a paper's figure, one per row, with a dash for a missing number."""
    return {
        ": ".join([of_panel(study, each.panel), *([in_figure(study, name)] if name else [])]): [
            _number(each, line.get(x)) for x in chart.x
        ]
        for each in chart.panels
        for name, line in each.lines.items()
    }


READINGS = {
    "ours": "The verdict depends on the reading",
    "the paper's": "The sentence fails under every reading that its text allows",
    "unknown": "The cause is not known",
}
"""The origin of a failure in a sentence."""


def readings(whose: str) -> str:
    """Return the origin of a failure in words: "The verdict depends on the reading. Holds: ...; fails: ..."."""
    origin, _, tried = whose.partition(" (")
    return ". ".join([READINGS[origin], *([tried[0].upper() + tried[1:-1]] if tried else [])]) if origin else ""


def _number(panel: ChartPanel, point: Summary | None) -> str:
    return panel.metric.metric.show(point.mean if point else None, point.half_width if point else None)


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
