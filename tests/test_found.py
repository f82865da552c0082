"""The catalogue of worst cases, the list of searches, and the faults that are planted to test the search."""

import sys
from pathlib import Path

import pytest

from aqmlab._core import read_toml
from aqmlab.worst.document import groups, size

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))

import break_mutants
import found
import searches

ROOT = Path(__file__).parent.parent
ROWS = found.read()


def test_every_scenario_is_in_the_catalogue() -> None:
    files = {path.stem for path in found.FOLDER.glob("*.toml") if not path.stem.startswith("hunt-")}
    assert files == {row.name for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_finding_is_small_and_complete(row: found.Found) -> None:
    assert size(row.text) <= 25
    assert len(groups(read_toml(row.text, row.name))) <= 3
    assert row.values is not None
    assert row.whose in ("scheme", "controller", "model", "simulator")
    assert (row.linux is None) or not row.refused


def test_the_page_is_the_catalogue() -> None:
    assert found.PAGE.read_text(encoding="utf-8") == found.page(ROWS)


def test_searches_have_names_of_their_own() -> None:
    names = [each.name for each in searches.every()]
    assert len(names) == len(set(names))
    first = searches.KNOWN[0]
    assert first.command() == "aqmlab break bbr --against cubic --by loss --space link --runs 4000"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("        x = 3;", ["        x = 6;", "        "]),
        ("    if a < 2.5 {", ["    if a < 5.0 {", "    if a >= 2.5 {"]),
        ("    self.p += step;", ["    ", "    self.p -= step;"]),
        ("    let y = 0.0;", ["    let y = 1.0;"]),
        ('    told("10 of 20"); // 30', []),
    ],
)
def test_a_line_is_changed_in_one_place(line: str, wrong: list[str]) -> None:
    assert list(break_mutants.changes(line)) == wrong


def test_faults_are_drawn_from_code_only() -> None:
    source = (
        "use a;\n\nparams! {\n    x: 3;\n}\n\n/// At 5.\nfn f() {\n    y = 1;\n}\n#[cfg(test)]\nmod tests { z = 2; }\n"
    )
    lines = [line for _, line in break_mutants.code(source) if any(break_mutants.changes(line))]
    assert lines == ["    y = 1;"]


def test_the_draw_is_fixed_and_fits_the_sources() -> None:
    faults = break_mutants.drawn()
    assert faults == break_mutants.drawn()
    assert len({each.id for each in faults}) > 0.99 * len(faults)
    for each in faults[: break_mutants.COUNT]:
        source = (ROOT / each.file).read_text(encoding="utf-8")
        patched = each.patched(source)
        assert patched != source
        assert len(patched.split("\n")) == len(source.split("\n"))
    with pytest.raises(ValueError, match="has changed"):
        faults[0].patched("fn other() {}\n" * faults[0].line)
