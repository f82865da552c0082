"""Measure the overhead of the studio's server at full speed: processor time of server and engine, eight lanes.

The engine alone steps the same eight simulations to their end, on as many threads, and shows nothing.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count, sysconf
from pathlib import Path

from websockets.sync.client import connect

from aqmlab.scenario import load

SCHEMES = ["droptail", "red", "pi", "codel", "pie", "pi2", "fq-codel", "rem"]


DURATION = "500 s"
"""Of every scenario, so that what is done once does not count."""


def engine(scenario: str) -> float:
    """Return the processor time (s) of the engine alone; run in a separate process."""
    from aqmlab import Simulation

    simulations = [Simulation(scenario, aqm, set={"duration": DURATION}) for aqm in SCHEMES]
    before = time.process_time()
    with ThreadPoolExecutor(cpu_count()) as pool:
        list(pool.map(lambda each: each.step_until(each.end), simulations))
    return time.process_time() - before


def studio(scenario: str) -> tuple[float, int]:
    """Return the processor time (s) of the server from play to the end, and the frames that were sent."""
    command = [sys.executable, "-m", "aqmlab", "studio", "--no-browser", "--token", "measured-by-a-bench"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr
            found = re.search(r"http://(\S+)/\?", server.stderr.readline())
            assert found
            return _played(server.pid, found[1], scenario)
        finally:
            server.kill()


def _played(pid: int, host: str, scenario: str) -> tuple[float, int]:
    from http.client import HTTPConnection

    connection = HTTPConnection(host)
    connection.request("GET", "/?token=measured-by-a-bench")
    with connection.getresponse() as page:
        cookie = str(page.headers["set-cookie"]).partition(";")[0]
        page.read()
    connection.request("GET", "/api/catalogue", headers={"Cookie": cookie})  # as the page does
    with connection.getresponse() as catalogue:
        catalogue.read()
    frames = 0
    with connect(
        f"ws://{host}/session", additional_headers={"Cookie": cookie, "Origin": f"http://{host}"}, max_size=None
    ) as socket:
        text = re.sub(r"(?m)^duration = .*", f'duration = "{DURATION}"', load(scenario).text)
        socket.send(json.dumps({"type": "open", "name": "bench", "text": text, "aqms": SCHEMES}))
        while json.loads(_text(socket.recv()))["type"] != "opened":
            pass
        before = _spent(pid)
        socket.send('{"type": "play"}')
        while True:
            data = socket.recv()
            if isinstance(data, bytes):
                frames += 1
                sequence = int.from_bytes(data[8:12], "little")
                socket.send(json.dumps({"type": "seen", "sequence": sequence}))
            elif json.loads(data)["type"] == "done":
                return _spent(pid) - before, frames


def _text(data: str | bytes) -> str:
    return '{"type": "frame"}' if isinstance(data, bytes) else data


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / sysconf("SC_CLK_TCK")


def main() -> None:
    """Print both times for each scenario, the minimum of some repetitions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=["li2014/table-1", "home/rrul", "link/mix"])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--engine", action="store_true", help="the engine alone, in this process")
    options = parser.parse_args()
    if options.engine:
        print(engine(options.scenarios[0]))
        return
    for scenario in options.scenarios:
        alone, served, frames = [], [], 0
        for _ in range(options.repeat):
            command = [sys.executable, __file__, scenario, "--engine"]
            alone.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            spent, frames = studio(scenario)
            served.append(spent)
        least, more = min(alone), min(served)
        print(
            f"{scenario}: engine {least:.2f} s, studio {more:.2f} s: {100 * (more / least - 1):+.1f} %, {frames} frames"
        )
    print(f"largest process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
