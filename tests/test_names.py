"""One word for one thing: no two public types of the Rust workspace have one name."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

CRATES = Path(__file__).parent.parent / "crates"
BINDINGS = "python"
"""This crate has no Rust interface: a class has the name of what it binds."""
FACADE = "line"
"""This crate is for other people: it has the names that they expect, also of what it hides."""


def repeated(sources: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that more than one `pub` type has, each with the files; `sources` are files and their texts."""
    files = defaultdict(list)
    for file, source in sources:
        for name in re.findall(r"^ *pub (?:struct|enum|union|trait|type) (\w+)", source, re.M):
            files[name].append(file)
    return {name: found for name, found in files.items() if len(found) > 1}


def test_public_types_have_different_names() -> None:
    crates = (crate for crate in CRATES.iterdir() if crate.name not in (BINDINGS, FACADE))
    paths = sorted(path for crate in crates for path in (crate / "src").rglob("*.rs"))
    assert len(paths) > 100
    sources = ((str(path.relative_to(CRATES)), path.read_text(encoding="utf-8")) for path in paths)
    assert repeated(sources) == {}


def test_a_name_in_two_files_is_found() -> None:
    trait, alias, private = "pub trait Law: Send {", "    pub type Law = u32;", "pub(crate) struct Law;\nstruct Law;"
    assert repeated([("a.rs", trait), ("b.rs", alias), ("c.rs", private)]) == {"Law": ["a.rs", "b.rs"]}
    assert repeated([("a.rs", trait), ("c.rs", private)]) == {}


ASKING = re.compile(r"(?:How|What|When|Where|Whether|Which|Who|Whose|Why)\b")


def asking(source: str) -> list[str]:
    """Return the first lines of comments on the file and on what is public that ask, and do not say what a thing is."""
    first_lines = re.findall(r"\A//! *(.*)", source)
    for comment, item in re.findall(r"((?:^ *///.*\n)+)(?: *#\[.*\n)* *(\w+)", source, re.M):
        if item == "pub":
            first_lines.append(comment.partition("\n")[0].strip(" /"))
    return [line for line in first_lines if ASKING.match(line)]


def test_comments_say_what_a_thing_is() -> None:
    paths = sorted(path for crate in CRATES.iterdir() for path in (crate / "src").rglob("*.rs"))
    found = [(str(path.relative_to(CRATES)), asking(path.read_text(encoding="utf-8"))) for path in paths]
    assert [each for each in found if each[1]] == []


def test_a_comment_that_asks_is_found() -> None:
    source = "//! What is here.\n\n/// A law.\n///\n/// When it acts.\npub struct Law {\n    /// A gain.\n"
    source += "    pub gain: f64,\n"
    source += "    /// Why it acts.\n    #[serde]\n    pub(crate) cause: u32,\n    /// How much.\n    amount: u32,\n}\n"
    assert asking(source) == ["What is here.", "Why it acts."]
