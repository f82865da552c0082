"""Write the pages of docs/ that come from declarations: schemes, congestion-control laws, and TCP's constants.

`python docs/generate.py --check` writes nothing and exits with 1 if a page is out of date.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from aqmlab import catalogue
from aqmlab.catalogue import Law, Parameter, Scheme
from aqmlab.present.labels import MARKS, label, standing

DOCS = Path(__file__).parent
NOTE = "<!-- Written by `make docs` from the declarations in crates/; do not edit. -->"


def pages() -> dict[Path, str]:
    """Every generated page by its path."""
    schemes = catalogue.schemes()
    return {
        DOCS / "schemes" / "README.md": index(schemes),
        DOCS / "tcp.md": tcp(),
        **{DOCS / "tcp" / f"{law.name}.md": law_page(law) for law in catalogue.laws()},
        **{DOCS / "schemes" / f"{scheme.name}.md": scheme_page(scheme) for scheme in schemes},
    }


def index(schemes: Sequence[Scheme]) -> str:
    """The catalogue."""
    rows = [(f"[`{s.name}`]({s.name}.md)", label(s.name), s.family, str(s.year), s.summary) for s in schemes]
    return text(
        "# Schemes",
        NOTE,
        "`aqmlab list aqms` prints this list, `aqmlab show NAME` a page.",
        table(("name", "title", "family", "year", "in short"), rows),
        "A mark stands behind the name of a scheme whose law is not all as published, in every table and legend:",
        "\n".join(f"- {mark.sign} {mark.meaning}." for mark in MARKS.values()),
        "The page of a scheme says which part it is. Files for programs (JSON, CSV, Parquet) have names without marks.",
    )


def scheme_page(scheme: Scheme) -> str:
    """One scheme: what `aqmlab show` prints."""
    shown = [(f"`{item.name}`", item.unit, item.doc) for item in scheme.observables]
    return text(
        f"# {label(scheme.name)} (`{scheme.name}`)",
        NOTE,
        scheme.summary,
        f"Family: {scheme.family}. Year: {scheme.year}. Source: {scheme.source}.  \n"
        f"Confidence: {scheme.confidence}.  \n{standing(scheme)}.",
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


def law_page(law: Law) -> str:
    """One congestion-control law: what `aqmlab show` prints."""
    return text(
        f"# {law.title} (`{law.name}`)",
        NOTE,
        law.summary,
        f"Year: {law.year}. Source: {law.source}. All of TCP: [tcp.md](../tcp.md).",
        law.page,
        "## Parameters",
        parameters(law.parameters) if law.parameters else "None.",
        "  \n".join(f"{name}: {fact}." for name, fact in law.facts()),
    )


def parameters(declared: Iterable[Parameter]) -> str:
    """Parameters as a table."""
    rows = [(f"`{p.name}`", p.default, p.unit, p.legal, p.doc, p.source) for p in declared]
    return table(("name", "default", "unit", "range", "meaning", "source"), rows)


def tcp() -> str:
    """TCP's laws, and its constants in its profiles."""
    rows = [(f"`{c.name}`", c.default, c.ns2, c.linux, c.legal, c.doc, c.source) for c in catalogue.tcp_constants()]
    laws = [(f"[`{law.name}`](tcp/{law.name}.md)", law.title, str(law.year), law.summary) for law in catalogue.laws()]
    return text(
        "# TCP",
        NOTE,
        "Receivers acknowledge every segment, or every second segment with `delayed_ack`. `variant` is the loss\n"
        "recovery: `reno` (RFC 5681: recovery ends at the first ACK of new data), `newreno` (RFC 6582: it goes on\n"
        "through partial ACKs), `sack` (RFC 6675: it sends again what selective acknowledgements show to be\n"
        "missing) and `rack` (RFC 8985 and RFC 9937: times tell what is lost, a probe asks about the last segments,\n"
        "and the window shrinks as segments arrive).",
        "`congestion_control` is the law by which the window grows and shrinks. It goes with any loss recovery,\n"
        "but for BBR's, which sets the window in recovery too and needs `rack`.\n"
        "`aqmlab list tcps` prints this list, `aqmlab show NAME` a page:",
        table(("name", "title", "year", "in short"), laws),
        "Laws other than Reno's come with SACK unless `variant` says otherwise, BBR's with `rack`. A law may\n"
        "set constants of TCP over the profile, as LEDBAT does with `initial_window`; its page says which. Parameters\n"
        "of a law are written with its name, as a scheme's are:",
        '```toml\ntcp = "sack"                 # SACK, with Reno\'s law\n'
        'tcp = "cubic"                # CUBIC, with SACK\n'
        'tcp = "cubic:beta=0.8"\n'
        'tcp = { congestion_control = "ledbat:target=5 ms,gain=10", delayed_ack = true }\n'
        'tcp = { variant = "reno", profile = "ns2", min_rto = "1 s" }\n'
        'tcp = "linux"                # CUBIC with RACK, as Linux ships it\n'
        'tcp = { profile = "linux", congestion_control = "reno" }\n```',
        "Three profiles fill in the constants. `rfc` is the default and follows the RFCs, with NewReno. `ns2` does\n"
        "what ns-2.35 does, to the clock tick, with Reno: papers that used ns-2 need it\n"
        "([validation](validation.md)). It has Reno's law only. `linux` does what Linux 6.1 does: CUBIC with its own\n"
        "rounding and HyStart, `rack`, and delayed ACKs after a first few at once. Give such flows\n"
        '`packet = "1448 B"`, a full segment with timestamps on Ethernet. Any constant can be set over its profile.',
        "A receiver reports CE marks as the law asks: with one echo until the sender has answered (RFC 3168), with\n"
        "an echo per packet (RFC 8257, section 3.2), or with a count of marked segments on every ACK (AccECN). The\n"
        "count has 24 bits and takes the room of one SACK block. A law asks for the first unless its page says\n"
        "otherwise. `ecn = true` sends with the codepoint of the law: ECT(1) with Prague, for which ECN is on unless\n"
        '`ecn = false`, ECT(0) with the others. Only laws that learn of each mark may send `ecn = "ect1"`.\n'
        "What AccECN negotiates with its SYN is given: both ends always agree. Of ECN++ (generalized ECN) there are\n"
        "`ect_on_syn` and `ect_on_retransmit`, both off; pure ACKs are never ECN-capable.",
        "With `rack`, a reduction that was needless is undone, as in Linux: the original arrives after all (RFC 3522,\n"
        "RFC 5682), or all that was sent again arrives twice (RFC 3708). The window grows only while used up, and\n"
        "`after_idle` says what a pause leaves of it. `window` is the receiver's, and does not grow.",
        'With `bursts = "gso"` new segments of a law without a pace wait until about a millisecond of them can leave\n'
        "at once, as in Linux with segmentation offload; laws with a pace have bursts of their own.",
        "The receiver's window does not grow, for in Linux its growth holds no bulk transfer back. It begins with\n"
        "64 KiB, 45 segments; slow start needs 10, 20, 40. When 20 have been read in a round trip after 10,\n"
        "`tcp_rcv_space_adjust` makes it 2*20 + 16, and twice as much more for the growth by half: 168 segments,\n"
        "twice what comes next. `tcp_grow_window` lets it out by two segments for each that arrives. So it keeps\n"
        'ahead, up to 2172 segments. `window = "2172 packets"` sets that bound. It is not the default: it would bind\n'
        "in `l4s/*` from 120 Mbit/s and 100 ms on, which are about laws and queues, not about hosts.",
        "Absent are RFC 7661, protection against wrapped numbers (RFC 7323: an original that arrives after what was\n"
        "sent again counts), and a queue in the sending host, which Linux keeps short (TCP small queues).",
        "A SYN that is not answered is sent again `syn_retries` times, then the connection is given up. A bulk flow\n"
        "is then closed. The transfer of a client is not counted as completed: a session goes on without that\n"
        "object, and a video player asks for the segment again.",
        "`aqmlab show tcp` prints this table.",
        table(("name", "`rfc`", "`ns2`", "`linux`", "range", "meaning", "source"), rows),
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
