"""The catalogue in a terminal: lists of names, and pages of schemes, TCP constants, scenarios, studies and suites."""

import json
from collections.abc import Iterable, Mapping, Sequence

from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from aqmlab import catalogue
from aqmlab._core import Scenario
from aqmlab.catalogue import Cost, Law, Parameter, Scheme
from aqmlab.present.labels import label, marked, standing
from aqmlab.present.terminal.console import console, explained, table, title
from aqmlab.present.text import some
from aqmlab.presets import LinkPreset
from aqmlab.study.draft import DraftCase
from aqmlab.study.paper import Study
from aqmlab.study.suite import Suite


def names(heading: str, rows: Sequence[tuple[str, str]]) -> Table:
    """Return a list of names with one line about each."""
    listed = table(heading, "Name", "Description")
    for row in rows:
        listed.add_row(*row)
    return listed


def schemes(found: Sequence[Scheme]) -> Table:
    """Return the catalogue: each scheme with its description and source."""
    listed = table("Aqms", "Name", "Family", "Year", "Description and source")
    for scheme in found:
        about = Text.assemble(scheme.summary, "\n", (scheme.source, "dim"))
        listed.add_row(marked(f"{scheme.name} ", scheme.name), scheme.family, str(scheme.year), about)
    return explained(listed)


def costs(found: Mapping[str, Cost]) -> Table:
    """Return the cost of schemes, relative to DropTail."""
    listed = table("Cost of the schemes, on this machine", "Name", numbers=COSTS)
    least = found["droptail"].second
    for name, each in found.items():
        update = [_number(each.update, 1e9), _number(each.update_every, 1e3)]
        cells = [str(each.parameters), _number(each.memory), _number(each.packet, 1e9), *update]
        listed.add_row(marked(f"{name} ", name), *cells, f"{each.second / least:.1f}")
    return explained(listed)


COSTS = ("Parameters", "Memory (B)", "Packet (ns)", "Update (ns)", "Every (ms)", "Time, DropTail = 1")


def _number(value: float | None, scale: float = 1.0) -> str:
    return "–" if value is None else f"{scale * value:.3g}"


def scheme_page(scheme: Scheme) -> None:
    """Print a scheme's page: idea, parameters, state shown, and the studies that measure it."""
    out = console()
    out.print(title(", ".join([f"{label(scheme.name)} ({scheme.name})", *scheme.about[1:]])))
    out.print(Text(f"{scheme.summary}\nSource: {scheme.source}\nConfidence: {scheme.confidence}"))
    out.print(Text("" if scheme.is_own else f"{standing(scheme)}\n"))
    out.print(Markdown(scheme.page))
    out.print(_parameters(scheme.parameters))
    if scheme.observables:
        out.print(names("State shown", [(item.name, f"{item.doc} ({item.unit})") for item in scheme.observables]))
    out.print(names("Support", scheme.facts()))
    if not scheme.is_own:
        out.print(f"Measured in: {', '.join(scheme.papers) or 'no study yet'}")


def law_page(law: Law) -> None:
    """Print the page of a congestion controller: idea, equations, parameters, and its requirements of TCP."""
    out = console()
    out.print(title(f"{law.title} ({law.name})" + (f", {law.year}" if law.year else "")))
    out.print(Text(f"{law.summary}\nSource: {law.source}\n"))
    out.print(Markdown(law.page))
    out.print(_parameters(law.parameters))
    out.print(names("Support", law.facts()))


def _parameters(declared: Sequence[Parameter]) -> Table | str:
    """Return the table of the declared parameters."""
    if not declared:
        return "No parameters."
    listed = table("Parameters", "Name", "Default", "Unit", "Range", "Meaning", "Source")
    for each in declared:
        listed.add_row(each.name, each.default, each.unit, each.legal, each.doc, each.source)
    return listed


def tcp_page() -> None:
    """Print the constants of TCP in its profiles."""
    out = console()
    out.print(Text('TCP constants, set under tcp of [[flows]]: tcp = { profile = "ns2", min_rto = "1 s" }'))
    listed = table("Constants", "Name", "rfc", "ns2", "linux", "Unit", "Range", "Meaning", "Source")
    for each in catalogue.tcp_constants():
        listed.add_row(each.name, each.default, each.ns2, each.linux, each.unit, each.legal, each.doc, each.source)
    out.print(listed)


def scenario_page(scenario: Scenario, text: str) -> None:
    """Print a scenario: its file, and its values with every default filled in."""
    out = console()
    out.print(title(f"{scenario.title} ({scenario.name})"))
    out.write(f"\n{text.strip()}\n")
    out.print(title("With every default filled in (seconds, bit/s, packets):"))
    out.write(json.dumps(scenario.resolved(), indent=2))


def presets_page(found: Iterable[LinkPreset]) -> None:
    """Print presets of links: their keys, and how a scenario uses them."""
    out = console()
    for each in found:
        out.print(title(f"{each.title} ({each.name})"))
        out.write(f"\n{each.text.strip()}\n")
        out.print(f'In [[links]] of a scenario: preset = "{each.name}"; keys of the link replace its own.')


def study_page(study: Study) -> None:
    """Print a study: the paper and its tables."""
    out = console()
    out.print(title(f"{study.title}\n{study.source}\n"))
    out.print(f"{len(study.published)} published numbers; schemes: {', '.join(study.schemes)}")
    listed = table("Tables and figures", "Table", "Figure", "Contents", "Scenarios")
    for item in study.tables:
        listed.add_row(item.number, item.figure or "–", item.title, some(item.scenarios))
    for figure in study.figures:
        scenarios = dict.fromkeys(name for panel in figure.panels for name in panel.scenarios)
        listed.add_row("–", figure.number, figure.title, some(list(scenarios)) or "the stability analysis")
    out.print(listed)


def draft_page(name: str, source: str, known: Sequence[DraftCase]) -> None:
    """Print the cases of a draft with their requirements."""
    out = console()
    out.print(title(f"{name}\n{source}\n"))
    listed = table("", "Case", "Requirement")
    for case in known:
        listed.add_row(f"{case.number} {case.title}", case.asks)
    out.print(listed)


def suite_page(suite: Suite) -> None:
    """Print a suite: its source and its experiments."""
    out = console()
    out.print(title(f"{suite.title}\n{suite.source}\n"))
    rate, rtt = (
        suite.base[key] if isinstance(suite.base[key], str) else some(suite.base[key]) for key in ("rate", "rtt")
    )
    out.print(f"Base case: {rate}, {rtt}. Run it with: aqmlab compare --study {suite.name}")
    listed = table("Experiments", "Section", "Description", "Scenario")
    for section, what, scenario in dict.fromkeys((e.section, e.kind or e.title, e.scenario) for e in suite.experiments):
        listed.add_row(section, what, scenario)
    out.print(listed)
    for claim in suite.claims:
        out.print(f"{claim.section}: {claim.text}")
