"""Write the pages that come from elsewhere: schemes, controllers, constants, measures, commands, lessons, the API.

`python docs/generate.py --check` writes nothing and exits with 1 if a page is out of date.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from shlex import quote

import api
import keys
import measures
import options
import source_map
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
        DOCS / "keys.md": keys.page(NOTE),
        DOCS / "metrics.md": measures.page((DOCS / "metrics.md").read_text(encoding="utf-8")),
        DOCS / "commands.md": options.page((DOCS / "commands.md").read_text(encoding="utf-8")),
        CLASSES: measures.classes(),
        **{DOCS / "tcp" / f"{law.name}.md": law_page(law) for law in catalogue.laws()},
        **{DOCS / "schemes" / f"{scheme.name}.md": scheme_page(scheme) for scheme in schemes},
        DOCS / "lessons" / "README.md": course(),
        **{DOCS / "lessons" / f"{each.id}.md": lesson_page(each) for each in lessons()},
        **source_map.pages(),
    }


def index(schemes: Sequence[Scheme]) -> str:
    """The catalogue."""
    rows = [(f"[`{s.name}`]({s.name}.md)", label(s.name), s.family, str(s.year), s.summary) for s in schemes]
    return text(
        "# AQM schemes",
        NOTE,
        "`aqmlab list aqms` prints this list, `aqmlab show NAME` a page.",
        table(("name", "title", "family", "year", "in short"), rows),
        "In every table and legend, a mark follows the name of a scheme whose algorithm is not entirely as published:",
        "\n".join(f"- {mark.sign} {mark.meaning}." for mark in MARKS.values()),
        "The page of a scheme names that part. Files for programs (JSON, CSV, Parquet) contain names without marks.",
    )


def scheme_page(scheme: Scheme) -> str:
    """One scheme, as `aqmlab show` prints it."""
    shown = [(f"`{item.name}`", item.unit, item.doc) for item in scheme.observables]
    return text(
        f"# {label(scheme.name)} (`{scheme.name}`)",
        NOTE,
        scheme.summary,
        f"Family: {scheme.family}. Year: {scheme.year}. Source: {scheme.source}.  \n"
        f"Confidence: {scheme.confidence}.  \n{standing(scheme)}.",
        f"![Queue and state of {scheme.title} while the load quadruples and falls again](pictures/{scheme.name}.png)",
        "*30 flows share 30 Mbit/s. From 20 s to 40 s there are 120. The dashed line is the target:*\n"
        f"`aqmlab run catalogue/load-step --aqm {scheme.name} --out DIR`.",
        scheme.page,
        "## Try it",
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
    """One congestion controller, as `aqmlab show` prints it."""
    return text(
        f"# {law.title} (`{law.name}`)",
        NOTE,
        law.summary,
        f"Year: {law.year}. Source: {law.source}. See also [TCP](../tcp.md).",
        law.page,
        *beside_linux(DOCS / "tcp" / "linux" / f"{law.name}.png", law.title, f" --set flows.bulk.tcp={law.name}"),
        "## Parameters",
        parameters(law.parameters) if law.parameters else "None.",
        "  \n".join(f"{name}: {fact}." for name, fact in law.facts()),
    )


def beside_linux(picture: Path, title: str, options: str) -> Iterator[str]:
    """Yield the comparison with Linux, if there is a picture (docs/beside_linux.py draws it)."""
    if picture.exists():
        yield "## Comparison with Linux"
        yield f"![Queue of four flows with {title}, in the simulator and in Linux](linux/{picture.name})"
        yield (
            "*Four flows over 20 Mbit/s and 40 ms, in the simulator and in [Linux in virtual time](../kernel.md):*\n"
            f"`aqmlab compare catalogue/beside-linux --engines sim,linux{options}`. Ten seeds:\n"
            "[Validation against Linux in virtual time](../validation-kernel.md)."
        )


def parameters(declared: Iterable[Parameter]) -> str:
    """Parameters as a table."""
    rows = [(f"`{p.name}`", p.default, p.unit, p.legal, p.doc, p.source) for p in declared]
    return table(("name", "default", "unit", "range", "meaning", "source"), rows)


def tcp() -> str:
    """TCP's congestion controllers, and its constants in its profiles."""
    rows = [(f"`{c.name}`", c.default, c.ns2, c.linux, c.legal, c.doc, c.source) for c in catalogue.tcp_constants()]
    laws = [(f"[`{law.name}`](tcp/{law.name}.md)", law.title, str(law.year), law.summary) for law in catalogue.laws()]
    return text(
        "# TCP and congestion control algorithms",
        NOTE,
        "Receivers acknowledge every segment, or every second one with `delayed_ack`. `variant` is the loss recovery:",
        table(
            ("variant", "source", "loss recovery"),
            (
                ("`reno`", "RFC 5681", "Recovery ends at the first ACK of new data."),
                ("`newreno`", "RFC 6582", "Recovery continues through partial ACKs."),
                ("`sack`", "RFC 6675", "Segments that selective acknowledgements show as missing are retransmitted."),
                (
                    "`rack`",
                    "RFC 8985, RFC 9937",
                    "Losses are detected by time, a probe covers the last segments, and the window shrinks as segments "
                    "arrive.",
                ),
            ),
        ),
        "`congestion_control` is the congestion controller. Any controller works with any loss recovery, except BBR:\n"
        "BBR also sets the window in recovery and needs `rack`.\n"
        "`aqmlab list ccs` prints this list, `aqmlab show NAME` a page:",
        table(("name", "title", "year", "in short"), laws),
        "Three profiles set the constants. Any constant can be set over its profile.",
        table(
            ("profile", "reproduces", "controller", "segment unless `packet` is given"),
            (
                (
                    "`linux` (default)",
                    "Linux 6.1: `rack`, and delayed ACKs after a few immediate ones",
                    "CUBIC with Linux's rounding and HyStart",
                    "1448 B: full segments with timestamps on Ethernet",
                ),
                ("`rfc`", "the RFCs", "NewReno; other controllers use SACK", "1000 B"),
                (
                    "`ns2`",
                    "ns-2.35 to the clock tick, for papers that used ns-2 ([validation](validation.md))",
                    "Reno only",
                    "1000 B",
                ),
            ),
        ),
        "`rack` is Linux's only loss recovery. A group of flows with `reno`, `newreno` or `sack` as its `variant` and\n"
        "without a profile therefore uses profile `rfc`. A controller may set constants over the profile, as LEDBAT\n"
        "sets `initial_window`; its page lists them. Parameters of a controller follow its name, as for schemes:",
        '```toml\ntcp = "cubic"                # CUBIC as Linux ships it; also the default\n'
        'tcp = "cubic:beta=0.8"\n'
        'tcp = "reno"                 # Reno in Linux\n'
        'tcp = { congestion_control = "ledbat:target=5 ms,gain=10", quick_acks = 0 }\n'
        'tcp = "rfc"                  # NewReno by the RFCs\n'
        'tcp = "sack"                 # Reno with SACK, by the RFCs\n'
        'tcp = { congestion_control = "cubic", profile = "rfc" }\n'
        'tcp = { variant = "reno", profile = "ns2", min_rto = "1 s" }\n```',
        "## Slow starts",
        "The parameter `slow_start` sets the exit of the first slow start for Reno, CUBIC, DCTCP, Westwood+ and\n"
        'ABE: `tcp = "cubic:slow_start=search"`. The default is `hystart` for CUBIC in profile `linux`, and\n'
        "`classic` otherwise. LEDBAT++, Prague, Vegas and BBR use their own slow start. All values except\n"
        "`classic` need the round-trip time of every ACK. Only `rack` measures it. Other variants support `classic`\n"
        "only, and treat `hystart` as `classic`.",
        table(
            ("slow_start", "source", "algorithm"),
            (
                (
                    "`classic`",
                    "RFC 5681, section 3.1",
                    "The window doubles per round trip, until a loss or mark.",
                ),
                (
                    "`hystart`",
                    "Ha & Rhee, Computer Networks 55(9), 2011; Linux",
                    "Slow start ends when the ACKs of a round arrive for longer than half of the minimum round trip, "
                    "or when round trips are longer by an eighth of it, 4 to 16 ms.",
                ),
                (
                    "`hystart++`",
                    "RFC 9406",
                    "When round trips are longer by as much, growth continues at a quarter of its rate, and ends after "
                    "five rounds. If round trips become short again, growth continues as before.",
                ),
                (
                    "`search`",
                    "draft-chung-ccwg-search-09",
                    "Slow start ends when a share of 0.26 of the data sent a round trip earlier does not arrive, over "
                    "3.5 times the first round trip. The window then falls to the data that arrive per round trip, by "
                    "a segment for every three acknowledged.",
                ),
                (
                    "`rapid`",
                    "draft-kazuho-ccwg-rapid-start, editor's copy at 00e5ea1",
                    "The window triples per round trip while its minimum round-trip time is within a tenth and 4 ms of "
                    "the overall minimum; otherwise it doubles. The recovery that ends it leaves beta times the data "
                    "that have arrived.",
                ),
            ),
        ),
        "SEARCH follows revision 00 of the draft. The changes of revision 09 are taken from its\n"
        "implementations: SEARCH compares with sent data, the threshold is 0.26 (was 0.35), and the drain is\n"
        "gradual. A sender without feedback for a whole window restarts its measurement.",
        "The table shows the segments that one Reno flow loses in its first 5 s, on 20 Mbit/s and 50 ms in profile\n"
        "`linux`, by the buffer in bandwidth-delay products. SEARCH reacts only when the queue holds about 4.3\n"
        "products. Rapid Start reaches the link's rate in two thirds of the round trips, and\n"
        "loses more. Its pacing over the round trip and its larger initial window are not modelled.",
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
        "the loss recoveries above gives other results since 0.2. If it sets constants of TCP, aqmlab prints a note;\n"
        "name a profile to silence it. These settings give the numbers of 0.1:",
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
        "`aqmlab verify` compares the stored numbers of a bundle of 0.1 with the numbers of your version. The version\n"
        "that the bundle names gives bit-identical numbers.",
        "## In detail",
        "**ECN feedback.** A receiver reports CE marks as the controller requires: one echo until the sender has\n"
        "responded (RFC 3168), an echo per packet (RFC 8257, section 3.2), or a count of marked segments on every\n"
        "ACK (AccECN). The count is 24 bits long and takes the room of one SACK block. RFC 3168 is the default\n"
        "unless the controller's page states otherwise. `ecn = true` uses the codepoint of the controller: ECT(1)\n"
        'for Prague, for which ECN is on unless `ecn = false`, and ECT(0) for the others. `ecn = "ect1"` requires\n'
        "a controller that receives every mark. AccECN negotiation is not modelled: both ends always support it.\n"
        "ECN++ (generalized ECN) is available as `ect_on_syn` and `ect_on_retransmit`, both off by default. Pure\n"
        "ACKs are never ECN-capable.",
        "**Spurious reductions.** `rack` undoes a spurious reduction, as Linux does, if the original arrives after\n"
        "all (RFC 3522, RFC 5682), or if all retransmissions arrive twice (RFC 3708).",
        "**Window growth.** The window grows only while it is fully used. `after_idle` sets the window after an idle\n"
        "period. `window` is the receiver's and is constant.",
        '**`after_idle = "new-cwv"`** is RFC 7661, in every variant. pipeACK is the maximum acknowledged in a\n'
        "round trip of the last second (or three round trips). If pipeACK is less than half of the window, the\n"
        "window is not validated. It then does not grow, unless it is fully used, and does not fall, even in an\n"
        "idle period. After five minutes it is halved, and the threshold is set to three quarters of it. A loss or\n"
        "mark leaves half of the used window (pipeACK or the flight), and the end of recovery subtracts half of\n"
        "the retransmissions. Section 4.4.2, which limits bursts, is not implemented. `rate_limited_increase` can\n"
        "be combined with any `after_idle`, and applies to every controller except BBR, BBRv3, C4 and Copa, which set\n"
        "the window themselves.",
        "**Phases.** `phases = true` records when a sender enters slow start, or BBR's drain\n"
        "([sender phases](phases.md)).",
        '**`bursts = "gso"`** applies to controllers without pacing: new segments wait until about a millisecond\n'
        "of them can leave at once, as in Linux with segmentation offload. Controllers with pacing then use their\n"
        "own bursts; Prague's last 250 us. If `pacing = false`, they send as the window allows. `--engine linux`\n"
        "supports `gso`: it agrees with the simulator within the tolerances of [its validation](validation-kernel.md).",
        "**The receiver's window** of profile `linux` grows as in Linux. It begins with 64 KiB (45\n"
        "segments). Slow start needs windows of 10, 20 and 40 segments. After round trips with 10 and 20 read\n"
        "segments, `tcp_rcv_space_adjust` sets it to `2*20 + 16`, plus twice as much for the growth by half. The\n"
        "result is 168 segments, twice the next need.\n"
        "`tcp_grow_window` opens it by two segments per arriving segment. So it stays ahead, up to 2,172 segments.\n"
        "While a segment is missing nothing is read, and the window may limit the sender. If ACKs queue\n"
        "(`ack_path`), it does not limit the sender, because no receiver can then measure the round trip.",
        '`window = "2172 packets"` sets that maximum. It is not the default: it would limit senders\n'
        "in `l4s/*` from 120 Mbit/s and 100 ms on. Those scenarios study controllers and queues, not hosts.",
        "**PAWS.** A receiver of profile `linux` rejects segments that are older than the last timestamp by more\n"
        "than a tick (RFC 7323, section 5). An original that arrives between its own retransmission and a later\n"
        "retransmission is acknowledged and discarded. The simulator numbers segments, so sequence numbers do not\n"
        "wrap.",
        "**The sending host's queue (TSQ)**, which Linux keeps short (`small_queues`), is a first link with\n"
        "`host = true` ([The sending host](scenarios.md#the-sending-host)). Other first links are in the network.",
        "**Connection setup.** An unanswered SYN is retransmitted `syn_retries` times; then the connection is\n"
        "given up. A bulk flow is then closed. A client's transfer does not count as completed: a session\n"
        "continues without the object, and a video player requests the segment again.",
        "## Constants",
        "`aqmlab show tcp` prints this table.",
        table(("name", "`rfc`", "`ns2`", "`linux`", "range", "meaning", "source"), rows),
    )


