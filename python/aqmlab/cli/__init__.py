"""The command line: each command is a function of the package, with files and texts around it."""

import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from aqmlab import _core, catalogue, files, own
from aqmlab import scenario as worlds
from aqmlab._core import InputError, SchemeError
from aqmlab.cli import analysis as cli_analysis
from aqmlab.cli import stored as cli_stored
from aqmlab.names import unknown
from aqmlab.runs import experiments, traces
from aqmlab.runs.batch import Failure, Progress
from aqmlab.study import paper as study
from aqmlab.study import reproduction, suite

app = typer.Typer(
    name="aqmlab",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A laboratory for Active Queue Management: simulate, compare and reproduce schemes.",
    epilog="Begin with: aqmlab compare li2014/table-1 --out report",
)


class Kind(str, Enum):
    """What `list` lists."""

    aqms = "aqms"
    scenarios = "scenarios"
    studies = "studies"


class Recorded(str, Enum):
    """Whose time series a sweep records."""

    first = "first"
    all = "all"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the files.")]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Run the seeds 1 to N.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", metavar="N", min=1, help="Runs at the same time; default: one a core.")
]
World = Annotated[str, typer.Argument(metavar="SCENARIO", help="A built-in name (li2014/table-1) or a TOML file.")]


def main() -> None:
    """Run the command line: exit 0 when done, 1 if a run failed, 2 on bad input, 130 when interrupted."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        app()
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    except (OSError, experiments.RunError, SchemeError) as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"aqmlab {_core.version()} ({_core.build_profile()})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command("list", epilog="Example: aqmlab list aqms")
def list_(
    kind: Annotated[Kind | None, typer.Argument(metavar="KIND", help="aqms, scenarios or studies.")] = None,
    as_json: Json = False,
) -> None:
    """List schemes, scenarios and studies."""
    kinds = [kind] if kind else list(Kind)
    if as_json:
        found = {each.value: _entries(each) for each in kinds}
        _print_json(found[kind.value] if kind else found)
        return
    from aqmlab.present.terminal import catalogue as pages
    from aqmlab.present.terminal.console import console

    for each in kinds:
        if each is Kind.aqms:
            shown = pages.schemes(catalogue.schemes())
        else:
            rows = [(entry["name"], entry["title"]) for entry in _entries(each)]
            shown = pages.names(each.value.capitalize(), rows)
        console().print(shown)


def _entries(kind: Kind) -> list[dict[str, Any]]:
    if kind is Kind.aqms:
        return [asdict(scheme) for scheme in catalogue.schemes()]
    if kind is Kind.scenarios:
        return [{"name": name, "title": worlds.load(name).title} for name in worlds.scenarios()]
    known = [study.load_study(name) for name in study.studies()] + [suite.load_suite(name) for name in study.suites()]
    return [{"name": each.name, "title": each.title, "source": each.source} for each in known]


@app.command(epilog="Example: aqmlab show pi")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A scheme, a scenario (name or file), a study, or tcp.")],
) -> None:
    """Show a scheme, a scenario, a study, or the constants of TCP."""
    from aqmlab.present.terminal import catalogue as pages

    known = [scheme.name for scheme in catalogue.schemes()]
    if name in known:
        pages.scheme_page(catalogue.find(name))
    elif name == "tcp":
        pages.tcp_page()
    elif name in study.studies():
        pages.study_page(study.load_study(name))
    elif name in study.suites():
        pages.suite_page(suite.load_suite(name))
    elif name in worlds.scenarios() or name.endswith(".toml") or Path(name).exists():
        pages.scenario_page(worlds.load(name), worlds.read(name)[1])
    else:
        choices = [*known, "tcp", *study.studies(), *study.suites(), *worlds.scenarios()]
        raise unknown("name", "no scheme, scenario or study", name, choices)


@app.command(epilog="Example: aqmlab run li2014/table-1 --aqm pi:a=1e-5,b=9e-6 --seed 2")
def run(
    scenario: World,
    aqm: Annotated[
        str | None, typer.Option(metavar="NAME[:k=v,...]", help="The scheme to use, or a Python file of one's own.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**64 - 1, help="Seed of the run.")] = 1,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Replace a value of the scenario.")
    ] = None,
    pcap: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the packets that leave the link, as pcapng.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what happens to each packet at the link, as Parquet.")
    ] = None,
    link: Annotated[
        str | None, typer.Option(metavar="NAME", help="The link of --pcap and --trace; default: the first.")
    ] = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Simulate one scenario once.

    --out leaves result.json, series.csv and the figures.
    """
    scheme = None if aqm is None else own.spec(aqm)
    world = worlds.load(scenario, worlds.assignments(settings or []))
    if out:
        files.check_folder(out)
    wanted = traces.Files(pcap, trace)
    traced = wanted.link(world, link)
    with _progress(f"Running {scenario}") as progress:
        result = experiments.run(world, scheme, seed, series=out is not None, trace=traced, progress=progress)
    if as_json:
        print(result.json())
    else:
        from aqmlab.present.terminal import runs

        runs.run(result, world)
    if out:
        from aqmlab.present import run_files

        _leave(out, run_files.run_files(result, world))
    for path in wanted.write(result.trace):
        print(f"Left: {path}", file=sys.stderr)


