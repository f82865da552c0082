"""Faults of BBRv3 are caught, each by the test case of its draft that is about it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bbr3_mutants import MUTANTS, Mutant, build


def verdict(package: Path, case: int, number: int) -> str:
    """Return the verdict on a case by a package, with a fault (0: none)."""
    done = subprocess.run(
        [sys.executable, "-m", "aqmlab", "compare", "--study", "bbr-draft", "--only", str(case), "--json"],
        env=os.environ | {"PYTHONPATH": str(package), "AQMLAB_MUTANT": str(number)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return str(json.loads(done.stdout)["cases"][0]["verdict"])


@pytest.mark.nightly
@pytest.mark.soak
def test_each_fault_is_caught_by_its_case(tmp_path: Path) -> None:
    package = build(tmp_path)
    cases = sorted({mutant.case for mutant in MUTANTS})
    assert {case: verdict(package, case, 0) for case in cases} == dict.fromkeys(cases, "holds"), "without a fault"
    found = {mutant.name: verdict(package, mutant.case, i) for i, mutant in enumerate(MUTANTS, 1)}
    assert [name for name, of_it in found.items() if of_it == "holds"] == []


def test_a_fault_is_put_beside_what_is_right() -> None:
    plain = Mutant("", "", "a > b", "false", 1).patched("if a > b || c {", 7)
    assert plain == "if (if crate::cc::bbr3::mutant(7) { false } else { a > b }) || c {"
    arm = Mutant("", "", "X => GAIN", "1.0", 1).patched("X => GAIN,", 7)
    assert arm == "X => (if crate::cc::bbr3::mutant(7) { 1.0 } else { GAIN }),"
    opened = Mutant("", "", "if a {", "false", 1).patched("if a {", 7)
    assert opened == "if (if crate::cc::bbr3::mutant(7) { false } else { a }) {"
    done = Mutant("", "", "x = 1;", "", 1, statement=True).patched("x = 1;", 7)
    assert done == "if crate::cc::bbr3::mutant(7) {  } else { x = 1; }"
    with pytest.raises(ValueError, match="found 2 times"):
        Mutant("it", "", "a", "b", 1).patched("a a", 7)


def test_every_fault_can_be_put_in() -> None:
    """Patches fit the present source, one after the other."""
    from bbr3_mutants import LAW, ROOT

    sources = {mutant.file: (ROOT / LAW / mutant.file).read_text(encoding="utf-8") for mutant in MUTANTS}
    for number, mutant in enumerate(MUTANTS, 1):
        sources[mutant.file] = mutant.patched(sources[mutant.file], number)
    assert sum(source.count("bbr3::mutant(") for source in sources.values()) == len(MUTANTS)
