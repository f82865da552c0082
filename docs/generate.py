"""Write the pages of docs/ that come from elsewhere: schemes, laws, TCP's constants, measures, lessons, the API.

`python docs/generate.py --check` writes nothing and exits with 1 if a page is out of date.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from shlex import quote

import api
import measures
from beside_linux import as_linux
from tables import table

from aqmlab import catalogue
from aqmlab.catalogue import Law, Parameter, Scheme
from aqmlab.entries import loads
from aqmlab.present.labels import MARKS, label, standing
from aqmlab.quantities import quantity
from aqmlab.studio.lessons import Expected, Lesson, Step, Try, lessons

DOCS = Path(__file__).parent
CLASSES = DOCS.parent / "python" / "aqmlab" / "runs" / "declared.py"
NOTE = "<!-- Written by `make docs` from the declarations in crates/; do not edit. -->"
LESSON = "<!-- Written by `make docs` from python/aqmlab/studio/lessons/; do not edit. -->"
NOTE_OF_PYTHON = "<!-- Written by `make docs` from the docstrings in python/; do not edit. -->"


def pages() -> dict[Path, str]:
    """Every generated page by its path."""
    schemes = catalogue.schemes()
    return {
        DOCS / "schemes" / "README.md": index(schemes),
        DOCS / "tcp.md": tcp(),
        DOCS / "api.md": api.page(NOTE_OF_PYTHON),
        DOCS / "metrics.md": measures.page((DOCS / "metrics.md").read_text(encoding="utf-8")),
        CLASSES: measures.classes(),
        **{DOCS / "tcp" / f"{law.name}.md": law_page(law) for law in catalogue.laws()},
        **{DOCS / "schemes" / f"{scheme.name}.md": scheme_page(scheme) for scheme in schemes},
        DOCS / "lessons" / "README.md": course(),
        **{DOCS / "lessons" / f"{each.id}.md": lesson_page(each) for each in lessons()},
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
        "## Touch it",
        queue("catalogue/load-step", [scheme.name], 5),
        *beside_linux(DOCS / "schemes" / "linux" / f"{scheme.name}.png", scheme.title, f" --aqms {as_linux(scheme)}"),
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
        *beside_linux(DOCS / "tcp" / "linux" / f"{law.name}.png", law.title, f" --set flows.bulk.tcp={law.name}"),
        "## Parameters",
        parameters(law.parameters) if law.parameters else "None.",
        "  \n".join(f"{name}: {fact}." for name, fact in law.facts()),
    )


def beside_linux(picture: Path, title: str, options: str) -> Iterator[str]:
    """Yield what a page shows of Linux, if Linux has it (docs/beside_linux.py draws it)."""
    if picture.exists():
        yield "## Beside Linux"
        yield f"![Queue of four flows with {title}, in the simulator and in Linux](linux/{picture.name})"
        yield (
            "*Four flows through 20 Mbit/s, 40 ms, by the simulator and by [Linux in virtual time](../kernel.md):*\n"
            f"`aqmlab compare catalogue/beside-linux --engines sim,linux{options}`. More of it, over ten seeds:\n"
            "[Validation against Linux in virtual time](../validation-kernel.md)."
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
        "`aqmlab list ccs` prints this list, `aqmlab show NAME` a page:",
        table(("name", "title", "year", "in short"), laws),
        "Three profiles fill in the constants, and any constant can be set over its profile. `linux` is the default\n"
        "and does what Linux 6.1 does: CUBIC with its own rounding and HyStart, `rack`, delayed ACKs after a first\n"
        "few at once, and segments of 1448 B unless `packet` says otherwise: full ones with timestamps on Ethernet.\n"
        "`rfc` follows the RFCs, with NewReno, and SACK under a law other than Reno's. `ns2` does what ns-2.35 does,\n"
        "to the clock tick, with Reno: papers that used ns-2 need it ([validation](validation.md)). It has Reno's law\n"
        "only. Segments of both have 1000 B unless `packet` says otherwise.",
        "Linux has no loss recovery but `rack`. So a group of flows that names `reno`, `newreno` or `sack` as its\n"
        "`variant`, and no profile, has profile `rfc`. A law may set constants of TCP over the profile, as LEDBAT\n"
        "does with `initial_window`; its page says which. Parameters of a law are written with its name, as a\n"
        "scheme's are:",
        '```toml\ntcp = "cubic"                # CUBIC as Linux ships it; so is a group that says nothing of TCP\n'
        'tcp = "cubic:beta=0.8"\n'
        'tcp = "reno"                 # Reno\'s law in Linux\n'
        'tcp = { congestion_control = "ledbat:target=5 ms,gain=10", quick_acks = 0 }\n'
        'tcp = "rfc"                  # NewReno by the RFCs\n'
        'tcp = "sack"                 # Reno\'s law with SACK, by the RFCs\n'
        'tcp = { congestion_control = "cubic", profile = "rfc" }\n'
        'tcp = { variant = "reno", profile = "ns2", min_rto = "1 s" }\n```',
        "## Slow starts",
        "Reno, CUBIC, DCTCP, Westwood+ and ABE can leave the first slow start in more than one way, by the parameter\n"
        '`slow_start`: `tcp = "cubic:slow_start=search"`. CUBIC in profile `linux` has `hystart`, all else `classic`.\n'
        "The others, LEDBAT++, Prague, Vegas and BBR, have a start of their own. All but `classic` look at the\n"
        "round-trip times of every ACK, which `rack` alone measures; `hystart` is `classic` in other variants.",
        table(
            ("slow_start", "source", "what it does"),
            (
                ("`classic`", "RFC 5681, section 3.1", "The window doubles in a round trip, until a loss or mark."),
                (
                    "`hystart`",
                    "Ha & Rhee, Computer Networks 55(9), 2011; Linux",
                    "It ends when the ACKs of a round come for longer than half of the least round trip, or when "
                    "round trips are longer by an eighth of it, 4 to 16 ms.",
                ),
                (
                    "`hystart++`",
                    "RFC 9406",
                    "Where round trips are longer by as much, it goes on at a quarter of its pace, and ends after five "
                    "rounds of that; if they are short again, it goes on as before.",
                ),
                (
                    "`search`",
                    "draft-chung-ccwg-search-09",
                    "It ends when a share of 0.26 of what was sent a round trip before does not arrive, in a window of "
                    "3.5 times the first round trip; then the window falls to what arrives in one, by a segment for "
                    "every three acknowledged.",
                ),
                (
                    "`rapid`",
                    "draft-kazuho-ccwg-rapid-start, editor's copy at 00e5ea1",
                    "The window triples in a round trip while its least round-trip time is within a tenth and 4 ms of "
                    "the least ever, else it doubles. The recovery that ends it leaves beta times what has arrived.",
                ),
            ),
        ),
        "Of SEARCH, the text at hand is that of revision 00. What 09 has changed is taken from what its\n"
        "implementations say: it compares with what was sent, the threshold is 0.26 (was 0.35), and the drain is\n"
        "gradual. A sender of which nothing is heard for a whole window measures again from its start.",
        "Segments lost by one flow of Reno in its first 5 s, on 20 Mbit/s over 50 ms with a buffer of so many\n"
        "bandwidth-delay products, in profile `linux`. SEARCH sees the missing quarter once some 4.3 products are in\n"
        "the queue. Rapid Start is at the rate of the link in two thirds of the round trips, and loses more; its\n"
        "pacing over the round trip and its larger initial window are left out.",
        table(
            ("slow_start", "1", "2", "3", "4", "5", "6"),
            (
                ("`classic`", "168", "251", "333", "416", "498", "584"),
                ("`hystart`", "1", "0", "0", "0", "0", "0"),
                ("`hystart++`", "141", "98", "83", "104", "125", "145"),
                ("`search`", "168", "217", "133", "50", "0", "0"),
                ("`rapid`", "318", "466", "507", "549", "590", "632"),
            ),
        ),
        "## Files of 0.1",
        "Until version 0.1 the default profile was `rfc`. A group of flows that names neither a profile nor one of\n"
        "the loss recoveries above has other results since 0.2. If it sets constants of TCP, aqmlab says so\n"
        "in one line. Name a profile and the line goes away. These give the numbers of 0.1:",
        table(
            ("0.1", "since 0.2"),
            (
                ("nothing", '`tcp = "rfc"`'),
                ('`tcp = "cubic"`', '`tcp = { congestion_control = "cubic", profile = "rfc" }`'),
                ('`tcp = "reno"`', '`tcp = { variant = "reno" }`'),
                ('`tcp = "rack"`', '`tcp = { variant = "rack", profile = "rfc" }`'),
                ('`tcp = { min_rto = "1 s" }`', '`tcp = { profile = "rfc", min_rto = "1 s" }`'),
                ('`tcp = "linux"` without `packet`', '`tcp = "linux"` with `packet = "1000 B"`'),
            ),
        ),
        "A bundle of 0.1 holds its numbers, and `aqmlab verify` shows those of this version beside them. The same\n"
        "file gives the same numbers to the bit in the version that the bundle names.",
        "## In detail",
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
        '`after_idle = "new-cwv"` is RFC 7661, in every variant. The most that has been acknowledged in a round trip\n'
        "of the last second (or three round trips) is pipeACK. A window of which that is less than half is not\n"
        "validated: it does not grow, unless it is used up, and does not fall, in a pause either, until after five\n"
        "minutes it is halved and the threshold is three quarters of it. A loss or mark leaves half of what was used,\n"
        "pipeACK or the flight, and the end of recovery takes off half of what was sent again. Section 4.4.2, that\n"
        "bursts be held back, is left out. `rate_limited_increase` goes with any `after_idle`.",
        "`phases = true` records when a sender enters slow start, or BBR's drain ([phases of a law](phases.md)).",
        'With `bursts = "gso"` new segments of a law without a pace wait until about a millisecond of them can leave\n'
        "at once, as in Linux with segmentation offload; laws with a pace have bursts of their own then.",
        "The receiver's window of profile `linux` grows as Linux's does. It begins with\n"
        "64 KiB, 45 segments; slow start needs 10, 20, 40. When 20 have been read in a round trip after 10,\n"
        "`tcp_rcv_space_adjust` makes it 2*20 + 16, and twice as much more for the growth by half: 168 segments,\n"
        "twice what comes next. `tcp_grow_window` lets it out by two segments for each that arrives. So it keeps\n"
        "ahead, up to 2172 segments. While a segment is missing nothing is read, and the window may limit the sender.\n"
        "Where ACKs queue (`ack_path`) it does not limit the sender: no receiver can measure the round trip there.\n"
        '`window = "2172 packets"` sets that bound. It is not the default: it would bind\n'
        "in `l4s/*` from 120 Mbit/s and 100 ms on, which are about laws and queues, not about hosts.",
        "A receiver of profile `linux` takes no segment that is older than the last timestamp by more than a tick\n"
        "(RFC 7323, section 5, PAWS): an original that comes after what was sent again in its place, and before a\n"
        "segment that was sent again after it, is answered and not kept. Segments are numbered singly here, so\n"
        "numbers do not wrap.",
        "The queue in the sending host, which Linux keeps short (`small_queues`), is a first link with `host = true`\n"
        "([The sending host](scenarios.md#the-sending-host)). Other first links lie behind the host.",
        "A SYN that is not answered is sent again `syn_retries` times, then the connection is given up. A bulk flow\n"
        "is then closed. The transfer of a client is not counted as completed: a session goes on without that\n"
        "object, and a video player asks for the segment again.",
        "`aqmlab show tcp` prints this table.",
        table(("name", "`rfc`", "`ns2`", "`linux`", "range", "meaning", "source"), rows),
    )


def course() -> str:
    """The list of lessons."""
    rows = [(f"[{lesson.title}]({lesson.id}.md)", lesson.summary) for lesson in lessons()]
    return text(
        "# Lessons",
        LESSON,
        "Twelve short lessons on queues: a scenario, three things to try with what will be seen, and a question.\n"
        "`aqmlab studio` has them to play with; these pages have the same texts, with commands.",
        table(("lesson", "in short"), rows),
        "Save the scenario of a lesson under the name in its first line, and type the commands. Each measures the\n"
        "last stretch of time of which the text speaks, over three seeds. In Python a lesson can be stepped and\n"
        "changed by hand ([step a simulation](../simulation.md)):",
        "```python\nimport aqmlab\nfrom aqmlab.studio.lessons import lesson\n\n"
        'simulation = aqmlab.Simulation(lesson("01-bufferbloat").load(), "droptail")\n'
        "while simulation.now < 60:\n"
        "    if simulation.now == 30:\n"
        '        simulation.set("links.up.aqm", "codel")\n'
        "    simulation.step_until(simulation.now + 5)\n"
        '    call = simulation.probe().flows["call"]\n'
        "    print(f\"{simulation.now:.0f} s: {1e3 * call['packet_delay_mean']:.0f} ms\")\n```",
        "The numbers are means of the seeds 1 to 5. `tests/test_lessons.py` plays every try and holds them.\n"
        "Each lesson has [exercises](../exercises.md) whose answers are checked.",
    )


def queue(scenario: str, aqms: Iterable[str], speed: float) -> str:
    """A queue that runs in the page (docs/studio.md)."""
    told, schemes = "It runs where the studio is beside these pages: `make site`.", " ".join(aqms)
    return f'<aqmlab-queue scenario="{scenario}" aqm="{schemes}" speed="{speed:g}">{told}</aqmlab-queue>'


def lesson_page(lesson: Lesson) -> str:
    """One lesson, with the commands that repeat its tries."""
    number = int(lesson.id[:2])
    return text(
        f"# Lesson {number}: {lesson.title}",
        LESSON,
        lesson.text,
        queue(f"lessons/{lesson.id}", lesson.aqms, lesson.speed),
        f"```toml\n# {lesson.id}.toml\n{lesson.scenario}```",
        *(part for i, each in enumerate(lesson.tries, 1) for part in try_parts(lesson, i, each)),
        "## Question",
        lesson.question,
        folded("Answer", lesson.answer),
        neighbours(number),
    )


def folded(summary: str, content: str) -> str:
    """Markdown that a reader opens when there is an answer to compare it with."""
    return f'<details markdown="1">\n<summary>{summary}</summary>\n\n{content}\n\n</details>'


def picture(lesson: Lesson) -> str:
    """The picture of a lesson, with what it shows."""
    shown = lesson.pictured
    caption = f"{shown.title}, seed 1." + (f" Dotted: {told(shown)}." if shown.steps else "")
    return f"![{shown.title}: what is to be watched, against time](pictures/{lesson.id}.png)\n\n*{caption}*"


def neighbours(number: int) -> str:
    """The way to the lessons before and after one."""
    ways = {"Before": number - 2, "Next": number}
    found = [(way, lessons()[i]) for way, i in ways.items() if 0 <= i < len(lessons())]
    return " · ".join(["[All lessons](README.md)", *(f"{way}: [{each.title}]({each.id}.md)" for way, each in found)])


def try_parts(lesson: Lesson, number: int, each: Try) -> Iterator[str]:
    """A thing to try: what to do; the commands; and folded, until the reader has predicted it, what will be seen."""
    yield f"## Try {number}: {each.title}"
    schemes = ", ".join(f"`{aqm}`" for aqm in each.aqms)
    yield f"Under {schemes}. {told(each)[0].upper()}{told(each)[1:]}."
    yield "What will happen? Predict it before you look."
    yield "```console\n" + "\n".join(f"$ {line}" for line in commands(lesson, each)) + "\n```"
    seen = [each.text, *([picture(lesson)] if each == lesson.pictured else [])]
    yield folded("What is seen", "\n\n".join(seen))


def told(each: Try) -> str:
    """What is changed in a try, in words."""
    steps = []
    for at, same in groupby(each.steps, lambda step: step.at):
        changes = " and ".join(
            f"`{step.path}` becomes `{step.value}`"
            + (f" under `{each.aqms[step.lane]}`" if step.lane is not None else "")
            for step in same
        )
        steps.append(f"at {at:g} s {changes}")
    return "; ".join(steps) or f"nothing is changed until {each.until:g} s"


def commands(lesson: Lesson, each: Try) -> Iterator[str]:
    """The lines that measure the last thing that is told of a try: one for all schemes with the same changes."""
    start, end = max((told.start, told.end) for told in each.expected)
    names = curves([told for told in each.expected if (told.start, told.end) == (start, end)])
    lanes: dict[tuple[Step, ...], list[str]] = {}
    for lane, aqm in enumerate(each.aqms):
        lanes.setdefault(tuple(step for step in each.steps if step.lane in (None, lane)), []).append(aqm)
    for steps, aqms in lanes.items():
        changes = ", ".join(f'{{ at = "{s.at:g} s", path = "{s.path}", value = {json.dumps(s.value)} }}' for s in steps)
        line = ["aqmlab", "compare", f"{lesson.id}.toml", "--aqms", ",".join(aqms), "--seeds", "3"]
        line += ["--set", f"duration={end:g}s", "--set", f"warmup={start:g}s"]
        for name in later(lesson, end):
            line += ["--set", f"flows.{name}.start=0s", "--set", f"flows.{name}.count=0"]
        line += ["--set", f"changes=[{changes}]"] if steps else []
        line += [word for name in names for word in ("--measure", name)]
        yield " ".join(map(quote, line))


def later(lesson: Lesson, end: float) -> list[str]:
    """The groups of flows that begin after a time, which a shorter run has to do without."""
    starts = {group["name"]: group.get("start") for group in loads(lesson.scenario)["flows"]}
    return [name for name, start in starts.items() if isinstance(start, str) and quantity(start) > end]


def curves(expected: Iterable[Expected]) -> list[str]:
    """The measures of a run that curves stand for; the state of a scheme is none."""
    called = {
        ("queue", "mean"): "queue_mean",
        ("queue", "sd"): "queue_std",
        ("delay", "mean"): "queue_delay_mean",
        ("utilisation", "mean"): "utilisation",
        ("packet_delay", "mean"): "packet_delay_mean",
        ("goodput", "mean"): "goodput",
    }
    found = []
    for told in expected:
        place, _, column = told.curve.rpartition(".")
        if (column, told.of) in called:
            found.append(f"{place}.{called[column, told.of]}")
    return list(dict.fromkeys(found))


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
