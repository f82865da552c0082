"""The files of a bundle for people: its contents, how to repeat its runs, and how to cite it."""

from collections.abc import Iterator

from aqmlab import _core
from aqmlab.bundle.archive import MANIFEST
from aqmlab.bundle.artefact import ABOUT, RESULTS, RUNS, SUMMARY, Artefact

README, SCRIPT, REFERENCES = "README.md", "reproduce.sh", "references.bib"

_SCRIPT = """\
#!/bin/sh
# Repeats the runs and compares every number. Needs Python 3.11 or later and one of:
#   sh reproduce.sh                    aqmlab {version} on PATH
#   sh reproduce.sh FILE.whl [SHA256]  its wheel{home}, and the digest that is stated there
# aqmlab itself is never fetched by its name: a package of somebody else's could have the same.
set -eu
case ${{1:-/}} in /*) ;; *) set -- "$PWD/$1" "${{2:-}}" ;; esac
cd "$(dirname "$0")"
if [ $# -eq 0 ]; then
    if command -v aqmlab > /dev/null && aqmlab --version | grep -qF "aqmlab {version} "; then
        exec aqmlab verify .{code}
    fi
    echo "aqmlab {version} is not on PATH; give its wheel: sh reproduce.sh FILE.whl SHA256" >&2
    exit 2
fi
expected=${{2:-{wheel}}}
found=$(python3 -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1")
if [ "$found" != "$expected" ]; then
    echo "$1 has the digest $found; expected ${{expected:-one, as the second argument}}" >&2
    exit 2
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place"
"$place/bin/python" -m pip install --quiet --disable-pip-version-check "$1"
"$place/bin/aqmlab" verify .{code}
"""


def files(found: Artefact) -> dict[str, str]:
    """Return README.md, reproduce.sh and references.bib of a bundle."""
    from aqmlab.bundle.cite import references

    study, made = found.about["study"], found.about["made_by"]
    names = [*([study["name"]] if study else []), *dict.fromkeys(run.aqm for run in found.runs)]
    known = [name for name in names if name not in found.schemes]
    return {
        README: "\n".join(_readme(found)) + "\n",
        SCRIPT: _SCRIPT.format(
            version=made["aqmlab"],
            wheel=made.get("wheel") or "",
            home=f" from {home}" if (home := _core.home()) else "",
            code=run_code(found),
        ),
        REFERENCES: "\n".join(references(known)),
    }


def run_code(found: Artefact) -> str:
    """Return the options that name the code of a bundle."""
    return "".join(f" --run-code {file}" for file in found.code)


def _readme(found: Artefact) -> Iterator[str]:
    made = found.about["made_by"]
    scenarios, schemes = ({getattr(run, name) for run in found.runs} for name in ("scenario", "aqm"))
    seeds = {run.seed for run in found.runs}
    yield f"# {found.title}"
    yield ""
    yield (
        f"{_count(len(found.runs), 'simulated run')} of {_count(len(schemes), 'AQM scheme')} in "
        f"{_count(len(scenarios), 'scenario')} under {_count(len(seeds), 'seed')}, with everything that is needed to "
        f"repeat them. Made by `{found.about['command']}`."
    )
    yield ""
    yield "## Repeat the runs"
    yield ""
    yield f"`sh reproduce.sh`, or with aqmlab installed `aqmlab verify .{run_code(found)}`. It checks the SHA-256 of"
    yield "every file, repeats every run, and reports which numbers are bit-identical, which are within the 95 %"
    yield "interval of the stored numbers, and which differ. It needs Python and the wheel of aqmlab, but no compiler."
    if home := _core.home():
        yield f"The wheel is at {home}."
    yield "Each run uses one core of any machine."
    if found.code:
        yield ""
        yield "Schemes of the authors' own are Python code. Read them first; they run only because the command names"
        yield f"them: {', '.join(f'`{file}`' for file in found.code)}."
    yield ""
    yield "## Contents"
    yield ""
    yield from _contents(found)
    yield ""
    yield "## Made with"
    yield ""
    yield f"aqmlab {made['aqmlab']} (commit {made['commit']}, sources {made['source']}, {made['build']}), Python"
    yield f"{made['python']}, {made['system']}. A result depends on scenario, scheme, parameters and seed, not on the"
    yield "number of threads."


def _contents(found: Artefact) -> Iterator[str]:
    """One row of text per kind of file."""
    yield f"- `{ABOUT}`: versions, machine, and the file of each scenario and scheme"
    yield "- `scenarios/`: every scenario, with the traces that its links follow"
    if found.code:
        yield "- `schemes/`: the authors' own schemes"
    if "experiment.toml" in found.files:
        yield "- `experiment.toml`: the experiment, for `aqmlab sweep`"
    yield f"- `{RUNS}`: a line of JSON for each run: scenario, values set, scheme, seed, every measure"
    yield f"- `{SUMMARY}`: mean and 95 % interval of every measure over the seeds"
    if RESULTS in found.files:
        yield f"- `{RESULTS}`: the numbers and those that the paper prints, with verdicts"
    yield "- `results/report.html` and pictures: the same results as a page; it loads no other files"
    yield f"- `{REFERENCES}`: the sources to cite"
    yield f"- `{MANIFEST}`: `sha256sum --check {MANIFEST}` checks the files without aqmlab"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