@app.command(epilog="Example: aqmlab compare li2014/table-1 --aqms ared,rem,pi --seeds 5 --out report")
def compare(
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="SCENARIO", help="A built-in name (li2014/table-1) or a TOML file.", show_default=False),
    ] = None,
    aqms: Annotated[
        str, typer.Option(metavar="LIST", help="a,b:k=v,... | seed-papers | all; FILE.py[:Class] for one's own")
    ] = "seed-papers",
    seeds: Seeds = 1,
    name: Annotated[
        str | None, typer.Option("--study", metavar="NAME", help="Every experiment of a suite instead: rfc7928.")
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Rate of your link, with --study.")] = None,
    rtt: Annotated[str | None, typer.Option(metavar="TIME", help="Round-trip time over it, with --study.")] = None,
    flows: Annotated[
        int | None, typer.Option(metavar="N", help="Long flows where the RFC has a few, with --study.")
    ] = None,
    jobs: Jobs = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Simulate schemes side by side, in a scenario or in every experiment of a suite.

    With --study rfc7928 the experiments are those of RFC 7928, scaled to your link: --rate, --rtt, --flows.
    --out leaves report.html, results.json and the figures.
    """
    mine = {"rate": rate, "rtt": rtt, "flows": flows}
    link = {option: value for option, value in mine.items() if value is not None}
    if (scenario is None) == (name is None):
        raise InputError("scenario: give one scenario, or --study rfc7928 for every experiment of a suite")
    if scenario is not None and link:
        option, value = next(iter(link.items()))
        raise InputError(f"{option}: {value}: describes the link of a suite; give it with --study rfc7928")
    if out:
        files.check_folder(out)
    wanted = Wanted(aqms, seeds, jobs, as_json, out)
    failures = _in_suite(name or "", link, wanted) if scenario is None else _in_scenario(scenario, wanted)
    _exit_if_failed(failures)


@dataclass(frozen=True)
class Wanted:
    """What a comparison is asked for, beside where."""

    aqms: str
    seeds: int
    jobs: int | None
    as_json: bool
    out: Path | None

    def command(self, *where: str) -> str:
        """What is to be typed for the same again."""
        return _command("compare", *where, "--aqms", self.aqms, "--seeds", str(self.seeds))


def _in_scenario(scenario: str, wanted: Wanted) -> list[Failure]:
    with _progress(f"Comparing in {scenario}") as progress:
        compared = experiments.compare(scenario, wanted.aqms, wanted.seeds, jobs=wanted.jobs, progress=progress)
    if wanted.as_json:
        print(compared.json())
    else:
        from aqmlab.present.terminal import runs

        runs.comparison(compared)
    if wanted.out:
        from aqmlab.present.html import comparison

        _leave(wanted.out, comparison.files(compared, wanted.command(scenario)))
    return compared.failures


def _in_suite(name: str, link: dict[str, Any], wanted: Wanted) -> list[Failure]:
    from aqmlab.study import suite_result

    with _progress(f"Comparing in {name}") as progress:
        compared = suite_result.compare_suite(
            name, wanted.aqms, seeds=wanted.seeds, jobs=wanted.jobs, progress=progress, **link
        )
    if wanted.as_json:
        _print_json(compared.document())
    else:
        from aqmlab.present.terminal import suite as suite_tables

        suite_tables.suite(compared)
    if wanted.out:
        from aqmlab.present.html import suite as suite_page

        options = [part for option, value in link.items() for part in (f"--{option}", str(value))]
        _leave(wanted.out, suite_page.files(compared, wanted.command("--study", name, *options)))
    return compared.failures


@app.command(epilog="Example: aqmlab reproduce li2014 --table 1 --table 2 --seeds 5 --out report")
def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="The study, see: aqmlab list studies", show_default=False)
    ] = None,
    table: Annotated[list[str] | None, typer.Option(metavar="N", help="Only this table; repeatable.")] = None,
    figure: Annotated[list[str] | None, typer.Option(metavar="N", help="Only this figure; repeatable.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every study, and one report about all.")] = False,
    seeds: Seeds = 1,
    jobs: Jobs = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """Run a paper again and judge its numbers and claims.

    Ours stands beside published, cell by cell, with a verdict. --out leaves report.html, results.json and
    the figures.
    """
    if every == (name is not None):
        raise InputError("study: give one study, or --all for every study; see: aqmlab list studies")
    if every and (table or figure):
        raise InputError("all: every study has its own numbers; give --table and --figure with one study")
    if out:
        files.check_folder(out)
    chosen = [part for number in table or () for part in ("--table", number)]
    chosen += [part for number in figure or () for part in ("--figure", number)]
    command = _command("reproduce", name or "--all", *chosen, "--seeds", str(seeds))
    with _progress(f"Reproducing {name or 'every study'}") as progress:
        if name is None:
            several = reproduction.reproduce_all(seeds, jobs=jobs, progress=progress)
        else:
            numbers = {"tables": table or None, "figures": figure or None}
            several = [reproduction.reproduce(name, seeds=seeds, jobs=jobs, progress=progress, **numbers)]
    _tell(several, every, as_json)
    if out:
        from aqmlab.present.html import reproduction as page

        left = page.files_of_all(several, command) if every else page.files(several[0], command)
        _leave(out, left)
    _exit_if_failed([failure for again in several for failure in again.failures])


@app.command("sweep", epilog="Example: aqmlab sweep experiment.toml --out results --resume")
def sweep_(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="A TOML file; docs/sweeps.md describes it.")],
    out: Out = None,
    jobs: Jobs = None,
    executor: Annotated[
        str | None, typer.Option(metavar="URL", help="Where to run: threads (default) or dask://host:port.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on in DIR: do what is missing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
    precise: Annotated[
        str | None,
        typer.Option("--precision", metavar="[MEASURE=]P%", help="Add seeds until the interval is that narrow."),
    ] = None,
    most_seeds: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=experiments.MOST_SEEDS, help="Most seeds that --precision adds up to."),
    ] = 100,
    series: Annotated[
        Recorded | None,
        typer.Option(help="Record time series of the first seed of each scenario and scheme, or of all runs."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run scenarios × schemes × values × seeds.

    Results are stored in DIR as they are done; a sweep that was stopped goes on with --resume.
    """
    from aqmlab.present.terminal import sweep as tables
    from aqmlab.present.terminal.progress import pace
    from aqmlab.runs import plan
    from aqmlab.runs import sweep as sweeps

    asked = plan.read(experiment)
    wanted = sweeps.precision(precise, most_seeds) if precise else None
    if dry_run:
        done = sweeps.done_before(asked, out)
        if as_json:
            _print_json({"schema": 1, "title": asked.title, "runs": len(asked.runs()), "done": done})
        else:
            tables.experiment(asked, done)
        return
    if out is None:
        raise InputError("out: missing; --out DIR says where the results go, --dry-run runs nothing")
    print(f"{len(asked.runs()):,} runs of {asked.title}", file=sys.stderr)
    with pace("Sweeping") as progress:
        swept = sweeps.sweep(
            asked,
            out,
            jobs=jobs,
            executor=executor,
            resume=resume,
            precise=wanted,
            series=series and series.value,
            progress=progress,
        )
    if as_json:
        _print_json(swept.document())
    else:
        tables.sweep(swept)
    print(f"Left in {out}: runs.parquet", file=sys.stderr)
    _exit_if_failed(swept.failures)


app.command(epilog="Example: aqmlab report results --format latex --measure link.queue_delay_p99")(cli_stored.report)
app.command(epilog="Example: aqmlab plot results ranking --out ranking.pdf")(cli_stored.plot)
app.command(epilog=cli_analysis.EPILOG)(cli_analysis.analyse)


def _tell(several: list[reproduction.Reproduction], every: bool, as_json: bool) -> None:
    if as_json:
        print(reproduction.all_json(several) if every else several[0].json())
        return
    from aqmlab.present.terminal import reproduction as tables

    if every:
        tables.reproductions(several)
    else:
        tables.reproduction(several[0])


def _progress(title: str) -> AbstractContextManager[Progress | None]:
    """A bar for people who watch; nothing is shown, and nothing loaded, where stderr is no terminal."""
    if not sys.stderr.isatty():
        return nullcontext()
    from aqmlab.present.terminal import progress

    return progress.progress(title)


def _command(*arguments: str) -> str:
    """What is to be typed for the same again; the program is another one where it was extended."""
    return shlex.join([Path(sys.argv[0]).stem, *arguments])


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=1, ensure_ascii=False))


def _leave(folder: Path, contents: dict[str, bytes | str]) -> None:
    files.write_all(folder, contents)
    print(f"Left in {folder}: {', '.join(sorted(contents))}", file=sys.stderr)


def _exit_if_failed(failures: Sequence[Failure | str]) -> None:
    for failure in failures:
        print(f"Error: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)
