"""The parts of a search for the worst case: the sentence, the scenario, its region, and the commands that show it."""

from aqmlab.present.parts import Part, Section
from aqmlab.worst.document import size
from aqmlab.worst.result import Worst, WorstFinding
from aqmlab.worst.words import commands, shown


def parts(found: Worst, file: str) -> list[Part]:
    """Return a search; `file` is where the scenario is."""
    finding = found.finding
    failed = [f"a run of {name} failed: {reason}" for name, reason in found.failures.items()]
    sections = [Section("", findings=[found.sentence, *([_regret(finding)] if finding else [])], warnings=failed)]
    cost = f"{found.used:,} runs; {found.wall:.0f} s in total, {found.engine:.0f} s in the simulator."
    if finding:
        cost += f" {size(finding.scenario)} lines."
        regions = [Section("It holds", sheet=sheet) for sheet in found.sheets()]
        see = Section("See it", code=commands(found.plan, finding.document, finding.regret, file))
        sections += [Section("", code=finding.scenario.splitlines()), *regions, see]
    return [Part("worst", "", "", sections, about=[cost])]


def _regret(finding: WorstFinding) -> str:
    """Return how bad the target is, and the values of its peers."""
    regret = finding.regret
    low, high = regret.interval or (regret.mean,) * 2
    peers = ", ".join(f"{name} {shown(regret, value)}" for name, value in regret.peers.items())
    bad = f"{regret.mean:.2f} times as bad (95 % interval {low:.2f} to {high:.2f})"
    return f"{bad} under {regret.n} fresh seeds; {peers}."
