"""The numbers of the tutorial are those that its program prints."""

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
    assert [done.stdout] == blocks(PAGE, "text")
