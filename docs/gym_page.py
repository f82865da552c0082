"""Measure the shipped policy and the environments' speed for docs/gym-evidence.md, and list names in docs/gym.md.

`python docs/gym_page.py declared` writes only the tables of gym.md, which takes no time. Each table is between
`<!-- its name -->` and `<!-- end -->`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from tables import table

import aqmlab
from aqmlab import own
from aqmlab.gym.episodes import Episodes
from aqmlab.gym.policy import OBSERVED, read
from aqmlab.gym.rewards import COMPONENTS, PRESETS
from aqmlab.gym.task import GAUGES
from aqmlab.runs.results import RunResult

FOLDER = Path(__file__).parent
EXAMPLE = FOLDER.parent / "examples" / "gym"
SCHEMES = ("an-aqm", "pi", "pie", "codel")
TABLES = (1, 2, 3, 5, 9, 13)
"""Tables of Li et al. 2014, within and outside the training range of the policy."""
FIRST, EPISODES, SEEDS = 100, 60, 20
"""Held-out episodes from number 100 on: those before helped to choose among recipes."""


def declared() -> dict[str, str]:
    """Tables of the names that an environment accepts."""
    scale = {name: f"x/(|x| + {g.reference})" if g.reference else "√x" for name, g in GAUGES.items()}
    return {
        "gauges": table(
            ["name", "unit", "meaning", "scaled"],
            (
                [f"`{g.name}`" + ("*" if g.name in OBSERVED else ""), g.unit, g.doc, scale[g.name]]
                for g in GAUGES.values()
            ),
        ),
        "components": table(
            ["name", "meaning"], ([f"`{name}`", (each.__doc__ or "").rstrip(".")] for name, each in COMPONENTS.items())
        ),
        "presets": table(
            ["name", "weights", "source"],
            (
                [f"`{name}`", ", ".join(f"{w:g} `{c}`" for c, w in p.weights.items()), p.source]
                for name, p in PRESETS.items()
            ),
        ),
    }


def near(run: RunResult, target: float) -> float:
    """The reward of the shipped policy, averaged over a run."""
    queue = run.series["bottleneck"]["queue"]
    return float(np.mean(target / (target + np.abs(queue - target))))


def interval(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Half the 95 % interval of a mean."""
    return float(student.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)


def trained() -> str:
    """The shipped scheme."""
    return own.spec(str(EXAMPLE / "trained_aqm.py"))


def held_out(episodes: Episodes) -> str:
    """How the schemes do on held-out episodes."""
    rows, ours = [], np.zeros(0)
    for aqm in (trained(), *SCHEMES):
        drawn = [episodes.held_out(k) for k in range(FIRST, FIRST + EPISODES)]
        runs = [(s, aqmlab.run(s, aqm, seed, series=True)) for s, seed in drawn]
        reward = np.array([near(run, scenario.link("bottleneck").target) for scenario, run in runs])
        ours = ours if len(ours) else reward
        links = [run.links["bottleneck"] for _, run in runs]
        rows.append([
            "trained" if aqm == trained() else f"`{aqm}`",
            f"{reward.mean():.3f} ± {interval(reward):.3f}",
            "" if aqm == trained() else f"{(ours - reward).mean():+.3f} ± {interval(ours - reward):.3f}",
            f"{100 * np.mean([link.utilisation for link in links]):.1f} %",
            f"{1000 * np.mean([link.queue_delay_mean or 0 for link in links]):.0f} ms",
            f"{100 * np.mean([link.drop_ratio or 0 for link in links]):.1f} %",
        ])  # fmt: skip
    return table(["scheme", "reward", "trained less this one", "utilisation", "queueing delay", "drops"], rows)


def li2014() -> str:
    """How the schemes do on Li's tables: the reward of each."""
    rows = []
    for number in TABLES:
        scenario = aqmlab.load(f"li2014/table-{number}", {"flows.*.start_spread": "1"})
        target = scenario.link("bottleneck").target
        cells = []
        for aqm in (trained(), *SCHEMES):
            rewards = [near(aqmlab.run(scenario, aqm, seed, series=True), target) for seed in range(1, SEEDS + 1)]
            cells.append(f"{np.mean(rewards):.3f} ± {interval(rewards):.3f}")
        rows.append([scenario.title.split(" (")[0], *cells])
        print(rows[-1], flush=True)
    return table(["table", "trained", *(f"`{aqm}`" for aqm in SCHEMES)], rows)


def speed() -> dict[str, str]:
    """The measurements of benches/gym.py, in a separate process."""
    bench = FOLDER.parent / "benches" / "gym.py"
    done = subprocess.run([sys.executable, bench], capture_output=True, text=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    memory = found.pop("memory")
    sides = ("engine", "vector", "minimal")
    rows = [
        [name, *(f"{m[side]:.0f}" for side in sides), f"{m['ratio']:.2f}", f"{100 * m['vector']:,.0f}"]
        for name, m in found.items()
    ]
    heads = ["scenario", "engine, s/s", "environments, s/s", "loop in Python, s/s", "environments/engine", "steps/s"]
    return {
        "speed": table(heads, rows),
        "memory": f"{memory['count']:.0f} environments with Table 1 take {memory['bytes'] / 1e6:.0f} MB.",
    }


def filled(text: str, written: dict[str, str]) -> str:
    """Return a page with tables in their places."""
    for name, content in written.items():
        before, mark, rest = text.partition(f"<!-- {name} -->")
        if not mark:
            raise SystemExit(f"no place for {name}")
        text = f"{before}{mark}\n\n{content}\n\n{rest[rest.index('<!-- end -->') :]}"
    return text


def main() -> None:
    """Write the tables that were asked for, or all."""
    document: dict[str, Any] = read(EXAMPLE / "model.zip")
    parts: dict[str, Callable[[], dict[str, str]]] = {
        "declared": declared,
        "recipe": lambda: {"recipe": f"{document['recipe']}."},
        "held-out": lambda: {"held-out": held_out(Episodes.of(document["episodes"]))},
        "li2014": lambda: {"li2014": li2014()},
        "speed": speed,
    }
    for name in sys.argv[1:] or parts:
        page = FOLDER / ("gym.md" if name == "declared" else "gym-evidence.md")
        written = parts[name]()
        page.write_text(filled(page.read_text(encoding="utf-8"), written), encoding="utf-8")


if __name__ == "__main__":
    main()
