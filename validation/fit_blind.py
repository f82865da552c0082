"""Measure how well `aqmlab fit` finds lines that it has never seen (docs/fit-evidence.md).

`--seed S --lines N` draws N lines from the law below, measures each in the simulator, writes the files as iperf3 and
ping write them, fits a twin, and adds a row per direction to `fit/seed-S.csv`. Lines with a row are not repeated, so an
interrupted run continues. A line that fails counts as a failure; none is drawn again.
"""

import argparse
import csv
import json
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from aqmlab import _core
from aqmlab.fit.fitting import fit
from aqmlab.fit.measurement import LinkDirection
from aqmlab.fit.observation import Load, Observation
from aqmlab.fit.result import Fit
from aqmlab.fit.trial import scenario, simulated
from aqmlab.fit.twin import FULL, KINDS, Twin, TwinLink
from aqmlab.problems import InputError
from aqmlab.runs.task import RunError
from aqmlab.scenario import parse

if TYPE_CHECKING:
    from aqmlab.fit.measurement import Series

ROWS = Path(__file__).parent / "fit"
RATES, RTTS, BUFFERS = (1e6, 1e9), (0.002, 0.6), (0.2, 20.0)
"""Ranges of the law: bit/s, s, bandwidth-delay products; all are uniform in the logarithm."""
FEWEST, TARGETS = 5, {"codel": 0.005, "fq-codel": 0.005, "pie": 0.015, "dualpi2": 0.015}
"""Packets of the smallest buffer; target delays in s, of which the buffer of a scheme holds at least four.

In a shorter buffer the scheme never acts, and its queue is a drop-tail queue.
"""
NOISY, LOSSY, CHANGING = 0.5, 0.2, 0.1
"""Shares of the lines with jitter, of the directions with random loss, of the lines with a changing rate."""
STREAMS, EVERY = 4, 0.02
"""Parallel transfers, and the interval of the pings in s."""
EPOCH = 1.7e9


def drawn(seed: int, number: int) -> Twin:
    """Return a line of the law."""
    rng = random.Random(f"fit {seed} {number}")
    down, rtt = _log(rng, *RATES), _log(rng, *RTTS)
    up = max(RATES[0], down / rng.choice((1, 2, 5, 10, 20)))
    jitter = ((0.0, 0.001), (rtt * rng.uniform(0.01, 0.1), 1.0)) if rng.random() < NOISY else ()
    changing = rng.choice(tuple(LinkDirection)) if rng.random() < CHANGING else None
    links = {
        way: _drawn_link(rng, rate, rtt, way is changing)
        for way, rate in ((LinkDirection.down, down), (LinkDirection.up, up))
    }
    return Twin(links, rtt, jitter)


def _drawn_link(rng: random.Random, rate: float, rtt: float, changing: bool) -> TwinLink:
    kind = rng.choice(KINDS[:5] if changing else KINDS)
    bdp = rate * rtt / 8 / FULL
    shortest = max(FEWEST, 4 * TARGETS.get(kind, 0.0) * rate / 8 / FULL)
    link = TwinLink(kind, rate, max(shortest, bdp * _log(rng, *BUFFERS)))
    if rng.random() < LOSSY:
        link = replace(link, loss=_log(rng, 1e-4, 3e-3))
    if kind == "shaper":
        link = replace(link, burst=rate / 8 * _log(rng, 0.05, 1.0), peak=rate * _log(rng, 2, 10))
    elif kind == "policer":
        link = replace(link, burst=max(10.0 * FULL, rate / 8 * _log(rng, 0.02, 0.2)), peak=rate * _log(rng, 2, 10))
    if changing:
        times = [0.0, *(at + rng.uniform(-2, 2) for at in (8.0, 16.0, 24.0))]
        link = replace(link, steps=tuple((at, 1.0 if i == 0 else rng.uniform(0.4, 1.0)) for i, at in enumerate(times)))
    return link


