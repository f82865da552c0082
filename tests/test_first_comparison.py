"""The numbers of the tutorial are those that its program prints."""

import re
import subprocess
import sys
from pathlib import Path

from test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "first-comparison.md"


def test_the_page_says_what_its_program_prints(tmp_path: Path) -> None:
    for block in blocks(PAGE, "toml"):
        (tmp_path / block.split()[1]).write_text(block)
    program = blocks(PAGE, "python")[-1]
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == blocks(PAGE, "text")[-1]
    codel = done.stdout.splitlines()[-1]
    numbers = re.search(r"delay -(\S+) ms \(95 % interval -(\S+) to -(\S+)\), .* \(-(\d+) to \+(\d+)\)", codel)
    assert numbers, codel
    mean, most, least, lower, higher = numbers.groups()
    sentence = " ".join(PAGE.read_text().replace("\n>", "").split())
    assert f"{mean} ms lower than DropTail's (95 % interval {least} to {most} ms; ten paired runs)" in sentence
    assert f"{lower} kbit/s lower to {higher} higher" in sentence
