"""The JSON Schemas: every file that we ship or document fits its schema, and the schema alone refuses most mistakes."""

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from aqmlab import _core, scenario
from aqmlab.problems import InputError
from aqmlab.runs import schemas
from aqmlab.studio.lessons import lessons

ROOT = Path(__file__).parent.parent
RUST = ROOT / "crates" / "scenario" / "tests" / "scenario"
FOLDERS = ("examples", "validation", "tests", "python/aqmlab/study")


@cache
def validator(kind: str) -> Draft202012Validator:
    """Return what checks files of a kind."""
    return Draft202012Validator(schemas.schema(kind))


def mistakes(kind: str, text: str | dict[str, Any]) -> list[str]:
    """Return what a schema says of a text, or of what it says."""
    said = tomllib.loads(text) if isinstance(text, str) else text
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(kind).iter_errors(said)]


def documented() -> Iterator[tuple[str, str]]:
    """Yield the whole files of TOML in the documents, each with the page that has it."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        if page.name == "break.md":
            continue  # its files are spaces of scenarios
        for block in re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            if re.search(r"^schema = 1$", block, re.MULTILINE) and re.search(r"flows|scenarios", block):
                yield page.name, block


def kind_of(text: str) -> str:
    """Return "experiment" or "scenario", by the keys."""
    return "experiment" if "scenarios" in tomllib.loads(text) else "scenario"


@pytest.mark.parametrize("kind", schemas.FILES)
def test_each_schema_is_one_and_names_the_version_of_the_format(kind: str) -> None:
    schema = schemas.schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:aqmlab:{kind}:1"


def described(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a schema says of each key that it describes."""
    for of in (schema, *schema.get("anyOf", []), *schema.get("allOf", []), schema.get("items", {})):
        for key in (of.get("then", of)).get("properties", {}).values():
            if isinstance(key, dict):
                yield key
                yield from described(key)


def test_each_key_has_a_meaning_and_its_default_and_example_fit() -> None:
    schema = schemas.schema("scenario")
    keys = list(described(schema))
    assert len(keys) > 300
    for key in keys:
        of = Draft202012Validator({**key, "$defs": schema["$defs"]})
        for value in [*([key["default"]] if "default" in key else []), *key.get("examples", [])]:
            assert of.is_valid(value), key
    assert all("description" in key or "anyOf" in key for key in keys)


def test_there_is_no_schema_of_another_kind() -> None:
    with pytest.raises(InputError, match="did you mean"):
        schemas.schema("scenarios")


def test_every_scenario_that_we_ship_fits() -> None:
    own = [name for name in scenario.scenarios() if scenario.original(name) == name]
    found = {name: mistakes("scenario", scenario.read(name)[1]) for name in own}
    assert len(found) > 150
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_every_lesson_and_its_exercises_fit() -> None:
    sheets = sorted((ROOT / "python" / "aqmlab" / "exercise" / "sheets").glob("*.toml"))
    found = [mistakes("exercise", sheet.read_text(encoding="utf-8")) for sheet in sheets]
    found += [mistakes("scenario", lesson.load().text) for lesson in lessons()]
    assert len(found) == 24
    assert not any(found), found


def test_every_other_file_and_every_documented_one_fits() -> None:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.toml"))]
    texts = [(file.name, file.read_text(encoding="utf-8")) for file in files]
    texts = [(name, text) for name, text in texts if re.search(r"^(schema|scenarios) = ", text, re.MULTILINE)]
    texts = [(name, text) for name, text in texts if "flows" in tomllib.loads(text) or "aqms" in tomllib.loads(text)]
    pages = list(documented())
    assert len(pages) > 30
    found = {name: mistakes(kind_of(text), text) for name, text in (*texts, *pages)}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


LITERAL = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(rf"\(\s*(?:{LITERAL}|TARGET),\s*{LITERAL},\s*{LITERAL},?\s*\)")
PAIR = re.compile(rf"^\s+\({LITERAL}, {LITERAL}\),$", re.MULTILINE)
ONE_KEY = re.compile(
    r"unknown (?:key|choice|kind|direction|preset|distribution|scheme|parameter|rate control|controller)|takes \{"
    r"|is not (?:a |true|TOML|known)|has no unit|unknown unit|out of range|is negative|is too (?:long|large|short)"
    r"|expected .*, found"
)
"""What the reader says of a key with a wrong name, type, unit or range."""

BEYOND = (
    'mean = "12 packets" -> mean = "0 packets"',
    '{ exponential = "2 s" } -> "0 s"',
    '[schemes.red] -> [traces]\ncell = "1\\nx"\n[schemes.red]',
    '[schemes.red] -> [traces]\ncell = "20000000"\n[schemes.red]',
    'target = "30 packets" -> aggregation = { packets = 9, every = "1 ms", hold = "1 ms" }',
    'target = "30 packets" -> jitter = { exponential = "11 s" }',
    '"droptail" -> "pi:aa=1"',
)
"""Mistakes beyond a schema: bounds of distributions, texts of traces and schemes, keys that exclude others."""


def literal(text: str) -> str:
    """Return the text of a literal in Rust, of which JSON reads those here."""
    return str(json.loads(f'"{text}"'))