def _log(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def duration(rtt: float) -> float:
    """Return how long the plan measures a direction: 100 round trips within 30 s and 60 s."""
    return min(60.0, max(30.0, round(100 * rtt)))


def measured(line: Twin, folder: Path, seed: int) -> list[Path]:
    """Measure a line in both directions and write the files of ping and iperf3; return their paths."""
    paths = []
    for i, way in enumerate(line.links):
        load = Load(way, STREAMS, duration(line.rtt), EVERY, l4s=True, lead=5.0)
        seen = simulated(line, load, seed)
        start = EPOCH + 100 * i + random.Random(f"{seed} {way}").random()
        texts = {
            f"{way}.json": iperf3(seen, start, line.rtt),
            f"{way}-ping.txt": ping(seen.probes, start),
            f"{way}-ping-ect1.txt": ping(seen.l4s or seen.probes, start),
        }
        for name, text in texts.items():
            (folder / name).write_text(text)
            paths.append(folder / name)
    return paths


def ping(series: "Series", start: float) -> str:
    """Return the output of `ping -D`."""
    lines = ["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."]
    got = 0
    for number, (sent, rtt) in enumerate(zip(series.time, series.value, strict=True), 1):
        if math.isfinite(rtt):
            got += 1
            at = start + sent + rtt
            lines.append(f"[{at:.6f}] 64 bytes from 192.0.2.1: icmp_seq={number} ttl=64 time={_digits(rtt * 1e3)} ms")
    count = len(series.time)
    lines += ["", "--- 192.0.2.1 ping statistics ---"]
    lost = 100 * (1 - got / count)
    lines.append(
        f"{count} packets transmitted, {got} received, {lost:.6g}% packet loss, time {round(count * EVERY * 1e3)}ms"
    )
    return "\n".join(lines) + "\n"


def _digits(ms: float) -> str:
    """Return a time as ping prints it."""
    return f"{ms:.3f}" if ms < 1 else f"{ms:.2f}" if ms < 10 else f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"


def iperf3(seen: Observation, start: float, rtt: float) -> str:
    """Return the document of `iperf3 -J --get-server-output`, with the retransmissions of all streams at the first."""
    is_up = seen.load.direction is LinkDirection.up
    head = {
        "connected": [{"socket": 5 + i} for i in range(len(seen.srtt))],
        "version": "iperf 3.12",
        "timestamp": {"timesecs": int(start - 2 * rtt)},
        "cookie": f"{seen.load.direction}",
        "tcp_mss_default": 1448,
        "test_start": {
            "protocol": "TCP",
            "num_streams": len(seen.srtt),
            "reverse": int(not is_up),
            "target_bitrate": 0,
        },
    }
    sender, receiver = list(_intervals(seen, True)), list(_intervals(seen, False))
    end = {"sender_tcp_congestion": "cubic", "receiver_tcp_congestion": "cubic"}
    client = {"start": {**head, "connecting_to": {}}, "intervals": sender if is_up else receiver, "end": end}
    server = {"start": {**head, "accepted_connection": {}}, "intervals": receiver if is_up else sender, "end": end}
    return json.dumps({**client, "server_output_json": server})


def _intervals(seen: Observation, at_sender: bool) -> Iterator[Mapping[str, object]]:
    """Yield the intervals of one end; the sender writes as much as arrives."""
    count = len(seen.srtt)
    rows = zip(seen.goodput.start, seen.goodput.end, seen.goodput.value, strict=True)
    for i, (begin, end, rate) in enumerate(rows):
        streams = []
        for number, srtt in enumerate(seen.srtt):
            size = round(rate / count * (end - begin) / 8)
            stream = {"socket": 5 + number, "start": begin, "end": end, "seconds": end - begin, "bytes": size}
            stream |= {"bits_per_second": 8 * size / (end - begin), "omitted": False, "sender": at_sender}
            if at_sender and seen.retransmits is not None:
                again = int(seen.retransmits.value[i]) if number == 0 else 0
                stream |= {"retransmits": again, "snd_cwnd": 0, "rtt": round(1e6 * max(0.0, _finite(srtt.value[i])))}
            streams.append(stream)
        yield {"streams": streams}


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


@dataclass(frozen=True)
class Row:
    """One direction of a line: the truth, and the fit. Texts of numbers; empty where there is none."""

    seed: int
    line: int
    direction: str
    kind: str
    rate: float
    base: float
    buffer: float
    full: int
    """Packets dropped at a full buffer."""
    changing: int
    found_kind: str = ""
    alike: str = ""
    """The kinds that explain the measurement equally, separated by "/"."""
    found_rate: float = math.nan
    found_base: float = math.nan
    found_buffer: float = math.nan
    rate_low: float = math.nan
    rate_high: float = math.nan
    buffer_low: float = math.nan
    buffer_high: float = math.nan
    score: float = math.nan
    runs: int = 0
    seconds: float = math.nan
    """Processor time of the whole line."""
    failed: str = ""


def rows(seed: int, number: int) -> list[Row]:
    """Measure and fit one line."""
    line = drawn(seed, number)
    with TemporaryDirectory() as folder:
        paths = measured(line, Path(folder), 1000 * seed + number)
        began, failed, found = time.process_time(), "", None
        try:
            found = fit(paths)
        except (InputError, RunError) as error:
            failed = str(error)
    seconds = time.process_time() - began
    return [_row(seed, number, line, way, found, seconds, failed) for way in line.links]


def _row(seed: int, number: int, line: Twin, way: LinkDirection, found: Fit | None, seconds: float, failed: str) -> Row:
    link = line.links[way]
    base = line.rtt + sum(8 * 84 / each.wire for each in line.links.values())
    rate, full = _mean_rate(link, line.rtt), _full(line, way, seed)
    truth = Row(seed, number, way, link.kind, rate, base, link.buffer, full, len(link.steps))
    if found is None:
        return replace(truth, failed=failed)
    fitted = found.directions[way]
    best, alike = fitted.best, [each.link.kind for each in fitted.candidates[: fitted.alike]]
    rates = best.intervals.get("rate", (math.nan, math.nan))
    buffers = best.intervals.get("buffer", (math.nan, math.nan))
    by_mean = _mean_rate(best.link, line.rtt) / best.link.rate
    return replace(
        truth,
        found_kind=best.link.kind,
        alike="/".join(alike),
        found_rate=best.link.rate * by_mean,
        found_base=found.base,
        found_buffer=best.link.buffer,
        rate_low=rates[0] * by_mean,
        rate_high=rates[1] * by_mean,
        buffer_low=buffers[0],
        buffer_high=buffers[1],
        score=best.score,
        runs=fitted.runs,
        seconds=seconds,
    )


def _mean_rate(link: TwinLink, rtt: float) -> float:
    """Return the rate of a link, the mean over the load if it changes."""
    if not link.steps:
        return link.rate
    ends = [*(at for at, _ in link.steps[1:]), duration(rtt)]
    return link.rate * sum(by * (end - at) for (at, by), end in zip(link.steps, ends, strict=True)) / duration(rtt)


def _full(line: Twin, way: LinkDirection, seed: int) -> int:
    """Return the packets that a full buffer drops under the load."""
    load = Load(way, STREAMS, duration(line.rtt), EVERY, l4s=True, lead=5.0)
    run = _core.run(parse(scenario(line, load), "line", (), None), None, seed)
    drops = json.loads(run.json())["links"][way]["drops"]
    return sum(count for reason, count in drops.items() if reason in ("overflow", "full", "evicted"))


def run(seed: int, lines: int, processes: int) -> None:
    """Add the rows that are missing, each line as soon as it is done."""
    path = ROWS / f"seed-{seed}.csv"
    done = {row["line"] for row in _read(path)}
    missing = [number for number in range(lines) if str(number) not in done]
    with ProcessPoolExecutor(processes) as pool:
        for found in as_completed([pool.submit(rows, seed, number) for number in missing]):
            _add(path, found.result())
            print(f"line {found.result()[0].line} of seed {seed}", flush=True)


def _read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _add(path: Path, found: Sequence[Row]) -> None:
    path.parent.mkdir(exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Row)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(asdict(each) for each in found)


def summary(seed: int) -> Iterator[str]:
    """Yield the shares that the fit is judged by, one per row."""
    found = _read(ROWS / f"seed-{seed}.csv")
    fitted = [row for row in found if not row["failed"]]
    told = [row for row in fitted if "/" not in row["alike"]]
    full = [row for row in found if int(row["full"]) and row["kind"] != "policer"]
    yield f"directions: {len(found)}, of which failed: {len(found) - len(fitted)}"
    yield _share("rate within 2 %", [_near(row, "rate", 0.02) for row in found])
    yield _share("base delay within 2 %", [_near(row, "base", 0.02) for row in found])
    yield _share("buffer within 10 %, where it is ever full", [_near(row, "buffer", 0.1) for row in full])
    yield _share("kind of queue right, where it can be told", [row["kind"] == row["found_kind"] for row in told])
    yield _share(
        "true kind among those that explain equally", [row["kind"] in row["alike"].split("/") for row in fitted]
    )
    yield _share("kind cannot be told", ["/" in row["alike"] for row in fitted])
    sure = [row for row in fitted if row["rate_low"] != "nan"]
    yield _share("interval of the rate holds, where it is given", [_holds(row, "rate") for row in sure])
    given = [row for row in full if not row["failed"] and row["buffer_low"] != "nan"]
    yield _share("interval of the buffer holds, where it is given", [_holds(row, "buffer") for row in given])
    yield f"processor time of a line: {sum(float(row['seconds']) for row in fitted) / max(1, len(fitted)):.0f} s"


def _share(name: str, values: Sequence[bool]) -> str:
    return f"{name}: {sum(values)} of {len(values)} ({100 * sum(values) / max(1, len(values)):.0f} %)"


def _near(row: Mapping[str, str], name: str, by: float) -> bool:
    return abs(float(row[f"found_{name}"]) / float(row[name]) - 1) <= by


def _holds(row: Mapping[str, str], name: str) -> bool:
    return float(row[f"{name}_low"]) <= float(row[name]) <= float(row[f"{name}_high"])


def main() -> None:
    """Run the lines that are missing and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    run(asked.seed, asked.lines, asked.processes)
    print(*summary(asked.seed), sep="\n")


if __name__ == "__main__":
    main()
