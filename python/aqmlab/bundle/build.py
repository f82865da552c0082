"""Make a bundle of a study, an experiment, or the folder that either wrote."""

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from aqmlab import _core, extras, untrusted
from aqmlab._core import Scenario
from aqmlab.bundle import artefact, words
from aqmlab.bundle.archive import pack
from aqmlab.bundle.artefact import ABOUT, RUNS, SUMMARY, BundledRun, Key
from aqmlab.names import unknown
from aqmlab.problems import InputError
from aqmlab.runs.executor import Progress
from aqmlab.study.paper import Study, load_study, studies
from aqmlab.study.reproduction import Reproduction, reproduce

if TYPE_CHECKING:
    from aqmlab.runs.plan import Plan


@dataclass(frozen=True)
class Bundle:
    """A bundle that is made: its bytes, what it is about, and how many runs and files are in it."""

    data: bytes = field(repr=False)
    title: str
    runs: int
    files: int


def bundle(
    source: str,
    *,
    tables: Sequence[str] | None = None,
    figures: Sequence[str] | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Bundle:
    """Return the bundle of a study's name, an experiment file, or a folder that `reproduce` or `sweep` wrote.

    `tables`, `figures` and `seeds` select parts of a study. A sweep's folder is packed as it is; for any other source
    the runs are done here. Raises InputError for a folder whose results this version does not give.
    """
    extras.check("jinja2", "plotly")
    path = Path(source)
    is_study = source in studies()
    if not is_study and (tables or figures or seeds):
        raise InputError(
            "bundle", "only a study has tables, figures and seeds to choose; an experiment file defines its own"
        )
    if is_study:
        return _of_study(reproduce(source, tables, seeds or 1, figures=figures, jobs=jobs, progress=progress))
    if path.is_dir():
        return _of_folder(path, jobs, progress)
    if path.suffix != ".toml":
        raise unknown("bundle", "no study, experiment file or folder", source, studies())
    from aqmlab.runs import sweep

    with TemporaryDirectory() as folder:
        swept = sweep.sweep(path, folder, jobs=jobs, progress=progress)
        return _of_sweep(Path(folder), swept.plan)


def _of_folder(folder: Path, jobs: int | None, progress: Progress | None) -> Bundle:
    if os.path.exists(folder / "plan.parquet"):
        return _of_sweep(folder)
    name = folder / "results.json"
    document = untrusted.read_json(name, within=folder, field="bundle") if name.exists() else {}
    if not isinstance(document, dict) or "study" not in document:
        raise InputError(
            "bundle",
            f"{folder}: holds neither a sweep nor one study; a comparison is bundled from an experiment file "
            "with its scenarios and schemes",
        )
    study = load_study(str(document["study"]))
    try:
        asked = _asked(study, document)
    except (KeyError, TypeError) as error:
        raise InputError("bundle", f"{name}: is not a result of aqmlab reproduce") from error
    again = reproduce(study.name, **asked, jobs=jobs, progress=progress)
    if again.json() + "\n" != untrusted.read(name, untrusted.LARGEST_JSON, within=folder, field="bundle").decode():
        raise InputError("bundle", f"{name}: this version measures other numbers; reproduce the study again")
    return _of_study(again)


def _asked(study: Study, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a stored reproduction was asked for; all of a study is asked for by naming nothing."""
    tables = list(dict.fromkeys(cell["table"] for cell in document["cells"]))
    figures = [figure["figure"] for figure in document["figures"]]
    every = len(tables) == len(study.tables) and len(figures) == len(study.figures)
    chosen = {"tables": None, "figures": None} if every else {"tables": tables, "figures": figures}
    return {**chosen, "seeds": document["seeds"]}


def _of_study(found: Reproduction) -> Bundle:
    from aqmlab.present.reports import reproduction as page

    if found.failures:
        raise InputError("bundle", f"a run failed: {found.failures[0]}")
    numbers = {"tables": [table.number for table in found.tables], "figures": [each.number for each in found.figures]}
    asked = [part for kind, chosen in numbers.items() for number in chosen for part in (f"--{kind[:-1]}", number)]
    command = " ".join(["aqmlab reproduce", found.study.name, *asked, "--seeds", str(found.seeds)])
    pictures = page.files(found, command, timed=False)
    batches = list({id(each): each for each in found.comparisons.values()}.values())
    scenarios = {each.scenario.name: each.scenario for each in batches}
    runs = [
        BundledRun.of(_key(each.scenario, spec), seed, run.text)
        for each in batches
        for (spec, seed), run in each.runs.items()
    ]
    study = {"name": found.study.name, **numbers, "seeds": found.seeds}
    results = {f"results/{name}": _bytes(content) for name, content in pictures.items()}
    return _bundle(found.study.title, runs, scenarios, {}, results, command, study)


def _of_sweep(folder: Path, asked: "Plan | None" = None) -> Bundle:
    from aqmlab.present.html import sweep as page
    from aqmlab.runs import findings, plan, warmup
    from aqmlab.runs.store import Store

    store = Store(folder)
    asked = asked or warmup.settled(plan.read(folder / "experiment.toml"), store)
    if asked.engine != "sim":
        raise InputError("bundle", f"{folder}: was run on Linux, and a bundle has no kernel")
    stored, rows = store.results(), store.planned()
    seeds, planned = {row["seed"] for row in rows}, [row["key"] for row in rows]
    every = (plan.PlannedRun(condition, seed) for condition in asked.conditions for seed in seeds)
    known = {run.key: run for run in every}
    if missing := sum(key not in stored for key in planned):
        raise InputError("bundle", f"{folder}: {missing:,} runs are not done yet; continue with aqmlab sweep --resume")
    if any(key not in known for key in planned):
        raise InputError("bundle", f"{folder}: was made by another version; bundle it with that one, or sweep again")
    runs, schemes, scenarios = [], {}, {}
    for key in planned:
        run, row = known[key], stored[key]
        arm, scenario = run.condition.arm, run.condition.scenario
        runs.append(BundledRun.of(_key(scenario, arm.aqm), run.seed, row.result, row.error))
        scenarios[scenario.name] = scenario
        if arm.code:
            schemes[arm.aqm] = arm.portable
    found = findings.findings(folder)
    results = {"results/report.html": page.report(found).encode()}
    files = {name: text.encode() for name, text in asked.files().items() if not name.startswith("scenarios/")}
    command = "aqmlab sweep experiment.toml --out results"
    return _bundle(asked.title, runs, scenarios, schemes, files | results, command)


def _bundle(
    title: str,
    runs: Sequence[BundledRun],
    scenarios: Mapping[str, Scenario],
    schemes: Mapping[str, str],
    files: Mapping[str, bytes],
    command: str,
    study: Mapping[str, Any] | None = None,
) -> Bundle:
    if _core.__name__ != "aqmlab._core":
        raise InputError(
            "bundle", "this engine contains Rust schemes that are not in aqmlab, and a bundle cannot include them"
        )
    paths = _paths(scenarios)
    about = artefact.about(title, machine(), command=command, scenarios=paths, schemes=dict(schemes), study=study)
    contents = {
        **files,
        **{path: scenarios[name].text.encode() for name, path in paths.items()},
        ABOUT: about,
        RUNS: artefact.lines(runs),
        SUMMARY: artefact.summary(runs),
    }
    found = artefact.read(contents)
    contents |= {name: text.encode() for name, text in words.files(found).items()}
    return Bundle(pack(contents), title, len(runs), len(contents))


def _key(scenario: Scenario, aqm: str) -> Key:
    return scenario.name, tuple(scenario.overrides), aqm


def _paths(names: Iterable[str]) -> dict[str, str]:
    """Return a file for each scenario, its name as far as a file may have it."""
    found: dict[str, str] = {}
    for name in names:
        plain = "/".join(re.sub(r"[^A-Za-z0-9_-]+", "-", part).strip("-") or "scenario" for part in name.split("/"))
        path, n = f"scenarios/{plain}.toml", 1
        while path.lower() in {each.lower() for each in found.values()}:
            n += 1
            path = f"scenarios/{plain}-{n}.toml"
        found[name] = path
    return found


def machine() -> dict[str, Any]:
    """Return the version and the machine of this process; no time, so that the same results give the same bytes."""
    return {
        "aqmlab": _core.version(),
        "commit": _core.commit(),
        "source": _core.source(),
        "build": _core.build_profile(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "wheel": _wheel(),
    }


def _wheel() -> str | None:
    """Return the SHA-256 of the wheel that this package was installed from; None where pip has not noted it."""
    with suppress(PackageNotFoundError, KeyError):
        noted = json.loads(distribution("aqmlab").read_text("direct_url.json") or "{}")
        return str(noted["archive_info"]["hashes"]["sha256"])
    return None


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content