def bases() -> dict[str, str]:
    """Return the valid scenarios of the reader's tests, by their names."""
    source = (RUST / "mod.rs").read_text(encoding="utf-8")
    return dict(re.findall(r'^const (\w+): &str = r#"(.*?)"#;$', source, re.MULTILINE | re.DOTALL))


def _inner(place: Any, name: str) -> Any:
    """Return what is in a table under a name, or in a list under a number or the name of an entry."""
    if isinstance(place, dict):
        return place.setdefault(name, {})
    return place[int(name)] if name.isdigit() else next(each for each in place if each.get("name") == name)


def wrong_types() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a valid scenario with each key of another type: what is wrong, and the scenario."""
    source = (RUST / "form.rs").read_text(encoding="utf-8").partition("];")[0]
    for path in re.findall(r'^        "([\w.]+)",$', source, re.MULTILINE):
        for value in ([1, 2], {"x": 1}, 7.25, [[]]):
            document = tomllib.loads(bases()["VALID"])
            *parents, key = path.split(".")
            reduce(_inner, parents, document)[key] = value
            yield f"{path} = {value}", document


def invalid() -> Iterator[tuple[str, str]]:
    """Yield the invalid scenarios of the reader's tests: what is wrong, and the text."""
    source = (RUST / "mod.rs").read_text(encoding="utf-8")
    for test in re.split(r"^#\[test\]$", source, flags=re.MULTILINE)[1:]:
        base = bases()["TRAFFIC" if re.search(r"each_is_refused_in\(\s*TRAFFIC", test) else "VALID"]
        rows = [(literal(line) or 'target = "30 packets"', literal(instead)) for line, instead, _ in ROW.findall(test)]
        if "fn distributions_are_read_strictly" in test:
            rows = [('"20 ms"', literal(law)) for law, _ in PAIR.findall(test)]
        for line, instead in rows:
            if base.count(line) == 1:
                yield f"{line.strip()} -> {instead.strip()}", base.replace(line, instead)


def reasons(text: str) -> list[str]:
    """Return what the reader says of a text."""
    try:
        _core.Scenario.parse(text, "test")
    except InputError as error:
        return [problem.reason for problem in error.problems]
    return []


def test_the_schema_alone_refuses_nine_of_ten_mistakes_in_one_key() -> None:
    wrong = [(name, text) for name, text in invalid() if len(found := reasons(text)) == 1 and ONE_KEY.search(found[0])]
    accepted = [name for name, text in wrong if not mistakes("scenario", text)]
    assert len(wrong) > 110
    assert accepted == [*BEYOND]
    assert len(accepted) <= len(wrong) / 10


def test_a_schema_refuses_what_has_another_type() -> None:
    found = {name: mistakes("scenario", document) for name, document in wrong_types()}
    assert len(found) > 150
    assert [name for name, wrong in found.items() if not wrong] == []


@given(
    number=st.one_of(st.integers(0, 10**14), st.decimals(0, 10**6, places=6)),
    unit=st.sampled_from(["bit/s", "kbit/s", "Gbit/s", "Tbit/s"]),
)
def test_a_pattern_has_the_range_that_the_reader_has(number: Any, unit: str) -> None:
    text = BASE.replace("8 Mbit/s", f"{number:f} {unit}" if not isinstance(number, int) else f"{number} {unit}")
    assert bool(mistakes("scenario", text)) == bool(reasons(text)), text


BASE = """
schema = 1
duration = "1 s"
[[links]]
rate = "8 Mbit/s"
buffer = "9 packets"
[[flows]]
rtt = "2000 s"
"""


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (
            "delay",
            ["0 s", "1000 s", "1000.0 s", "1000.1 s", "1001 s", "16 min", "17 min", "999999 ms", "1e3 s", "-1 s"],
        ),
        ("overhead", ["-64 B", "-65 B", "256 B", "257 B", "0.2 kB", "0.3 kB", "-0.07 kB", "0 B", "+9 B"]),
        ("loss", [0.5, "0.5", "100 %", "101 %", 1.5, -0.1, "0.000001%", {"p": 0.1, "r": 0.2}, {"p": 2, "r": 0.2}]),
        ("mpu", ["64 B", "64", 64, "64 bit", "1_0 B", "255.0 B", ".5 kB"]),
        ("fixed", [True, 1, "yes"]),
        ("framing", ["atm", "ptm", "none", "ATM", True]),
        ("aqm", ["pi", "pi:w=85Hz", "pie", "fq-pi", "pii", 5]),
        ("target", ["5 ms", "3 packets", "3", "1 Mbit/s"]),
    ],
)
def test_a_value_fits_the_schema_if_the_reader_takes_it(key: str, values: list[Any]) -> None:
    for value in values:
        shown = json.dumps(value) if not isinstance(value, dict) else json.dumps(value).replace(":", " =")
        text = BASE.replace("[[flows]]", f"{key} = {shown}\n[[flows]]")
        assert bool(mistakes("scenario", text)) == bool(reasons(text)), (key, value, reasons(text))


def test_the_command_prints_or_writes_a_schema(aqmlab: Any, tmp_path: Path) -> None:
    printed = aqmlab("schema", "experiment")
    assert json.loads(printed.stdout) == json.loads(json.dumps(schemas.schema("experiment")))
    aqmlab("schema", "experiment", "--out", str(tmp_path / "out.json"))
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == printed.stdout
