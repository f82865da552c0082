"""Scenarios by name or by file.

A built-in scenario is the file `scenarios/<study>/<name>.toml` of this package and is called
`<study>/<name>`; the scenario of a lesson is `lessons/<name>`; any other TOML file is called by its stem.
`families/<study>.toml` lists scenarios that differ from such a file in a few values.
"""

import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.resources import files
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from aqmlab import untrusted
from aqmlab._core import Scenario, read_toml
from aqmlab.files import is_within
from aqmlab.names import is_text, suggestion, unknown
from aqmlab.problems import InputError
from aqmlab.quantities import shown

LARGEST_FILE = 16_000_000
"""Bytes; a scenario is a page of text and a trace an hour of a link, so anything larger is some other file."""


class ScenarioNotice(UserWarning):
    """A scenario may have another meaning than its author believes."""


class OldFileNotice(ScenarioNotice):
    """A scenario has another meaning than in version 0.1."""


Values = Mapping[str, str | float]
"""Values of a scenario by path; a plain number or a truth value may be given as such, {"flows.ftp.count": 50}."""


def load(
    source: str | os.PathLike[str] | Scenario,
    set: Values | None = None,
    *,
    traces: str | os.PathLike[str] | None = None,
) -> Scenario:
    """Return the scenario `source` (a built-in name, a path or a scenario) with the values of `set`.

    `set` replaces values of the file before it is checked: {"links.bottleneck.rate": "15 Mbit/s"}. Quantities are
    texts with a unit; plain numbers, and True and False, may be given as such. Traces of rates are
    files relative to the scenario's, to the present folder for a built-in one. Those that the file names must be in
    its folder, or below the folder `traces`; those in `set` may be anywhere.
    Raises InputError for an unknown name, an unusable file and every mistake within it.
    """
    if isinstance(source, Scenario):
        if set:
            raise InputError(
                "set", f"{source.name}: values are set while a scenario is read; give its name or file instead"
            )
        return source
    name, text = read(source)
    values = written(set or {})
    file = None if source in scenarios() else os.fspath(source)
    whole = with_traces(text, folder_of(source), values.values(), traces)
    return with_warnings(parse(whole, name, values.items(), file))


def parse(text: str, name: str, values: Iterable[tuple[str, str]], file: str | None) -> Scenario:
    """Return the scenario in a text of `with_traces`, with values set; mistakes of a trace are in no line of it."""
    try:
        return Scenario.parse(text, name, list(values), file)
    except InputError as error:
        problems = (p._replace(location=None) if p.path.startswith("traces.") else p for p in error.problems)
        raise InputError(*problems) from None


def with_warnings(scenario: Scenario) -> Scenario:
    """Return the scenario; a ScenarioNotice reports settings that the author may not have intended."""
    if scenario.notice:
        warnings.warn(scenario.notice, ScenarioNotice, stacklevel=3)
    if scenario.profile_notice:
        warnings.warn(scenario.profile_notice, OldFileNotice, stacklevel=3)
    return scenario


def written(values: Values) -> dict[str, str]:
    """Return values to be set as TOML; InputError for an impossible value."""
    if not isinstance(values, Mapping):
        raise InputError("set", f'{values!r}: expected values by path, such as {{"duration": "5 s"}}')
    return {path: _written(path, value) for path, value in values.items()}


def _written(path: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Integral):
        with suppress(ValueError):  # of more digits than Python writes
            return str(int(value))
    elif isinstance(value, Real):
        return repr(float(value))
    raise InputError("set", f'{path}: {shown(value)}: expected a text such as "5 s", a number, True or False')


def folder_of(source: str | os.PathLike[str]) -> Path:
    """Return where the files are that a scenario names."""
    return Path() if source in scenarios() else Path(source).parent


def with_traces(
    text: str,
    folder: Path,
    values: Iterable[str] = (),
    more: str | os.PathLike[str] | None = None,
    *,
    values_are_free: bool = True,
) -> str:
    """Return a scenario with the traces that it or values to be set name: as its table [traces], so that they travel.

    They are files relative to `folder`. Files named in the text must be in `folder` or below the folder `more`, files
    named in values only unless `values_are_free`. A text that has the table, as stored ones do, is returned as it is.
    """
    data = _toml(text)
    if "traces" in data:
        return text
    links = data.get("links")
    rates = [link.get("rate") for link in links if isinstance(link, dict)] if isinstance(links, list) else []
    allowed = [folder] if more is None else [folder, Path(more)]
    found = traces(set_values(values), folder, None if values_are_free else allowed) | traces(rates, folder, allowed)
    blocks = [f"{json.dumps(name)} = {_block(trace)}\n" for name, trace in found.items()]
    return text + "".join(["\n[traces]\n", *blocks]) if blocks else text


def traces(rates: Iterable[object], folder: Path, allowed: Iterable[Path] | None = None) -> dict[str, str]:
    """Return the traces that rates name: the texts of files relative to `folder`.

    InputError for one that is not in an `allowed` folder, links followed; None allows all.
    """
    named = [rate["trace"] for rate in rates if isinstance(rate, dict) and "trace" in rate]
    names = dict.fromkeys(name for name in named if isinstance(name, str))
    if allowed is not None:
        _check_inside(names, folder, list(allowed))
    return {name: read_file(folder / name, "trace") for name in names}