def course() -> str:
    """The list of lessons."""
    rows = [(f"[{lesson.title}]({lesson.id}.md)", lesson.summary) for lesson in lessons()]
    return text(
        "# Lessons",
        LESSON,
        "Twelve short lessons on queues. Each contains a scenario, three experiments with their results, and a\n"
        "question. `aqmlab studio` runs them interactively; these pages contain the same texts, with commands.",
        table(("lesson", "in short"), rows),
        "Save the scenario of a lesson under the name in its first line, and run the commands. Each command measures\n"
        "the time after the last change, over seeds 1 to 3. In Python you can step and change a lesson\n"
        "([step a simulation](../simulation.md)):",
        "```python\nimport aqmlab\nfrom aqmlab.studio.lessons import lesson\n\n"
        'simulation = aqmlab.Simulation(lesson("01-bufferbloat").load(), "droptail")\n'
        "while simulation.now < 60:\n"
        "    if simulation.now == 30:\n"
        '        simulation.set("links.up.aqm", "codel")\n'
        "    simulation.step_until(simulation.now + 5)\n"
        '    call = simulation.probe().flows["call"]\n'
        "    print(f\"{simulation.now:.0f} s: {1e3 * call['packet_delay_mean']:.0f} ms\")\n```",
        "The numbers in the texts are means of seeds 1 to 5, so yours differ a little. `tests/test_lessons.py` runs\n"
        "every experiment and checks them.\n"
        "Each lesson has [exercises](../exercises.md) whose answers are checked.",
    )


