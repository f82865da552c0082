"""Faults of BBRv3, each of which a test case of its draft must catch: patches of a copy of the source.

One build has all of them: `AQMLAB_MUTANT=3` in the environment switches the third one on.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LAW = "crates/tcp/src/cc"

SWITCH = """
/// True if the fault of this number is wanted.
pub(crate) fn mutant(number: u32) -> bool {
    static WANTED: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        std::env::var("AQMLAB_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    });
    *WANTED == number
}
"""


class Mutant(NamedTuple):
    """A fault: its name, the file, the text there, what takes its place, and the case that catches it.

    `wrong` is an expression where `right` is one; with a `statement`, it is done in place of `right`.
    """

    name: str
    file: str
    right: str
    wrong: str
    case: int
    statement: bool = False

    def patched(self, source: str, number: int) -> str:
        """Return the source of its file with the switch in it; ValueError if the text is not there just once."""
        if source.count(self.right) != 1:
            raise ValueError(f"{self.name}: found {source.count(self.right)} times in {self.file}: {self.right}")
        test = f"crate::cc::bbr3::mutant({number})"
        if self.statement:
            return source.replace(self.right, f"if {test} {{ {self.wrong} }} else {{ {self.right} }}")
        head, arrow, tail = self.right.rpartition("=> ")  # of an arm
        opened = tail.removeprefix("if ").removesuffix(" {")  # of a condition
        switched = tail.replace(opened, f"(if {test} {{ {self.wrong} }} else {{ {opened} }})")
        return source.replace(self.right, head + arrow + switched)


def build(folder: Path) -> Path:
    """Build a copy of the package with all faults in a folder; return what PYTHONPATH must be."""
    left_out = shutil.ignore_patterns("target", ".venv", ".git", "node_modules", "__pycache__", "site")
    shutil.copytree(ROOT, folder, ignore=left_out, dirs_exist_ok=True)
    for number, mutant in enumerate(MUTANTS, 1):
        file = folder / LAW / mutant.file
        file.write_text(mutant.patched(file.read_text(encoding="utf-8"), number), encoding="utf-8")
    law = folder / LAW / "bbr3.rs"
    law.write_text(law.read_text(encoding="utf-8") + SWITCH, encoding="utf-8")
    features = ("--features", "pyo3/extension-module")
    subprocess.run(
        ["cargo", "rustc", "--quiet", "--profile", "quick", "--lib", "--crate-type", "cdylib", *features],
        cwd=folder / "crates" / "python",
        env=os.environ | {"CARGO_TARGET_DIR": str(folder / "target")},
        check=True,
    )
    [built] = [path for path in (folder / "target" / "quick").iterdir() if path.suffix == ".so"]
    [module] = (folder / "python" / "aqmlab").glob("_core*.so")
    shutil.copy(built, module)
    return folder / "python"


MUTANTS = [
    Mutant(
        "drain never ends",
        "bbr3/startup.rs",
        "f64::from(sample.in_flight) <= self.inflight(self.bw()) || self.rounds.count > since + 3",
        "false",
        3,
    ),
    Mutant("drain does not end by time", "bbr3/startup.rs", "self.rounds.count > since + 3", "false", 4),
    Mutant("startup ignores loss", "bbr3/startup.rs", "self.loss_round.has_begun && has_losses", "false", 2),
    Mutant("samples of the application count for a plateau", "bbr3/startup.rs", "!sample.is_app_limited", "true", 7),
    Mutant("drain keeps its pace", "bbr3/output.rs", "State::Drain(_) => self.params.drain_gain", "1.0", 3),
    Mutant("a plateau takes ten round trips", "path.rs", "self.rounds >= 3", "self.rounds >= 10", 1),
    Mutant("a plateau does not end a probe", "bbr3/cycle.rs", "is_risky || self.full.now", "is_risky", 5),
    Mutant(
        "the loss threshold is ignored", "bbr3.rs", "count > LOSS_THRESH * in_flight", "count > 1.1 * in_flight", 21
    ),
    Mutant("inflight_longterm is never set", "bbr3/cycle.rs", "if !is_app_limited {", "false", 21),
    Mutant("probe_rtt is skipped", "bbr3/probe_rtt.rs", "is_expired && !self.idle_restart", "false", 10),
    Mutant("idle_restart is ignored", "bbr3/probe_rtt.rs", "!self.idle_restart", "true", 11),
    Mutant("probe_rtt forgets startup", "bbr3/probe_rtt.rs", "if self.full.reached {", "true", 20),
    Mutant("probe_rtt keeps the window", "bbr3/output.rs", "State::ProbeRtt => PROBE_RTT_CWND_GAIN", "1.0", 10),
    Mutant(
        "down does not end on what is in flight",
        "bbr3/cycle.rs",
        "in_flight <= self.with_headroom().min(self.inflight(self.max_bw()))",
        "false",
        8,
    ),
    Mutant(
        "bw_probe_wait is ignored",
        "bbr3/cycle.rs",
        "now > self.cycle.stamp + self.cycle.wait || f64::from(self.cycle.rounds) >= reno",
        "false",
        9,
    ),
    Mutant(
        "the least window is one segment",
        "bbr3/output.rs",
        "(PROBE_RTT_CWND_GAIN * self.bdp(self.bw())).max(MIN_CWND)",
        "(PROBE_RTT_CWND_GAIN * self.bdp(self.bw())).max(1.0)",
        14,
    ),
    Mutant(
        "bw_shortterm ignores loss",
        "bbr3/bounds.rs",
        "self.bw = latest.bw_latest.max(BETA * bw);",
        "",
        16,
        statement=True,
    ),
    Mutant(
        "max_bw is never forgotten", "bbr3/cycle.rs", "self.max_bw = [self.max_bw[1], 0.0];", "", 16, statement=True
    ),
    Mutant("the step of a probe does not double", "bbr3/bounds.rs", "(self.rounds + 1).min(30)", "self.rounds", 15),
    Mutant("the window has no extra_acked", "bbr3/output.rs", "self.extra_acked.get()", "0.0", 13),
    Mutant(
        "any sample is the bandwidth",
        "bbr3.rs",
        "self.cycle.rounds += u32::from(self.rounds.has_begun);",
        "self.max_bw = [0.0, sample.rate];",
        22,
        statement=True,
    ),
    Mutant("a spurious loss is not undone", "bbr3.rs", "self.before_loss.is_spurious = true;", "", 18, statement=True),
    Mutant(
        "an undo forgets the probe", "bbr3/cycle.rs", "self.before_loss.left = Some(State::Up);", "", 19, statement=True
    ),
]
