"""Write the pages of docs/ that come from declarations: one a scheme, and TCP's constants.

`python docs/generate.py --check` writes nothing and exits with 1 if a page is out of date.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from aqmlab import catalogue
from aqmlab.catalogue import Parameter, Scheme

DOCS = Path(__file__).parent
NOTE = "<!-- Written by `make docs` from the declarations in crates/; do not edit. -->"


def pages() -> dict[Path, str]:
    """Every generated page by its path."""
    schemes = catalogue.schemes()
    return {
        DOCS / "schemes" / "README.md": index(schemes),
        DOCS / "tcp.md": tcp(),
        **{DOCS / "schemes" / f"{scheme.name}.md": scheme_page(scheme) for scheme in schemes},
    }


def index(schemes: Sequence[Scheme]) -> str:
    """The catalogue."""
    rows = [(f"[`{s.name}`]({s.name}.md)", s.title, s.family, str(s.year), s.summary) for s in schemes]
    return text(
        "# Schemes",
        NOTE,
        "`aqmlab list aqms` prints this list, `aqmlab show NAME` a page.",
        table(("name", "title", "family", "year", "in short"), rows),
    )


def scheme_page(scheme: Scheme) -> str:
    """One scheme: what `aqmlab show` prints."""
    shown = [(f"`{item.name}`", item.unit, item.doc) for item in scheme.observables]
    return text(
        f"# {scheme.title} (`{scheme.name}`)",
        NOTE,
        scheme.summary,
        f"Family: {scheme.family}. Year: {scheme.year}. Source: {scheme.source}.  \nConfidence: {scheme.confidence}.",
        f"![Queue and state of {scheme.title} while the load quadruples and falls again](pictures/{scheme.name}.png)",
        "*30 flows, 120 from 20 s to 40 s, then 30 again, through 30 Mbit/s; the dashed line is the target:*\n"
        f"`aqmlab run catalogue/load-step --aqm {scheme.name} --out DIR`.",
        scheme.page,
        "## Parameters",
        parameters(scheme.parameters) if scheme.parameters else "None.",
        "## State shown",
        table(("name", "unit", "meaning"), shown) if shown else "None.",
        "  \n".join(f"{name}: {fact}." for name, fact in scheme.facts()),
        f"Compared in: {', '.join(scheme.papers) or 'no study yet'}.",
    )


def parameters(declared: Iterable[Parameter]) -> str:
    """Parameters as a table."""
    rows = [(f"`{p.name}`", p.default, p.unit, p.legal, p.doc, p.source) for p in declared]
    return table(("name", "default", "unit", "range", "meaning", "source"), rows)


def tcp() -> str:
    """TCP's constants in both profiles."""
    rows = [(f"`{c.name}`", c.default, c.ns2, c.legal, c.doc, c.source) for c in catalogue.tcp_constants()]
    return text(
        "# TCP",
        NOTE,
        "Receivers acknowledge every segment, or every second with `delayed_ack`. `variant` is the loss recovery:\n"
        "`reno` (RFC 5681: recovery ends at the first ACK of new data), `newreno` (RFC 6582: it goes on through\n"
        "partial ACKs) and `sack` (RFC 6675: it sends again what selective acknowledgements show to be missing).",
        "`congestion_control` is how the window grows and shrinks: `reno` (RFC 5681), `cubic` (RFC 9438) or `ledbat`\n"
        "(RFC 6817). It goes with any loss recovery; CUBIC and LEDBAT come with SACK unless `variant` says otherwise.",
        "CUBIC has all of RFC 9438 but HyStart++ and the detection of spurious losses: without HyStart++ its slow\n"
        "start ends in losses or marks as Reno's does, and gives up 0.3 of the window there, not half. An application\n"
        "that leaves the window unused neither lets it grow nor its clock run (section 5.8).",
        "LEDBAT takes one-way delays that its receiver measures and sends back with each ACK, in the place of the\n"
        "third SACK block. Base delay: least of each of the last ten minutes; current delay: least of the last four\n"
        "samples. It has no slow start. `gain` above 1, as in RFC 7928, is more than RFC 6817 allows.",
        'A name alone stands for its usual company: `tcp = "sack"` is Reno\'s growth with SACK, `tcp = "cubic"` and\n'
        '`tcp = "ledbat"` are these with SACK. The profile `ns2` has Reno\'s growth only.',
        "Two profiles fill in the constants. `rfc` is the default and follows the RFCs, with NewReno. `ns2` does\n"
        "what ns-2.35 does, to the clock tick, with Reno: it is what papers that used ns-2 need\n"
        "([validation](validation.md)).\n"
        "Any constant can be set in a scenario, over its profile:",
        '```toml\ntcp = { variant = "reno", profile = "ns2", min_rto = "1 s" }\n'
        'tcp = { congestion_control = "ledbat", target = "5 ms", gain = 10 }\n```',
        "`aqmlab show tcp` prints this table.",
        table(("name", "`rfc`", "`ns2`", "range", "meaning", "source"), rows),
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def text(*parts: str) -> str:
    """Paragraphs as one page."""
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Write what is out of date, or with --check only say so."""
    stale = {
        path: page for path, page in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != page
    }
    for path, page in stale.items():
        print(f"{path.relative_to(DOCS.parent)} is out of date" if "--check" in sys.argv else f"wrote {path.name}")
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(page, encoding="utf-8")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
