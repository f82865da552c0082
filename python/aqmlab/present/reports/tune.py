"""The reports on a tune and on a tournament."""

from collections.abc import Iterator
from dataclasses import replace

from aqmlab.notebook import Sheet
from aqmlab.present.figures.tune import CAPTIONS, figures, ranks
from aqmlab.present.html import page
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.reports.comparison import version
from aqmlab.present.tune_words import rows, words
from aqmlab.runs.executor import Progress
from aqmlab.tune.result import PUBLISHED, TUNED, Tuned
from aqmlab.tune.tournament import Compared, sentences


def parts(found: Tuned) -> list[Part]:
    """Return the tuned parameters, and their results on fresh seeds."""
    plan = found.plan
    several = "" if len(found.front) == 1 else ": Pareto front, best in the first objective first"
    best = Section(f"Tuned parameters{several}", code=[f"--aqm {each.spec}" for each in found.front])
    heads = ["Scenario", "Parameters", *(each.heading for each in plan.shown)]
    about = "\n".join([words(found), *_importance(found)])
    fresh = Sheet("", heads, [[place, rival, *cells] for place, rival, cells in rows(found)], 2, about)
    timed = ["a budget in seconds is not reproducible; use --budget 'N runs'"] if plan.budget.runs is None else []
    results = Section("Results on fresh seeds", sheet=fresh, warnings=[*timed, *found.failures])
    return [Part("tune", "", "", [*([best] if found.front else []), results])]


def _importance(found: Tuned) -> Iterator[str]:
    for goal, shares in found.importance.items():
        importance = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
        yield f"Parameter importance for {goal} (PED-ANOVA): {importance}."


def files(found: Tuned, command: str, progress: Progress | None = None) -> Files:
    """Return what a tune leaves: report.html, results.json and the figures."""
    plan = found.plan
    drawings: Drawings = figures(found)
    title = f"{label(plan.scheme)}, tuned for {', '.join(map(str, plan.objectives))}"
    unmet = found.unmet()
    search = Section(
        "The search",
        f"{plan.sampler}, {plan.budget}, {plan.over} over {len(plan.places)} scenarios and {plan.seeds} seeds",
        _space(found),
        figures={CAPTIONS[name]: name for name in drawings},
        folded={"All candidates": _candidates(found)},
    )
    [part] = parts(found)
    part = replace(part, title=title, warnings=[unmet] if unmet else [], sections=[*part.sections, search])
    facts = {
        "Command": command,
        "Version": version(),
        "Scenarios": ", ".join(place.name for place in plan.shown_in),
        "Cost": f"{found.used} runs of the search; {found.wall:.1f} s in total, {found.engine:.1f} s in the simulator",
    }
    left = page.report(f"tune {plan.scheme}", title, [part], drawings, facts, progress)
    return {"results.json": found.json() + "\n", **left}


def _space(found: Tuned) -> Sheet:
    rows = []
    for each in found.plan.space:
        ends = ", ".join(each.choices) if each.choices else f"{each.text(each.low)} to {each.text(each.high)}"
        rows.append([each.name, ends, "logarithmic" if each.log else "linear"])
    return Sheet("", ["Parameter", "Range", "Scale"], rows, words=True)


def _candidates(found: Tuned) -> Sheet:
    rows = []
    for each in found.trials:
        known = [each.measured.get(str(goal)) for goal in found.plan.goals]
        values = ["–" if value is None else f"{value:.5g}" for value in known]
        state = each.failed or ("stopped early" if each.stopped else "" if each.feasible else "violates a bound")
        rows.append([f"{each.number}", each.spec, *values, str(each.runs), state])
    return Sheet("", ["Candidate", "Parameters", *map(str, found.plan.goals), "Runs", ""], rows, words=True)


def tournament(found: Compared) -> list[Part]:
    """Return the answer, the ranks and the values of a tournament."""
    heads = ["Scheme", "Rank published", "Rank tuned", "Published", "Tuned", "Runs"]
    table = Sheet("", heads, [[label(row.name), *row.texts] for row in found.rows()])
    section = Section("Queue error on held-out scenarios", sheet=table, findings=sentences(found))
    return [Part("tuned", "", "", [section])]


def tournament_files(found: Compared, command: str) -> Files:
    """Return what the tournament leaves: report.html, results.json, the critical-difference diagrams."""
    drawings: Drawings = {}
    captions = {}
    for kind in (PUBLISHED, TUNED):
        if drawn := ranks(found, kind):
            drawings[f"ranks-{kind}"] = drawn
            captions[f"Mean ranks with {kind} parameters; a bar joins schemes that do not differ (Nemenyi, 5 %)."] = (
                f"ranks-{kind}"
            )
    tuned = Sheet("", ["Scheme", "Tuned"], [[label(name), spec] for name, spec in found.tuned.items()], words=True)
    [part] = tournament(found)
    [section] = part.sections
    part = replace(
        part,
        title="Schemes tuned with equal budgets",
        sections=[replace(section, figures=captions), Section("The parameters", sheet=tuned)],
    )
    left = page.report("tune --tournament", part.title, [part], drawings, {"Command": command, "Version": version()})
    return {"results.json": found.json() + "\n", **left}