def _check_inside(names: Iterable[str], folder: Path, allowed: Sequence[Path]) -> None:
    for name in names:
        if not any(is_within(each, folder / name) for each in allowed):
            raise InputError(
                "trace",
                f"{name}: is not in {folder}, the folder of the scenario; move it there, or allow its folder by "
                "--traces DIR",
            )


def set_values(texts: Iterable[str]) -> list[object]:
    """Return values to be set as they are read, as far as they may name traces."""
    return [_toml(f"value = {text}").get("value") for text in texts]


def _toml(text: str) -> dict[str, Any]:
    """Read TOML that may name a trace; nothing of any other, nor of invalid TOML, which the engine rejects."""
    try:
        return read_toml(text, "scenario") if "trace" in text else {}
    except InputError:
        return {}


def _block(trace: str) -> str:
    """The text of a trace in TOML, line by line where it can be."""
    is_plain = "'" not in trace and trace.replace("\n", "").isprintable()
    return f"'''\n{trace}'''" if is_plain else json.dumps(trace)


def assignments(settings: Iterable[str]) -> dict[str, str]:
    """Return the values of `PATH=VALUE` as `load` takes them; InputError where one has no value."""
    found = {}
    for setting in settings:
        path, equals, value = setting.partition("=")
        if not equals:
            raise InputError("set", f"{setting}: no value; write PATH=VALUE, such as links.bottleneck.rate='15 Mbit/s'")
        found[path] = value
    return found


def read(source: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the name and the text of a built-in scenario or a file, unparsed.

    A built-in scenario that is only another name has the text of its original.
    """
    if isinstance(source, str) and source in scenarios():
        return source, _text(original(source))
    if not isinstance(source, str | os.PathLike):
        raise InputError("scenario", f"{source!r}: expected a built-in name, a path, or what aqmlab.load returned")
    path = Path(source)
    if isinstance(source, str) and path.suffix != ".toml" and not os.path.lexists(path):
        from aqmlab import presets  # not needed for help

        if links := presets.kind(source).links:
            names = " or ".join(f'preset = "{link.name}"' for link in links.values())
            raise InputError("scenario", f'"{source}" is a preset of a link; write {names} in [[links]] of a file')
        raise unknown("scenario", "no built-in scenario and no file", source, [*scenarios(), *_beside(path, ".toml")])
    return path.stem, read_file(path)


@cache
def original(name: str) -> str:
    """Return the built-in scenario that `name` is another name of (its file says `same_as`), by default itself."""
    other = re.search(r'^same_as = "(.+)"$', _text(name), re.MULTILINE)
    return other[1] if other else name


def chosen(name: str) -> list[str]:
    """Return the built-in scenarios of a folder, such as "home"; any other name means itself."""
    return [each for each in scenarios() if each.startswith(f"{name}/")] or [name]


@cache
def scenarios() -> tuple[str, ...]:
    """Return the names of the built-in scenarios, tables in numerical order."""
    return tuple(sorted(_built_in(), key=_natural))


def _text(name: str) -> str:
    return _built_in()[name]()


@cache
def _built_in() -> Mapping[str, Callable[[], str]]:
    """Functions that return the texts of the built-in scenarios, by name: the studies' and the lessons' scenarios."""
    from aqmlab.entries import families  # not needed for help

    package = files("aqmlab")
    folders = [each for each in (package / "scenarios").iterdir() if each.is_dir()]
    return families() | {
        f"{folder.name}/{item.name.removesuffix('.toml')}": partial(item.read_text, encoding="utf-8")
        for folder in [*folders, package / "studio" / "lessons"]
        for item in folder.iterdir()
        if item.name.endswith(".toml")
    }


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key that puts table-2 before table-13."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _beside(path: Path, suffix: str) -> list[str]:
    """Return the files of this suffix in the folder of a path, for the one that was meant."""
    with suppress(OSError, ValueError):  # there is no such folder, or there can be none
        return [str(path.parent / name) for name in os.listdir(path.parent) if name.endswith(suffix) and is_text(name)]
    return []


def read_file(path: Path, kind: str = "scenario") -> str:
    """Return the text of a file; InputError, which calls it a `kind`, if it is not such a file."""
    format_ = "text file" if kind == "trace" else "TOML file"
    expected = f"a {format_} with the {kind}, UTF-8 text of at most 16 MB"
    try:
        data = untrusted.read(path, LARGEST_FILE, field=kind, expected=expected)
        text = data.decode("utf-8-sig")  # a spreadsheet or an editor may begin with a byte-order mark
    except FileNotFoundError:
        if os.path.islink(path):
            raise InputError(kind, f"{path}: is a link to a file that is not there; expected {expected}") from None
        near = suggestion(str(path), _beside(path, path.suffix))
        raise InputError(kind, f"{path}: no such file; {near or f'expected {expected}'}") from None
    except UnicodeDecodeError as error:
        raise InputError(kind, f"{path}: not UTF-8 text; expected {expected}") from error
    if "\0" in text:
        raise InputError(kind, f"{path}: a binary file; expected {expected}")
    return text
