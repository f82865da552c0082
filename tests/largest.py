"""Inputs of every kind that SECURITY.md lists, of any size up to the limit, with what reads them.

`test_growth.py` doubles them and counts the work, `benches/limits.py` measures the time at the limit.
"""

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import pyarrow as pa

from aqmlab import Scenario, own, scenario, untrusted
from aqmlab.bundle import archive
from aqmlab.fit import readers
from aqmlab.gym import policy
from aqmlab.problems import InputError
from aqmlab.runs import columns, plan
from aqmlab.tc.lines import listing
from captured import Packet, pcap
from conftest import BASIC, SMALL

MIB = untrusted.MIB


Reading = Callable[[], object]
"""Reads an input that was made."""


@dataclass(frozen=True)
class Input:
    """A kind of input: its row in SECURITY.md, what makes one of so many parts, and numbers of parts."""

    row: str
    make: Callable[[Path, int], Reading]
    least: int
    day: int
    """The parts up to which it is doubled in a second or so."""
    most: int
    """The parts at the limit."""


def bundle(folder: Path, mib: int) -> Reading:
    """Return a bundle of files of a MiB that do not shrink."""
    line = bytes(range(256)) * (MIB // 256)
    path = folder / f"{mib}.zip"
    files = {f"f{i}.txt": line for i in range(mib)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        for name, data in (files | {archive.MANIFEST: archive.manifest(files)}).items():
            packed.writestr(name, data)
    return lambda: archive.unpack(path)


def groups(n: int) -> str:
    """Return a scenario of so many groups of flows."""
    return SMALL.read_text(encoding="utf-8") + "".join(f'[[flows]]\nname = "f{i}"\nrtt = "20 ms"\n' for i in range(n))


def scenario_file(folder: Path, n: int) -> Reading:
    """Return the file of a scenario of so many groups."""
    path = folder / f"{n}.toml"
    path.write_text(groups(n), encoding="utf-8")
    return lambda: scenario.load(path)


def experiment(folder: Path, n: int) -> Reading:
    """Return the file of an experiment of so many more schemes with a parameter each."""
    (folder / "small.toml").write_bytes(SMALL.read_bytes())
    path = folder / f"e{n}.toml"
    more = ", ".join(f'{{ name = "pi", w = "{i + 1} Hz" }}' for i in range(n))
    path.write_text(BASIC.replace('"droptail",', f'"droptail", {more},'), encoding="utf-8")
    return lambda: plan.read(path)


def trace(folder: Path, n: int) -> Reading:
    """Return a scenario whose link follows a trace of so many opportunities."""
    (folder / f"{n}.down").write_text("".join(f"{i}\n" for i in range(1, n + 1)), encoding="utf-8")
    text = SMALL.read_text(encoding="utf-8").replace('rate = "10 Mbit/s"', f'rate = {{ trace = "{n}.down" }}')
    path = folder / f"t{n}.toml"
    path.write_text(text, encoding="utf-8")
    return lambda: scenario.load(path)


def document(_: Path, n: int) -> Reading:
    """Return a document of so many empty lists, which take the most memory for their text."""
    text = "[" + "[]," * n + "[]]"
    return lambda: untrusted.parse_json(text)


def table(folder: Path, n: int) -> Reading:
    """Return a table of so many rows with a text and two numbers each."""
    path = folder / f"{n}.parquet"
    rows = pa.array(range(n), pa.int64())
    path.write_bytes(columns.encode(pa.table({"key": rows.cast(pa.string()), "x": rows.cast(pa.float64()), "n": rows})))
    return lambda: untrusted.read_parquet(path)


def results(_: Path, n: int) -> Reading:
    """Return the stored results of so many runs."""
    texts = [json.dumps({"links": {"l": {"x": i + 0.5, "y": i}}, "name": "r"}) for i in range(n)]
    return lambda: columns.measured(texts)


def lines(_: Path, n: int) -> Reading:
    """Return lines of tc: so many classes."""
    more = (f"tc class add dev eth0 parent 1: classid 1:{i:x} htb rate 1mbit" for i in range(1, n + 1))
    text = "\n".join(["tc qdisc add dev eth0 root handle 1: htb default 1", *more])
    return lambda: listing(text)


def model(folder: Path, n: int) -> Reading:
    """Return the file of a trained policy with so many weights, and as many bytes that are not looked at."""
    path = folder / f"{n}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(policy.ENTRY, json.dumps({"layers": [{"weights": [[0.5] * n]}]}))
        packed.writestr("policy.pth", b"\0" * n)
    return lambda: policy.read(path)


def scheme(folder: Path, n: int) -> Reading:
    """Return the file of a scheme with a comment of so many lines."""
    path = folder / f"scheme{n}.py"
    body = "    def enqueue(self, packet, queue):\n        return self.accept()\n"
    path.write_text(
        f"import aqmlab\n\nclass Own{n}In{crc32(str(folder).encode())}(aqmlab.Aqm):\n{body}" + "# nothing\n" * n,
        encoding="utf-8",
    )
    return lambda: own.defines("aqm", str(path), own.Aqm)


def message(_: Path, n: int) -> Reading:
    """Return what reads a text with so many names that are not there, and writes what is wrong."""
    text = groups(0) + "".join(f'[[flows]]\nname = "g{i}"\nrtt = "20 ms"\npath = ["m{i}"]\n' for i in range(n))

    def refused() -> str:
        try:
            Scenario.parse(text, "m")
        except InputError as error:
            return str(error)
        raise AssertionError("it is accepted")

    return refused


def capture(folder: Path, n: int) -> Reading:
    """Return a capture of so many packets of 1,024 flows."""
    path, start = folder / f"{n}.pcap", 1_700_000_000
    flows = [pcap([Packet(start, ports=(i, 9), payload=1000)])[24:] for i in range(min(n, 1024))]
    with path.open("wb") as file:
        file.write(pcap([]))
        for i in range(0, n, len(flows)):
            file.writelines(flows[: n - i])
    return lambda: readers.read(path)


def flent(folder: Path, n: int) -> Reading:
    """Return a data file of flent with so many pings and intervals of a transfer."""
    path = folder / f"{n}.flent"
    pings = ",".join(f'{{"seq": {i}, "t": {i}.5, "val": 20.5}}' for i in range(n))
    rates = ",".join(f'{{"t": {i}.5, "dur": 1, "val": 8.5}}' for i in range(n))
    values = f'"Ping (ms) ICMP": [{pings}], "TCP upload": [{rates}]'
    path.write_text(f'{{"metadata": {{"BATCH_NAME": null}}, "raw_values": {{{values}}}}}', encoding="utf-8")
    return lambda: readers.read(path)


INPUTS = {
    "bundle": Input("bundle", bundle, 2, 16, 480),
    "scenario": Input("scenario", scenario_file, 200, 1600, 64_000),
    "experiment": Input("scenario", experiment, 50, 200, 24_000),
    "rate trace": Input("rate trace", trace, 10_000, 80_000, 1_800_000),
    "JSON": Input("JSON", document, 1000, 16_000, 8_000_000),
    "Parquet": Input("Parquet", table, 20_000, 160_000, 10_000_000),
    "results": Input("folder of a sweep", results, 500, 8000, 1_000_000),
    "lines of tc": Input("tc commands", lines, 100, 800, 15_000),
    "trained policy": Input("trained policy", model, 2000, 32_000, 4_500_000),
    "scheme file": Input("scheme or congestion controller", scheme, 2000, 16_000, 1_600_000),
    "capture": Input("capture", capture, 4000, 16_000, 3_000_000),
    "measurement": Input("measurement", flent, 500, 4000, 300_000),
    "message": Input("arguments", message, 200, 1600, 50_000),
}
"""By name; those of `crates/scenario/tests/limits.rs` and `crates/live/tests/limits.rs` are read in Rust alone."""