def queue(scenario: str, aqms: Iterable[str], speed: float) -> str:
    """A queue that runs in the page (docs/studio.md)."""
    note, schemes = "It needs the studio next to these pages: `make site`.", " ".join(aqms)
    return f'<aqmlab-queue scenario="{scenario}" aqm="{schemes}" speed="{speed:g}">{note}</aqmlab-queue>'


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
    return f"![{shown.title}: the measured curves](pictures/{lesson.id}.png)\n\n*{caption}*"


def neighbours(number: int) -> str:
    """The way to the lessons before and after one."""
    ways = {"Before": number - 2, "Next": number}
    found = [(way, lessons()[i]) for way, i in ways.items() if 0 <= i < len(lessons())]
    return " · ".join(["[All lessons](README.md)", *(f"{way}: [{each.title}]({each.id}.md)" for way, each in found)])


def try_parts(lesson: Lesson, number: int, each: Try) -> Iterator[str]:
    """A thing to try: what to do; the commands; and folded, until the reader has predicted it, what will be seen."""
    yield f"## Experiment {number}: {each.title}"
    yield instructions(each)
    yield "Predict the result before you look."
    yield "```console\n" + "\n".join(f"$ {line}" for line in commands(lesson, each)) + "\n```"
    seen = [each.text, *([picture(lesson)] if each == lesson.pictured else [])]
    yield folded("Result", "\n\n".join(seen))


def instructions(each: Try) -> str:
    """The schemes of a try and its changes, as instructions."""
    names = [f"`{aqm}`" for aqm in each.aqms]
    sentences = [f"Run {', '.join(names[:-1])} and {names[-1]}." if len(names) > 1 else f"Start with {names[0]}."]
    for at, same in groupby(each.steps, lambda step: step.at):
        changes = " and ".join(
            f"`{step.path}` to `{step.value}`" + (f" ({names[step.lane]} only)" if step.lane is not None else "")
            for step in same
        )
        sentences.append(f"At {at:g} s, change {changes}.")
    if not each.steps:
        sentences.append(f"Change nothing until {each.until:g} s.")
    return " ".join(sentences)


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
    return "; ".join(steps)


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
