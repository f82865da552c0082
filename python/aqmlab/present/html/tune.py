"""The report on a tune, and on a tournament."""

from aqmlab.notebook import Sheet
from aqmlab.present.figures.tune import CAPTIONS, figures, ranks
from aqmlab.present.html import page
from aqmlab.present.html.comparison import version
from aqmlab.present.html.page import Drawings, Files
from aqmlab.present.labels import label
from aqmlab.present.parts import Part, Section
from aqmlab.present.tune_words import rows, words
from aqmlab.runs.executor import Progress
from aqmlab.tune.result import PUBLISHED, TUNED, Tuned
from aqmlab.tune.tournament import Compared, sentences


def files(found: Tuned, command: str, told: Progress | None = None) -> Files:
    """Return what a tune leaves: report.html, results.json and the figures."""
    plan = found.plan
    drawings: Drawings = figures(found)
    fresh = [[place, rival, *cells] for place, rival, cells in rows(found)]
    lines = [f"--aqm {each.spec}" for each in found.front] or [found.unmet() or ""]
    sections = [
        Section(
            "Results",
            "On fresh seeds",
            Sheet("", ["Scenario", "Parameters", *(each.heading for each in plan.shown)], fresh, 2, words(found)),
            findings=lines,
            warnings=[
                *found.failures,
                *([] if plan.budget.runs is not None else ["A budget in seconds is not reproducible."]),
            ],
        ),
        Section(
            "The search",
            f"{plan.sampler}, {plan.budget}, {plan.over} over {len(plan.places)} scenarios and {plan.seeds} seeds",
            _space(found),
            figures={CAPTIONS[name]: name for name in drawings},
            folded={"All candidates": _candidates(found)},
        ),
    ]
    title = f"{label(plan.scheme)}, tuned for {', '.join(map(str, plan.objectives))}"
    facts = {
        "Command": command,
        "Version": version(),
        "Scenarios": ", ".join(place.name for place in plan.shown_in),
        "Cost": f"{found.used} runs of the search; {found.wall:.1f} s in total, {found.engine:.1f} s in the simulator",
    }
    part = Part("tune", title, "", sections)
    left = page.report(f"tune {plan.scheme}", title, [part], drawings, facts, told)
    return {"results.json": found.json() + "\n", **left}


def _space(found: Tuned) -> Sheet:
    goals = list(found.importance)
    rows = []
    for each in found.plan.space:
        ends = ", ".join(each.choices) if each.choices else f"{each.text(each.low)} to {each.text(each.high)}"
        shares = [f"{100 * found.importance[goal].get(each.name, 0.0):.0f} %" for goal in goals]
        rows.append([each.name, ends, "logarithmic" if each.log else "linear", *shares])
    return Sheet("", ["Parameter", "Range", "Scale", *(f"Importance for {goal}" for goal in goals)], rows)


def _candidates(found: Tuned) -> Sheet:
    rows = []
    for each in found.trials:
        known = [each.measured.get(str(goal)) for goal in found.plan.goals]
        values = ["–" if value is None else f"{value:.5g}" for value in known]
        state = each.failed or ("stopped early" if each.stopped else "" if each.feasible else "violates a bound")
        rows.append([f"{each.number}", each.spec, *values, str(each.runs), state])
    return Sheet("", ["Candidate", "Parameters", *map(str, found.plan.goals), "Runs", ""], rows, words=True)


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
    heads = ["Scheme", "Rank published", "Rank tuned", "Published", "Tuned", "Runs"]
    table = Sheet("", heads, [[label(row.name), *row.texts] for row in found.rows()])
    section = Section("Queue error", "On held-out scenarios", table, findings=sentences(found), figures=captions)
    lines = Section(
        "The parameters",
        "",
        Sheet("", ["Scheme", "Tuned"], [[label(name), spec] for name, spec in found.tuned.items()], words=True),
    )
    part = Part("tuned", "Schemes tuned with equal budgets", "", [section, lines])
    left = page.report("tune --tournament", part.title, [part], drawings, {"Command": command, "Version": version()})
    return {"results.json": found.json() + "\n", **left}
