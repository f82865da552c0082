"""Subjects of commits: imperative, at most 72 characters, no full stop."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SINCE = "2026-11-30T05:20"
"""Earlier commits have subjects of other forms."""
SUBJECT = re.compile(
    r"(?!(?!Speed|Exceed|Embed)\w{3,}(?:ed|ing)\b)(?!(?:Adds|Fixes|Makes|Changes|A|An|The|No|What|Where)\b)[A-Z].{0,70}[^.\s]"
)


def subjects() -> list[str]:
    """Those of the commits since `SINCE` that are no merges."""
    command = ["git", "-C", ROOT, "log", "--no-merges", f"--since={SINCE}", "--format=%s"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def test_subjects_are_imperative_and_short() -> None:
    found = subjects()
    if not found:
        pytest.skip("no repository here, or no commit since then")
    assert [subject for subject in found if not SUBJECT.fullmatch(subject)] == []


@pytest.mark.parametrize("subject", ["Count pings out of Jain's index", "Bring back the timer", "Speed up reading"])
def test_an_imperative_passes(subject: str) -> None:
    assert SUBJECT.fullmatch(subject)


@pytest.mark.parametrize(
    "subject", ["Fixed the queue", "The queue is bounded", "Count it.", "count it", "C" + 72 * "x"]
)
def test_another_form_does_not(subject: str) -> None:
    assert not SUBJECT.fullmatch(subject)
