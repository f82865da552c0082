"""Ten minutes of search for a scenario in which the simulator and Linux disagree; `make hunt` runs it.

    python validation/hunt.py [SEED] [--time TIME]

The seed selects the discipline and the draws; it is the date by default, and printed. A disagreement is kept as
`validation/found/hunt-SEED.toml`, and fails nothing. Without a kernel the hunt is skipped with a message.
"""

import argparse
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

from random_scenarios import DISCIPLINES

from aqmlab.kernel.images import images
from aqmlab.worst.plan import plan
from aqmlab.worst.result import find_worst

FOLDER = Path(__file__).parent / "found"


def main() -> None:
    """Search once."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("seed", nargs="?", type=int, default=int(f"{datetime.now(UTC):%Y%m%d}"))
    parser.add_argument("--time", default="10min", help="duration of the search")
    parser.add_argument("--target", help="a discipline, instead of one drawn under the seed")
    asked = parser.parse_args()
    if not images():
        print("no kernel is built (aqmlab kernel build): the hunt is skipped")
        return
    target = asked.target or DISCIPLINES[random.Random(asked.seed).choice(list(DISCIPLINES))]
    print(f"Hunting with seed {asked.seed}: {target}, simulator against Linux", flush=True)
    found = find_worst(plan(target, between=["sim", "linux"], budget=asked.time, seed=asked.seed))
    print(found.sentence, file=sys.stderr)
    if found.finding is None:
        return
    file = FOLDER / f"hunt-{asked.seed}.toml"
    file.write_text(f"# {found.sentence}\n{found.finding.scenario}", encoding="utf-8")
    print(f"Wrote {file}")


if __name__ == "__main__":
    main()
