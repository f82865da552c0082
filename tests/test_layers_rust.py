"""Who may use whom among the crates and the files of a crate: arrows point one way, without circles."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parent.parent / "crates"

ARROWS = {
    "core": set[str](),
    "aqm": {"core"},
    "tcp": {"core"},
    "law": {"tcp", "core"},
    "netlink": set[str](),
    "scenario": {"aqm", "tcp", "core"},
    "sim": {"scenario", "aqm", "tcp", "core"},
    "fluid": {"scenario", "aqm", "core"},
    "live": {"sim", "scenario", "netlink", "aqm", "core"},
    "kernel": {"live", "sim", "scenario", "netlink", "aqm", "tcp", "core"},
    "line": {"sim", "scenario", "aqm", "core"},
    "c": {"line", "aqm"},
    "quic": {"sim", "scenario", "aqm", "core"},
    "exercise": {"sim", "scenario", "core"},
    "studio": {"sim", "scenario", "aqm", "core"},
    "wasm": {"exercise", "studio", "sim", "scenario", "core"},
    "python": {"live", "kernel", "line", "exercise", "studio", "fluid", "law", "sim", "scenario", "tcp", "aqm", "core"},
}
"""The crates that each crate may stand on."""

ModulePath = tuple[str, ...]


def test_crates_stand_on_those_below() -> None:
    assert list(TopologicalSorter(ARROWS).static_order())
    ours = re.compile(r"^aqmlab(?:-(\w+))?(?:\.workspace)? =", re.M)
    for crate in sorted(CRATES.iterdir()):
        needed = (crate / "Cargo.toml").read_text(encoding="utf-8").partition("[dev-dependencies]")[0]
        assert {name or "line" for name in ours.findall(needed)} <= ARROWS[crate.name], crate.name


@pytest.mark.parametrize("crate", sorted(ARROWS))
def test_files_of_a_crate_use_each_other_in_no_circle(crate: str) -> None:
    arrows = arrows_between({path: code(file) for path, file in files(CRATES / crate / "src")})
    assert list(TopologicalSorter(arrows).static_order())  # CycleError names the circle


def test_a_circle_is_found() -> None:
    a, b = "use super::b::{self, T};", "pub use crate::c::U as T;"
    texts = {(): "mod a;", ("a",): a, ("b",): b, ("c",): "", ("a", "inner"): "use super::x; struct S;"}
    arrows = arrows_between(texts)
    assert arrows == {(): set(), ("a",): {("b",), ("c",)}, ("b",): set(), ("c",): set(), ("a", "inner"): set()}
    with pytest.raises(CycleError):
        list(TopologicalSorter(arrows_between({**texts, ("c",): "fn f(_: crate::a::S) {}"})).static_order())


@pytest.mark.parametrize("main", sorted(CRATES.glob("*/tests/main.rs")), ids=lambda main: main.parts[-3])
def test_every_test_file_of_a_crate_is_a_module_of_its_only_test_program(main: Path) -> None:
    named = re.findall(r"^mod (\w+);$", main.read_text(encoding="utf-8"), re.M)
    found = [file.stem for file in main.parent.glob("*.rs") if file != main]
    assert named == sorted(found + [file.parent.name for file in main.parent.glob("*/mod.rs")])
    assert "autotests = false" in (main.parents[1] / "Cargo.toml").read_text(encoding="utf-8")


def files(src: Path) -> Iterator[tuple[ModulePath, Path]]:
    """The files of a crate, each with the path of its module."""
    for file in sorted(src.rglob("*.rs")):
        path = file.relative_to(src).with_suffix("").parts
        yield path[:-1] if path[-1] in ("lib", "mod") else path, file


def code(file: Path) -> str:
    """What a file has besides comments and unit tests."""
    text = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
    return re.sub(r"#\[cfg\(test\)\]\nmod \w+ \{.*", "", text, flags=re.S)


def arrows_between(texts: dict[ModulePath, str]) -> dict[ModulePath, set[ModulePath]]:
    """The files that each file uses, by what they define: what another only hands on (`pub use`) is not that one's.

    A file is part of the modules that it is in, which show it what they have: that is no arrow.
    """
    used: dict[ModulePath, list[ModulePath]] = {module: [] for module in texts}
    handed: dict[ModulePath, ModulePath] = {}
    for module, text in texts.items():
        for path, name, is_handed_on in paths(text):
            if (whole := absolute(path, module, texts)) is not None:
                if is_handed_on:
                    handed[(*module, name)] = whole
                else:
                    used[module].append(whole)
    homes = {module: {home(path, texts, handed) for path in found} for module, found in used.items()}
    return {module: {other for other in found if module[: len(other)] != other} for module, found in homes.items()}


def paths(text: str) -> Iterator[tuple[ModulePath, str, bool]]:
    """The paths of a file, each with the name that it has there; whether that is for others (`pub use`)."""
    for public, tree in re.findall(r"^ *(pub(?:\(.*?\))? )?use ([\w:{}, *\n]+);", text, re.M):
        yield from ((path, name, bool(public)) for path, name in spelled_out(" ".join(tree.split())))
    for path in re.findall(r"(?<![\w:])(?:crate|self|super|[a-z]\w*)(?:::\w+)+", re.sub(r"\buse [^;]+;", "", text)):
        yield tuple(path.split("::")), "", False


def spelled_out(tree: str, base: ModulePath = ()) -> Iterator[tuple[ModulePath, str]]:
    """`a::{b, c as d}` is a::b, named b, and a::c, named d."""
    head, is_group, group = tree.strip().partition("{")
    if is_group:
        for part in re.findall(r"(?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})+", group.removesuffix("}")):
            if part.strip():
                yield from spelled_out(part, (*base, *head.removesuffix("::").split("::")))
        return
    path, _, name = head.partition(" as ")
    whole = (*base, *path.split("::"))
    whole = whole[:-1] if whole[-1] == "self" and len(whole) > 1 else whole
    yield whole, name or whole[-1]


def absolute(path: ModulePath, module: ModulePath, modules: dict[ModulePath, str]) -> ModulePath | None:
    """A path from the root of the crate; None if it leads to another crate."""
    ups = next((i for i, part in enumerate(path) if part != "super"), len(path))
    if ups:
        return (*module[:-ups], *path[ups:])
    if path[0] in ("crate", "self"):
        return (*(module if path[0] == "self" else ()), *path[1:])
    return (*module, *path) if (*module, path[0]) in modules else None


def home(path: ModulePath, modules: dict[ModulePath, str], handed: dict[ModulePath, ModulePath]) -> ModulePath:
    """The file that defines what a path leads to."""
    module = next(path[:n] for n in range(len(path), -1, -1) if path[:n] in modules)
    way = handed.get(path[: len(module) + 1])
    return module if way is None else home((*way, *path[len(module) + 1 :]), modules, handed)
