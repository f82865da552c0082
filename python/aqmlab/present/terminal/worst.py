"""A search for the worst case: the sentence, the scenario, its region, and the commands that show it."""

from aqmlab.present.terminal.console import aside, console, note, table, title
from aqmlab.worst.document import size
from aqmlab.worst.result import Worst
from aqmlab.worst.words import commands, likely, shown


def worst(found: Worst, file: str) -> None:
    """Print a search; `file` is where the scenario is."""
    out = console()
    out.print(title(found.sentence), soft_wrap=True)
    finding = found.finding
    if finding is not None:
        low, high = finding.regret.interval or (finding.regret.mean,) * 2
        peers = ", ".join(f"{name} {shown(finding.regret, value)}" for name, value in finding.regret.peers.items())
        bad = f"{finding.regret.mean:.2f} times as bad (95 % interval {low:.2f} to {high:.2f})"
        out.print(aside(f"{bad} under {finding.regret.n} fresh seeds; {peers}."), "", sep="\n", soft_wrap=True)
        out.write(finding.scenario)
        rows = table("It holds", "Value", "From", "To", numbers=["Share of the range"])
        for each in finding.extents:
            ends = (f"{each.low}{' or less' * each.open_below}", f"{each.high}{' or more' * each.open_above}")
            rows.add_row(each.name, *ends, f"{100 * each.share:.0f} %")
        if finding.extents:
            out.print(rows)
        if finding.likelihood is not None:
            out.print(aside(f"The space contains such a case in {likely(finding.likelihood)}."), soft_wrap=True)
        for command in commands(found.plan, finding.document, finding.regret, file):
            out.print(f"See it: {command}", soft_wrap=True)
    cost = f"{found.used:,} runs; {found.wall:.0f} s in total, {found.engine:.0f} s in the simulator."
    lines = f" {size(finding.scenario)} lines." if finding else ""
    out.print(aside(cost + lines), soft_wrap=True)
    for name, reason in found.failures.items():
        out.print(note(f"a run of {name} failed: {reason}"))
